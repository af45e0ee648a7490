// Steps on real values, integers and booleans.
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/arrays/lazy/plain_operations.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::BinaryOp;
using cgen::Expr;
using cgen::Intrinsic;
using cgen::select;

DType unsigned_for(DType dtype) {
  return size_bytes(dtype) == 8 ? DType::u64 : DType::u32;
}

int bits_of(DType dtype) {
  return static_cast<int>(8 * size_bytes(dtype));
}

/// a < b, or a <= b, or equality, where one side is u64 and the other has a sign.
Expr compare_mixed(Op op, const Value& a, const Value& b) {
  const bool a_has_sign = is_signed_integer(a.dtype);
  const Expr& with_sign = a_has_sign ? a.re : b.re;
  const Expr is_negative = with_sign < 0;
  const Expr left = cgen::cast(cgen::u64, a.re);
  const Expr right = cgen::cast(cgen::u64, b.re);
  switch (op) {
    case Op::equal:
      return !is_negative && equal(left, right);
    case Op::not_equal:
      return is_negative || not_equal(left, right);
    case Op::less:
      return a_has_sign ? is_negative || left < right : !is_negative && left < right;
    default:
      return a_has_sign ? is_negative || left <= right : !is_negative && left <= right;
  }
}

/// As Python divides: the remainder has the divisor's sign, the quotient goes with it.
Expr divide_reals(Op op, const Expr& a, const Expr& b, DType dtype, const std::string& name,
                  cgen::BlockBuilder& body) {
  const cgen::Type type = cgen::const_(value_type(dtype));
  const Expr zero = constant(0, dtype);
  const Expr plain = body.add(cgen::declare(type, name + "_m", call(Intrinsic::fmod, {a, b})));
  const Expr signs_differ = not_equal(plain, zero) && not_equal(plain < zero, b < zero);
  const Expr rest = body.add(cgen::declare(
      type, name + "_r",
      select(signs_differ, plain + b,
             select(equal(plain, zero), call(Intrinsic::copysign, {zero, b}), plain))));
  if (op == Op::remainder) {
    return rest;
  }
  // not (a - rest) / b: the rest is infinite where b is
  const Expr quotient = body.add(cgen::declare(
      type, name + "_q",
      (a - plain) / b - select(signs_differ, constant(1, dtype), constant(0, dtype))));
  const Expr down = body.add(cgen::declare(type, name + "_f", call(Intrinsic::floor, {quotient})));
  // the division may have been rounded to just below a whole number
  const Expr nearest =
      select(quotient - down > constant(0.5, dtype), down + constant(1, dtype), down);
  return select(
      equal(b, zero), a / b,
      select(not_equal(quotient, zero), nearest, call(Intrinsic::copysign, {zero, a / b})));
}

Expr shift(Op op, const Expr& a, const Expr& b, DType dtype) {
  const cgen::Type type = value_type(dtype);
  const cgen::Type counter = value_type(unsigned_for(dtype));
  const Expr count = cgen::cast(counter, b);
  const Expr bits = literal(bits_of(dtype), counter);
  const Expr is_inside = count < bits;
  if (op == Op::shift_left) {
    return select(is_inside, cgen::cast(type, cgen::cast(counter, a) << count), constant(0, dtype));
  }
  const Expr outside = is_signed_integer(dtype)
                           ? select(a < 0, constant(-1, dtype), constant(0, dtype))
                           : constant(0, dtype);
  return select(is_inside, cgen::cast(type, a >> count), outside);
}

/// Functions whose C names carry the type of the first argument.
Expr call_by_name(const std::string& function, std::vector<Expr> arguments, DType result,
                  cgen::Dialect dialect) {
  const bool is_single = cgen::value_type(arguments[0].type()) == cgen::f32;
  const bool has_suffix = dialect != cgen::Dialect::opencl && is_single;
  return call(has_suffix ? function + "f" : function, std::move(arguments), value_type(result));
}

