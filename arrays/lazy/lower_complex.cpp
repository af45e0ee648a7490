// Steps on complex values, as arithmetic on their parts: all dialects have that.
#include <cmath>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::Intrinsic;
using cgen::select;

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

Expr with_sign_of(const Expr& signed_value, const Expr& size) {
  return call(Intrinsic::copysign, {size, signed_value});
}

/// Of the first quadrant, |re z| + i |im z|.
struct Quadrant {
  Expr x;
  Expr y;
};

Quadrant first_quadrant(const Expr& re, const Expr& im, Scratch& s) {
  return {s.keep("x", fn(Intrinsic::abs, re)), s.keep("y", fn(Intrinsic::abs, im))};
}

struct ArcSine {
  Expr real_sine;    ///< |re asin z|
  Expr real_cosine;  ///< re acos z
  Expr size;         ///< |im asin z|, which is that of acos z
};

/// The parts of asin z and acos z, from a = (|z + 1| + |z - 1|) / 2 and b = |re z| / a, where
/// |im| = acosh a and |re asin z| = asin b; near the cuts, where a and b are next to 1, from what
/// they lack of it. Factors of y are taken out of roots, so that no square of a tiny number is
/// missed, and far away the logarithm of 2 z is the answer to all digits.
///
/// @source Hull, Fairgrieve and Tang, Implementing the complex arcsine and arccosine functions
///         using exception handling, ACM Trans. Math. Softw. 23 (1997) 299-335
ArcSine arc_sine(const Expr& re, const Expr& im, Scratch& s) {
  const auto [x, y] = first_quadrant(re, im, s);
  const Expr one = s.number(1);
  const Expr half = s.number(0.5);
  const Expr r = s.keep("r", call(Intrinsic::hypot, {x + one, y}));
  const Expr q = s.keep("s", call(Intrinsic::hypot, {x - one, y}));
  const Expr a = s.keep("a", half * r + half * q);
  const Expr b = s.keep("b", x / a);
  const Expr r_side = s.keep("u", r + (x + one));
  const Expr is_inside = s.keep_test("i", x < one);
  // |z - 1| and the distance of x from 1, whose difference would be lost
  const Expr q_side = s.keep("w", q + fn(Intrinsic::abs, x - one));
  const Expr a_plus_x = s.keep("p", half * (a + x));
  const Expr leg =
      s.keep("c", select(x <= one, fn(Intrinsic::sqrt, a_plus_x * (y * y / r_side + q_side)),
                         y * fn(Intrinsic::sqrt, a_plus_x / r_side + a_plus_x / q_side)));
  // a - 1, and the root of a * a - 1
  const Expr per_y = s.keep("f", half / r_side + half / q_side);
  const Expr beyond = s.keep("g", y * y / r_side + q_side);
  const Expr lack = select(is_inside, y * (y * per_y), half * beyond);
  const Expr root = select(is_inside, y * fn(Intrinsic::sqrt, per_y * (a + one)),
                           fn(Intrinsic::sqrt, beyond * (half * (a + one))));
  const Expr near = select(a <= s.number(1.5), fn(Intrinsic::log1p, lack + root),
                           fn(Intrinsic::log, a + fn(Intrinsic::sqrt, (a - one) * (a + one))));
  // where 1 / |z|^2 is less than half a unit in the last place
  const Expr limit = s.number(s.is_double() ? 0x1p28 : 0x1p14);
  const Expr is_far = s.keep_test("o", x > limit || y > limit);
  const Expr far = s.number(2 * std::log(2.0)) +
                   fn(Intrinsic::log, call(Intrinsic::hypot, {half * x, half * y}));
  const Expr is_steep = s.keep_test("e", !is_far && b <= s.number(0.6417));
  const Expr other = s.keep("t", select(is_far, y, leg));
  // 0 stays 0 if the other part is NaN
  const Expr is_zero = equal(re, s.number(0));
  return {select(is_zero, x,
                 select(is_steep, fn(Intrinsic::asin, b), call(Intrinsic::atan2, {x, other}))),
          select(is_zero, s.number(std::acos(0.0)),
                 select(is_steep, fn(Intrinsic::acos, with_sign_of(re, b)),
                        call(Intrinsic::atan2, {other, re}))),
          select(is_far, far, near)};
}

