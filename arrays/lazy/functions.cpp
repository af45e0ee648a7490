#include "rtcg/arrays/lazy/functions.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {

using detail::NodePointer;
using detail::NumberValue;

namespace {

using detail::as;
using detail::common_dtype;
using detail::floating;
using detail::make_node;
using detail::number_of;
using detail::refuse_dtype;

Expression binary(Op op, const Expression& a, const Expression& b, DType dtype) {
  return make_node(op, dtype, {as(a, dtype), as(b, dtype)});
}

/// As `binary`, and booleans become i8, which is what NumPy does where logic makes no sense.
Expression integer_binary(Op op, const Expression& a, const Expression& b) {
  const DType dtype = common_dtype(a, b);
  return binary(op, a, b, dtype == DType::boolean ? DType::i8 : dtype);
}

Expression bitwise(Op op, const char* function, const Expression& a, const Expression& b) {
  const DType dtype = common_dtype(a, b);
  if (!is_integer(element_of(dtype)) && dtype != DType::boolean) {
    refuse_dtype(function, dtype);
  }
  const bool is_shift = op == Op::shift_left || op == Op::shift_right;
  return is_shift ? integer_binary(op, a, b) : binary(op, a, b, dtype);
}

bool is_mixed_with_u64(const Expression& a, const Expression& b) {
  return (a.dtype() == DType::u64 && is_signed_integer(b.dtype())) ||
         (b.dtype() == DType::u64 && is_signed_integer(a.dtype()));
}

/// A number in the type of the other operand, or in its own if the other type does not hold it.
Expression comparable(const Expression& value, const Expression& other) {
  const NumberValue* number = number_of(value);
  if (number == nullptr || number->kind != WeakKind::integer || !is_integer(other.dtype())) {
    return value;
  }
  try {
    return detail::cast_number(*number, other.dtype());
  } catch (const InvalidInput&) {
    // the same value, but no longer one that follows the other side's type
    return cast(cast(value, value.dtype() == DType::i64 ? DType::u64 : DType::i64), value.dtype());
  }
}

Expression compare(Op op, const Expression& a, const Expression& b) {
  const Expression left = comparable(a, b);
  const Expression right = comparable(b, a);
  if (is_mixed_with_u64(left, right)) {
    return make_node(op, DType::boolean, {left, right});
  }
  const DType dtype = common_dtype(left, right);
  if (is_complex(dtype) && op != Op::equal && op != Op::not_equal) {
    refuse_dtype("an order", dtype);
  }
  return make_node(op, DType::boolean, {as(left, dtype), as(right, dtype)});
}

Expression logical(Op op, const Expression& a, const Expression& b) {
  return make_node(op, DType::boolean, {cast(a, DType::boolean), cast(b, DType::boolean)});
}

Expression extremum(Op op, const char* function, const Expression& a, const Expression& b) {
  const DType dtype = common_dtype(a, b);
  if (is_complex(dtype)) {
    refuse_dtype(function, dtype);
  }
  return binary(op, a, b, dtype);
}

Expression floating2(Op op, const char* function, const Expression& a, const Expression& b) {
  const DType common = common_dtype(a, b);
  if (is_complex(common)) {
    refuse_dtype(function, common);
  }
  // of two types of integers: the smallest that holds each, not that for what holds both
  const bool has_number = number_of(a) != nullptr || number_of(b) != nullptr;
  return binary(op, a, b,
                has_number ? floating_for(common)
                           : promote(floating_for(a.dtype()), floating_for(b.dtype())));
}

Expression rounding(Op op, const char* function, const Expression& a) {
  const DType element = element_of(a.dtype());
  return is_floating(element) || is_complex(element) ? floating(op, function, a) : a;
}

Expression test(Op op, const Expression& a) {
  if (!is_floating(a.dtype()) && !is_complex(a.dtype())) {
    return make_node(op, DType::boolean, {as(a, DType::f64)});
  }
  return make_node(op, DType::boolean, {a});
}

void refuse_booleans(const char* function, DType dtype) {
  if (dtype == DType::boolean) {
    refuse_dtype(function, dtype);
  }
}

}  // namespace