struct InC {
  using Expr = cgen::Expr;
  static Expr constant(double value, DType dtype) { return detail::constant(value, dtype); }
  static Expr integer(int value) { return value; }
  static Expr call(Intrinsic function, const std::vector<Expr>& operands) {
    return cgen::call(function, operands);
  }
  static Expr equal(const Expr& a, const Expr& b) { return cgen::equal(a, b); }
  static Expr differ(const Expr& a, const Expr& b) { return not_equal(a, b); }
  static Expr less(const Expr& a, const Expr& b) { return a < b; }
  static Expr less_equal(const Expr& a, const Expr& b) { return a <= b; }
  static Expr greater(const Expr& a, const Expr& b) { return a > b; }
  static Expr both(const Expr& a, const Expr& b) { return a && b; }
  static Expr either(const Expr& a, const Expr& b) { return a || b; }
  static Expr one_of(const Expr& a, const Expr& b) { return not_equal(a, b); }
  static Expr negation(const Expr& a) { return !a; }
  static Expr select(const Expr& condition, const Expr& a, const Expr& b) {
    return cgen::select(condition, a, b);
  }
  static Expr wrapping(Op op, const Expr& a, const Expr& b, DType dtype) {
    return detail::wrapping(op == Op::add        ? BinaryOp::add
                            : op == Op::subtract ? BinaryOp::subtract
                                                 : BinaryOp::multiply,
                            a, b, dtype);
  }
  static Expr bits(Op op, const Expr& a, const Expr& b, DType dtype) {
    return cgen::cast(value_type(dtype), op == Op::bit_and  ? a & b
                                         : op == Op::bit_or ? a | b
                                                            : a ^ b);
  }
  static Expr inverted(DType dtype, const Expr& a) { return cgen::cast(value_type(dtype), ~a); }
};

}  // namespace

Expr wrapping(BinaryOp op, const Expr& a, const Expr& b, DType dtype) {
  const cgen::Type type = value_type(unsigned_for(dtype));
  return cgen::cast(value_type(dtype),
                    Expr(cgen::Binary{op, cgen::cast(type, a), cgen::cast(type, b)}));
}

std::optional<Intrinsic> intrinsic_of(Op op) {
  switch (op) {
    // clang-format off
    case Op::sqrt: return Intrinsic::sqrt;
    case Op::rsqrt: return Intrinsic::rsqrt;
    case Op::cbrt: return Intrinsic::cbrt;
    case Op::exp: return Intrinsic::exp;
    case Op::exp2: return Intrinsic::exp2;
    case Op::exp10: return Intrinsic::exp10;
    case Op::expm1: return Intrinsic::expm1;
    case Op::log: return Intrinsic::log;
    case Op::log2: return Intrinsic::log2;
    case Op::log10: return Intrinsic::log10;
    case Op::log1p: return Intrinsic::log1p;
    case Op::sin: return Intrinsic::sin;
    case Op::cos: return Intrinsic::cos;
    case Op::tan: return Intrinsic::tan;
    case Op::asin: return Intrinsic::asin;
    case Op::acos: return Intrinsic::acos;
    case Op::atan: return Intrinsic::atan;
    case Op::sinh: return Intrinsic::sinh;
    case Op::cosh: return Intrinsic::cosh;
    case Op::tanh: return Intrinsic::tanh;
    case Op::asinh: return Intrinsic::asinh;
    case Op::acosh: return Intrinsic::acosh;
    case Op::atanh: return Intrinsic::atanh;
    case Op::erf: return Intrinsic::erf;
    case Op::erfc: return Intrinsic::erfc;
    case Op::tgamma: return Intrinsic::tgamma;
    case Op::lgamma: return Intrinsic::lgamma;
    case Op::floor: return Intrinsic::floor;
    case Op::ceil: return Intrinsic::ceil;
    case Op::round: return Intrinsic::round;
    case Op::trunc: return Intrinsic::trunc;
    case Op::rint: return Intrinsic::rint;
    case Op::isnan: return Intrinsic::isnan;
    case Op::isinf: return Intrinsic::isinf;
    case Op::isfinite: return Intrinsic::isfinite;
    case Op::fmod: return Intrinsic::fmod;
    case Op::atan2: return Intrinsic::atan2;
    case Op::hypot: return Intrinsic::hypot;
    case Op::copysign: return Intrinsic::copysign;
    case Op::fma: return Intrinsic::fma;
    default: return std::nullopt;
      // clang-format on
  }
}

