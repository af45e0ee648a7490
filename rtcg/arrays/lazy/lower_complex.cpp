// Steps on complex values, as arithmetic on their parts: all dialects have that.
#include <fmt/format.h>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::Intrinsic;
using cgen::select;

/// Declares parts of a computation under names of one step.
class Scratch {
 public:
  Scratch(DType dtype, std::string name, cgen::BlockBuilder& body)
      : dtype_(dtype), name_(std::move(name)), body_(body) {}

  Expr keep(const char* part, const Expr& value) {
    return body_.add(
        cgen::declare(cgen::const_(value_type(dtype_)), fmt::format("{}_{}", name_, part), value));
  }
  [[nodiscard]] Expr number(double value) const { return constant(value, real_of(dtype_)); }
  [[nodiscard]] Value value(const Expr& re, const Expr& im) const { return {dtype_, re, im}; }

 private:
  DType dtype_;
  std::string name_;
  cgen::BlockBuilder& body_;
};

Expr fn(Intrinsic intrinsic, const Expr& a) {
  return call(intrinsic, {a});
}

Value multiply(const Value& a, const Value& b, const Scratch& s) {
  return s.value(a.re * b.re - *a.im * *b.im, a.re * *b.im + *a.im * b.re);
}

/// Smith's way, which does not overflow where the result does not.
Value divide(const Value& a, const Value& b, Scratch& s) {
  const Expr is_flat = fn(Intrinsic::abs, b.re) >= fn(Intrinsic::abs, *b.im);
  const Expr large = s.keep("l", select(is_flat, b.re, *b.im));
  const Expr small = s.keep("s", select(is_flat, *b.im, b.re));
  // by 0 both parts are divided as real numbers are
  const Expr ratio = s.keep("q", select(equal(large, s.number(0)), s.number(0), small / large));
  const Expr scale = s.keep("d", large + small * ratio);
  const Expr re = select(is_flat, a.re + *a.im * ratio, a.re * ratio + *a.im) / scale;
  const Expr im = select(is_flat, *a.im - a.re * ratio, *a.im * ratio - a.re) / scale;
  return s.value(re, im);
}

Value exponential(const Expr& re, const Expr& im, Scratch& s) {
  const Expr size = s.keep("x", fn(Intrinsic::exp, re));
  // exp of a real number stays real, also when it is infinite
  const Expr is_real = equal(im, s.number(0));
  return s.value(select(is_real, size, size * fn(Intrinsic::cos, im)),
                 select(is_real, im, size * fn(Intrinsic::sin, im)));
}

Value logarithm(const Value& a, Scratch& s, double scale) {
  const Expr size = call(Intrinsic::hypot, {a.re, *a.im});
  const Expr angle = call(Intrinsic::atan2, {*a.im, a.re});
  return s.value(s.number(scale) * fn(Intrinsic::log, size), s.number(scale) * angle);
}

Value square_root(const Value& a, Scratch& s) {
  const Expr size = call(Intrinsic::hypot, {a.re, *a.im});
  const Expr half = s.number(0.5);
  const Expr t = s.keep("t", fn(Intrinsic::sqrt, half * (size + fn(Intrinsic::abs, a.re))));
  const Expr other =
      s.keep("o", select(equal(t, s.number(0)), s.number(0), half * fn(Intrinsic::abs, *a.im) / t));
  const Expr is_right = a.re >= s.number(0);
  return s.value(select(is_right, t, other),
                 call(Intrinsic::copysign, {select(is_right, other, t), *a.im}));
}

/// The hyperbolic tangent of x + iy; far from 0 it is 1 to all digits, while its parts overflow.
Value hyperbolic_tangent(const Expr& x, const Expr& y, Scratch& s) {
  const Expr two_x = s.keep("x", s.number(2) * x);
  const Expr two_y = s.keep("y", s.number(2) * y);
  const Expr is_far = fn(Intrinsic::abs, two_x) > s.number(80);
  const Expr scale = s.keep("d", fn(Intrinsic::cosh, two_x) + fn(Intrinsic::cos, two_y));
  return s.value(select(is_far, call(Intrinsic::copysign, {s.number(1), x}),
                        fn(Intrinsic::sinh, two_x) / scale),
                 select(is_far, s.number(0), fn(Intrinsic::sin, two_y) / scale));
}