Expression operator+(const Expression& a, const Expression& b) {
  return binary(Op::add, a, b, common_dtype(a, b));
}

Expression operator-(const Expression& a, const Expression& b) {
  refuse_booleans("a difference", common_dtype(a, b));
  return binary(Op::subtract, a, b, common_dtype(a, b));
}

Expression operator*(const Expression& a, const Expression& b) {
  return binary(Op::multiply, a, b, common_dtype(a, b));
}

Expression operator/(const Expression& a, const Expression& b) {
  const DType dtype = common_dtype(a, b);
  const DType element = element_of(dtype);
  const bool is_exact = !is_floating(element) && !is_complex(element);
  return binary(Op::divide, a, b, is_exact ? vector_of(DType::f64, lanes_of(dtype)) : dtype);
}

Expression operator%(const Expression& a, const Expression& b) {
  if (is_complex(common_dtype(a, b))) {
    refuse_dtype("a remainder", common_dtype(a, b));
  }
  return integer_binary(Op::remainder, a, b);
}

Expression floor_divide(const Expression& a, const Expression& b) {
  if (is_complex(common_dtype(a, b))) {
    refuse_dtype("floor_divide", common_dtype(a, b));
  }
  return integer_binary(Op::floor_divide, a, b);
}

Expression operator-(const Expression& a) {
  refuse_booleans("a negative", a.dtype());
  return make_node(Op::negate, a.dtype(), {a});
}

Expression operator+(const Expression& a) {
  return a;
}

Expression pow(const Expression& base, const Expression& exponent) {
  const NumberValue* number = number_of(exponent);
  const DType dtype = common_dtype(base, exponent);
  if (number != nullptr && number->kind == WeakKind::integer) {
    if (number->is_negative && is_integer(element_of(dtype))) {
      throw InvalidInput("arrays.pow.negative_exponent",
                         "integers have no negative powers: cast the array to a floating type");
    }
    if (!number->is_negative && number->bits == 2) {
      return square(as(base, dtype));
    }
    if (number->is_negative && number->bits == ~0ULL) {
      return 1 / base;
    }
  }
  return integer_binary(Op::power, base, exponent);
}

Expression abs(const Expression& a) {
  if (a.dtype() == DType::boolean || is_unsigned_integer(element_of(a.dtype()))) {
    return a;
  }
  return make_node(Op::absolute, real_of(a.dtype()), {a});
}

Expression sign(const Expression& a) {
  refuse_booleans("a sign", a.dtype());
  return make_node(Op::sign, a.dtype(), {a});
}

Expression operator&(const Expression& a, const Expression& b) {
  return bitwise(Op::bit_and, "'&'", a, b);
}
Expression operator|(const Expression& a, const Expression& b) {
  return bitwise(Op::bit_or, "'|'", a, b);
}
Expression operator^(const Expression& a, const Expression& b) {
  return bitwise(Op::bit_xor, "'^'", a, b);
}
Expression operator<<(const Expression& a, const Expression& b) {
  return bitwise(Op::shift_left, "'<<'", a, b);
}
Expression operator>>(const Expression& a, const Expression& b) {
  return bitwise(Op::shift_right, "'>>'", a, b);
}
Expression operator~(const Expression& a) {
  if (a.dtype() == DType::boolean) {
    return !a;
  }
  if (!is_integer(element_of(a.dtype()))) {
    refuse_dtype("'~'", a.dtype());
  }
  return make_node(Op::bit_not, a.dtype(), {a});
}