cgen::Type helper_type(DType dtype) {
  const DType bits = unsigned_for(dtype);
  return !is_signed_integer(dtype) ? value_type(bits) : bits == DType::u64 ? cgen::i64 : cgen::i32;
}

std::optional<loopy::HelperFunction> helper_of(const TapeStep& step) {
  using loopy::Helper;
  const bool is_known =
      step.op == Op::floor_divide || step.op == Op::remainder || step.op == Op::power;
  if (!is_known || !is_integer(step.dtype)) {
    return std::nullopt;
  }
  return loopy::HelperFunction(step.op == Op::floor_divide ? Helper::floor_div
                               : step.op == Op::remainder  ? Helper::floor_mod
                                                           : Helper::integer_power,
                               helper_type(step.dtype));
}

Value lower_real(const TapeStep& step, const std::vector<Value>& operands, cgen::BlockBuilder& body,
                 const std::string& name, cgen::Dialect dialect) {
  const DType dtype = step.dtype;
  const Value& a = operands[0];
  const Value& b = operands[operands.size() > 1 ? 1 : 0];
  const bool is_mixed = step.op >= Op::equal && step.op <= Op::less_equal && a.dtype != b.dtype;
  if (is_mixed) {
    return {dtype, compare_mixed(step.op, a, b)};
  }
  std::vector<Expr> plain;
  for (const Value& operand : operands) {
    plain.push_back(operand.re);
  }
  if (const auto result = PlainOperations<InC>::find(step.op, dtype, plain)) {
    return {dtype, *result};
  }
  if (const auto helper = helper_of(step)) {
    const cgen::Type type = helper_type(dtype);
    return {dtype, cgen::cast(value_type(dtype),
                              cgen::call(helper->name(),
                                         {cgen::cast(type, a.re), cgen::cast(type, b.re)}, type))};
  }
  switch (step.op) {
    case Op::floor_divide:
    case Op::remainder:
      return {dtype, divide_reals(step.op, a.re, b.re, dtype, name, body)};
    case Op::power:
      return {dtype, call(Intrinsic::pow, {a.re, b.re})};
    case Op::shift_left:
    case Op::shift_right:
      return {dtype, shift(step.op, a.re, b.re, dtype)};
    case Op::signbit:
      return {dtype,
              call(Intrinsic::copysign, {constant(1, a.dtype), a.re}) < constant(0, a.dtype)};
    case Op::j0:
    case Op::j1:
    case Op::y0:
    case Op::y1:
    case Op::i0:
    case Op::i1:
    case Op::erfcx:
    case Op::erfinv:
    case Op::erfcinv:
    case Op::normcdf:
    case Op::normcdfinv:
    case Op::sinpi:
    case Op::cospi:
      return {dtype, lower_special(step.op, {a.re}, dtype, body, name, dialect)};
    case Op::jn:
    case Op::yn:
      return {dtype, lower_special(step.op, {a.re, b.re}, dtype, body, name, dialect)};
    case Op::nextafter:
      return {dtype, call_by_name("nextafter", {a.re, b.re}, dtype, dialect)};
    case Op::ieee_remainder:
      return {dtype, call_by_name("remainder", {a.re, b.re}, dtype, dialect)};
    case Op::ldexp:
      return {dtype, call_by_name("ldexp", {a.re, b.re}, dtype, dialect)};
    case Op::ilogb:
      return {dtype, call_by_name("ilogb", {a.re}, dtype, dialect)};
    default:
      break;
  }
  throw InternalError(fmt::format("code for operation {}", static_cast<int>(step.op)),
                      SourceOrigin::current());
}

}  // namespace rtcg::arrays::detail