Value power(const Value& a, const Value& b, Scratch& s) {
  const Expr size = s.keep("n", fn(Intrinsic::log, call(Intrinsic::hypot, {a.re, *a.im})));
  const Expr angle = s.keep("a", call(Intrinsic::atan2, {*a.im, a.re}));
  const Value result = exponential(s.keep("u", b.re * size - *b.im * angle),
                                   s.keep("w", b.re * angle + *b.im * size), s);
  const Expr zero = s.number(0);
  const Expr base_is_zero = equal(a.re, zero) && equal(*a.im, zero);
  const Expr power_is_zero = equal(b.re, zero) && equal(*b.im, zero);
  return s.value(select(power_is_zero, s.number(1), select(base_is_zero, zero, result.re)),
                 select(power_is_zero || base_is_zero, zero, *result.im));
}

Value sign_of(const Value& a, Scratch& s) {
  const Expr size = s.keep("n", call(Intrinsic::hypot, {a.re, *a.im}));
  const Expr is_zero = equal(size, s.number(0));
  return s.value(select(is_zero, s.number(0), a.re / size),
                 select(is_zero, s.number(0), *a.im / size));
}

}  // namespace

Value lower_complex(const TapeStep& step, const std::vector<Value>& operands,
                    cgen::BlockBuilder& body, const std::string& name) {
  const Value& a = operands[0];
  const Value& b = operands[operands.size() > 1 ? 1 : 0];
  const DType dtype = step.dtype;
  Scratch s(dtype, name, body);
  const auto of_parts = [&](Intrinsic intrinsic) {
    return Value{dtype, fn(intrinsic, a.re) || fn(intrinsic, *a.im)};
  };
  switch (step.op) {
    case Op::add:
      return s.value(a.re + b.re, *a.im + *b.im);
    case Op::subtract:
      return s.value(a.re - b.re, *a.im - *b.im);
    case Op::multiply:
      return multiply(a, b, s);
    case Op::divide:
      return divide(a, b, s);
    case Op::power:
      return power(a, b, s);
    case Op::negate:
      return s.value(-a.re, -*a.im);
    case Op::absolute:
      return {dtype, call(Intrinsic::hypot, {a.re, *a.im})};
    case Op::sign:
      return sign_of(a, s);
    case Op::equal:
      return {dtype, equal(a.re, b.re) && equal(*a.im, *b.im)};
    case Op::not_equal:
      return {dtype, not_equal(a.re, b.re) || not_equal(*a.im, *b.im)};
    case Op::where:
      return s.value(select(a.re, b.re, operands[2].re), select(a.re, *b.im, *operands[2].im));
    case Op::sqrt:
      return square_root(a, s);
    case Op::exp:
      return exponential(a.re, *a.im, s);
    case Op::log:
      return logarithm(a, s, 1);
    case Op::log2:
      return logarithm(a, s, 1.4426950408889634);
    case Op::log10:
      return logarithm(a, s, 0.43429448190325182);
    case Op::sin:
      return s.value(fn(Intrinsic::sin, a.re) * fn(Intrinsic::cosh, *a.im),
                     fn(Intrinsic::cos, a.re) * fn(Intrinsic::sinh, *a.im));
    case Op::cos:
      return s.value(fn(Intrinsic::cos, a.re) * fn(Intrinsic::cosh, *a.im),
                     -(fn(Intrinsic::sin, a.re) * fn(Intrinsic::sinh, *a.im)));
    case Op::sinh:
      return s.value(fn(Intrinsic::sinh, a.re) * fn(Intrinsic::cos, *a.im),
                     fn(Intrinsic::cosh, a.re) * fn(Intrinsic::sin, *a.im));
    case Op::cosh:
      return s.value(fn(Intrinsic::cosh, a.re) * fn(Intrinsic::cos, *a.im),
                     fn(Intrinsic::sinh, a.re) * fn(Intrinsic::sin, *a.im));
    case Op::tanh:
      return hyperbolic_tangent(a.re, *a.im, s);
    case Op::tan: {  // tan(z) = -i tanh(iz)
      const Value turned = hyperbolic_tangent(-*a.im, a.re, s);
      return s.value(*turned.im, -turned.re);
    }
    case Op::isnan:
      return of_parts(Intrinsic::isnan);
    case Op::isinf:
      return of_parts(Intrinsic::isinf);
    case Op::isfinite:
      return {dtype, fn(Intrinsic::isfinite, a.re) && fn(Intrinsic::isfinite, *a.im)};
    case Op::make_complex:
      return s.value(a.re, b.re);
    case Op::real:
      return {dtype, a.re};
    case Op::imag:
      return {dtype, *a.im};
    case Op::conj:
      return s.value(a.re, -*a.im);
    case Op::arg:
      return {dtype, call(Intrinsic::atan2, {*a.im, a.re})};
    default:
      break;
  }
  throw InternalError(
      fmt::format("code for operation {} on complex numbers", static_cast<int>(step.op)),
      SourceOrigin::current());
}

}  // namespace rtcg::arrays::detail