Expression operator==(const Expression& a, const Expression& b) {
  return compare(Op::equal, a, b);
}
Expression operator!=(const Expression& a, const Expression& b) {
  return compare(Op::not_equal, a, b);
}
Expression operator<(const Expression& a, const Expression& b) {
  return compare(Op::less, a, b);
}
Expression operator<=(const Expression& a, const Expression& b) {
  return compare(Op::less_equal, a, b);
}
Expression operator>(const Expression& a, const Expression& b) {
  return compare(Op::less, b, a);
}
Expression operator>=(const Expression& a, const Expression& b) {
  return compare(Op::less_equal, b, a);
}
Expression operator&&(const Expression& a, const Expression& b) {
  return logical(Op::logical_and, a, b);
}
Expression operator||(const Expression& a, const Expression& b) {
  return logical(Op::logical_or, a, b);
}
Expression operator!(const Expression& a) {
  return make_node(Op::logical_not, DType::boolean, {cast(a, DType::boolean)});
}

Expression where(const Expression& condition, const Expression& yes, const Expression& no) {
  const DType dtype = common_dtype(yes, no);
  return make_node(Op::where, dtype,
                   {cast(condition, DType::boolean), as(yes, dtype), as(no, dtype)});
}

Expression maximum(const Expression& a, const Expression& b) {
  return extremum(Op::maximum, "maximum", a, b);
}
Expression minimum(const Expression& a, const Expression& b) {
  return extremum(Op::minimum, "minimum", a, b);
}
Expression fmax(const Expression& a, const Expression& b) {
  return extremum(Op::fmax, "fmax", a, b);
}
Expression fmin(const Expression& a, const Expression& b) {
  return extremum(Op::fmin, "fmin", a, b);
}
Expression clip(const Expression& a, const Expression& low, const Expression& high) {
  return minimum(maximum(a, low), high);
}