/// The parts of atanh z in the first quadrant: log1p(4 x / |z - 1|^2) / 4 and half the angle of
/// (1 - x) (1 + x) - y^2 + 2 i y.
///
/// @source Kahan, Branch cuts for complex elementary functions, in The state of the art in
///         numerical analysis, Oxford 1987
Quadrant arc_tangent(const Expr& re, const Expr& im, Scratch& s) {
  const auto [x, y] = first_quadrant(re, im, s);
  const Expr one = s.number(1);
  const Expr two = s.number(2);
  const Expr is_one = s.keep_test("o", equal(x, one));
  const Expr distance = s.keep("d", (x - one) * (x - one) + y * y);
  // next to 1 the square of y does not count
  const Expr is_next = is_one && y < s.number(s.is_double() ? 0x1p-60 : 0x1p-30);
  const Expr near =
      select(is_next, s.number(0.5) * (s.number(std::log(2.0)) - fn(Intrinsic::log, y)),
             s.number(0.25) * fn(Intrinsic::log1p, s.number(4) * x / distance));
  // further away squares overflow, and 1 / z is the answer to all digits
  const Expr limit = s.number(s.is_double() ? 0x1p509 : 0x1p61);
  const Expr is_far = s.keep_test("f", x > limit || y > limit);
  const Expr half_size =
      s.keep("h", call(Intrinsic::hypot, {s.number(0.5) * x, s.number(0.5) * y}));
  const Expr inverse = select(fn(Intrinsic::isinf, half_size), s.number(0),
                              s.number(0.25) * (x / half_size / half_size));
  const Expr turns = is_one && y > s.number(0);
  const Expr angle = call(Intrinsic::atan2, {select(turns, two, two * y),
                                             select(turns, -y, (one - x) * (one + x) - y * y)});
  const Expr right =
      select(equal(half_size, half_size) && equal(y, y), s.number(std::acos(0.0)), half_size + y);
  return {select(equal(x, s.number(0)), x, select(is_far, inverse, near)),
          select(is_far, right, s.number(0.5) * angle)};
}

/// Signs are those of the arguments' parts, also of zeros: so the cuts belong to both sides.
Value inverse_function(Op op, const Value& z, Scratch& s) {
  switch (op) {
    case Op::asin: {
      const ArcSine w = arc_sine(z.re, *z.im, s);
      return s.value(with_sign_of(z.re, w.real_sine), with_sign_of(*z.im, w.size));
    }
    case Op::acos: {
      const ArcSine w = arc_sine(z.re, *z.im, s);
      return s.value(w.real_cosine, with_sign_of(-*z.im, w.size));
    }
    case Op::acosh: {  // +-i acos(z)
      const ArcSine w = arc_sine(z.re, *z.im, s);
      return s.value(w.size, with_sign_of(*z.im, w.real_cosine));
    }
    case Op::asinh: {  // -i asin(iz)
      const ArcSine w = arc_sine(*z.im, z.re, s);
      return s.value(with_sign_of(z.re, w.size), with_sign_of(*z.im, w.real_sine));
    }
    case Op::atanh: {
      const Quadrant w = arc_tangent(z.re, *z.im, s);
      return s.value(with_sign_of(z.re, w.x), with_sign_of(*z.im, w.y));
    }
    default: {  // -i atanh(iz)
      const Quadrant w = arc_tangent(*z.im, z.re, s);
      return s.value(with_sign_of(z.re, w.y), with_sign_of(*z.im, w.x));
    }
  }
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
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
      return inverse_function(step.op, a, s);
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