Expression square(const Expression& a) {
  return a * a;
}
Expression sqrt(const Expression& a) {
  return floating(Op::sqrt, "sqrt", a, true);
}
Expression rsqrt(const Expression& a) {
  return floating(Op::rsqrt, "rsqrt", a);
}
Expression cbrt(const Expression& a) {
  return floating(Op::cbrt, "cbrt", a);
}
Expression exp(const Expression& a) {
  return floating(Op::exp, "exp", a, true);
}
Expression exp2(const Expression& a) {
  return floating(Op::exp2, "exp2", a);
}
Expression exp10(const Expression& a) {
  return floating(Op::exp10, "exp10", a);
}
Expression expm1(const Expression& a) {
  return floating(Op::expm1, "expm1", a);
}
Expression log(const Expression& a) {
  return floating(Op::log, "log", a, true);
}
Expression log2(const Expression& a) {
  return floating(Op::log2, "log2", a, true);
}
Expression log10(const Expression& a) {
  return floating(Op::log10, "log10", a, true);
}
Expression log1p(const Expression& a) {
  return floating(Op::log1p, "log1p", a);
}
Expression sin(const Expression& a) {
  return floating(Op::sin, "sin", a, true);
}
Expression cos(const Expression& a) {
  return floating(Op::cos, "cos", a, true);
}
Expression tan(const Expression& a) {
  return floating(Op::tan, "tan", a, true);
}
Expression asin(const Expression& a) {
  return floating(Op::asin, "asin", a, true);
}
Expression acos(const Expression& a) {
  return floating(Op::acos, "acos", a, true);
}
Expression atan(const Expression& a) {
  return floating(Op::atan, "atan", a, true);
}
Expression sinh(const Expression& a) {
  return floating(Op::sinh, "sinh", a, true);
}
Expression cosh(const Expression& a) {
  return floating(Op::cosh, "cosh", a, true);
}
Expression tanh(const Expression& a) {
  return floating(Op::tanh, "tanh", a, true);
}
Expression asinh(const Expression& a) {
  return floating(Op::asinh, "asinh", a, true);
}
Expression acosh(const Expression& a) {
  return floating(Op::acosh, "acosh", a, true);
}
Expression atanh(const Expression& a) {
  return floating(Op::atanh, "atanh", a, true);
}
Expression floor(const Expression& a) {
  return rounding(Op::floor, "floor", a);
}
Expression ceil(const Expression& a) {
  return rounding(Op::ceil, "ceil", a);
}
Expression round(const Expression& a) {
  return rounding(Op::round, "round", a);
}
Expression trunc(const Expression& a) {
  return rounding(Op::trunc, "trunc", a);
}
Expression rint(const Expression& a) {
  return rounding(Op::rint, "rint", a);
}
Expression isnan(const Expression& a) {
  return test(Op::isnan, a);
}
Expression isinf(const Expression& a) {
  return test(Op::isinf, a);
}
Expression isfinite(const Expression& a) {
  return test(Op::isfinite, a);
}
Expression signbit(const Expression& a) {
  if (is_complex(a.dtype())) {
    refuse_dtype("signbit", a.dtype());
  }
  return test(Op::signbit, a);
}
Expression fmod(const Expression& a, const Expression& b) {
  return floating2(Op::fmod, "fmod", a, b);
}
Expression ieee_remainder(const Expression& a, const Expression& b) {
  return floating2(Op::ieee_remainder, "ieee_remainder", a, b);
}
Expression fdim(const Expression& a, const Expression& b) {
  const Expression difference = floating2(Op::subtract, "fdim", a, b);
  return where(a <= b, 0, difference);
}
Expression atan2(const Expression& y, const Expression& x) {
  return floating2(Op::atan2, "atan2", y, x);
}
Expression hypot(const Expression& a, const Expression& b) {
  return floating2(Op::hypot, "hypot", a, b);
}
Expression hypot(const Expression& a, const Expression& b, const Expression& c) {
  return hypot(hypot(a, b), c);
}
Expression copysign(const Expression& a, const Expression& b) {
  return floating2(Op::copysign, "copysign", a, b);
}
Expression nextafter(const Expression& a, const Expression& b) {
  return floating2(Op::nextafter, "nextafter", a, b);
}
Expression fma(const Expression& a, const Expression& b, const Expression& c) {
  const DType dtype = floating_for(promote(common_dtype(a, b), common_dtype(b, c)));
  if (is_complex(dtype)) {
    refuse_dtype("fma", dtype);
  }
  return make_node(Op::fma, dtype, {as(a, dtype), as(b, dtype), as(c, dtype)});
}

Expression make_complex(const Expression& re, const Expression& im) {
  const DType dtype = complex_of(common_dtype(re, im));
  const DType part = real_of(dtype);
  return make_node(Op::make_complex, dtype, {as(re, part), as(im, part)});
}
Expression real(const Expression& a) {
  return is_complex(a.dtype()) ? make_node(Op::real, real_of(a.dtype()), {a}) : a;
}
Expression imag(const Expression& a) {
  return is_complex(a.dtype()) ? make_node(Op::imag, real_of(a.dtype()), {a})
                               : broadcast_to(detail::cast_number({}, a.dtype()), a.shape());
}
Expression conj(const Expression& a) {
  return is_complex(a.dtype()) ? make_node(Op::conj, a.dtype(), {a}) : a;
}
Expression arg(const Expression& a) {
  return is_complex(a.dtype()) ? make_node(Op::arg, real_of(a.dtype()), {a}) : atan2(imag(a), a);
}

Expression broadcast_to(const Expression& value, const Extents& shape) {
  static_cast<void>(
      broadcast_to(Layout{value.shape(), Extents::filled(value.shape().size(), 0), 0}, shape));
  if (value.shape() == shape) {
    return value;
  }
  // a conversion to the same type, for a node to have the shape
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::cast;
  node->dtype = value.dtype();
  node->shape = shape;
  node->operands[0] = value.node();
  return Expression(NodePointer(std::move(node)));
}

}  // namespace rtcg::arrays
