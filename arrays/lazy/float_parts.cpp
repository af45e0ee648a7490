// Functions that split floating-point numbers into parts.
#include <limits>

#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/lazy/make_node.h"

namespace rtcg::arrays {
namespace {

/// The expression as real numbers with a point.
Expression floating(const char* function, const Expression& a) {
  const DType dtype = floating_for(a.dtype());
  if (is_complex(dtype)) {
    detail::refuse_dtype(function, dtype);
  }
  return detail::as(a, dtype);
}

Expression exponent_of(const Expression& x) {
  return detail::make_node(Op::ilogb, vector_of(DType::i32, lanes_of(x.dtype())), {x});
}

/// Of normal numbers the least.
double least_normal(DType dtype) {
  return dtype == DType::f64 ? 0x1p-1022 : (dtype == DType::f16 ? 0x1p-14 : 0x1p-126);
}

}  // namespace

Expression isnormal(const Expression& a) {
  if (is_complex(a.dtype())) {
    detail::refuse_dtype("isnormal", a.dtype());
  }
  return is_floating(a.dtype()) ? isfinite(a) && abs(a) >= least_normal(a.dtype()) : a != 0;
}

std::pair<Expression, Expression> modf(const Expression& a) {
  const Expression x = floating("modf", a);
  const Expression before = trunc(x);
  return {copysign(where(isinf(x), 0, x - before), x), before};
}

std::pair<Expression, Expression> frexp(const Expression& a) {
  const Expression x = floating("frexp", a);
  const Expression has_digits = isfinite(x) && x != 0;
  const Expression exponent = where(has_digits, exponent_of(x) + 1, 0);
  return {where(has_digits, ldexp(x, -exponent), x), exponent};
}

Expression ldexp(const Expression& a, const Expression& n) {
  const Expression x = floating("ldexp", a);
  if (!is_integer(element_of(n.dtype()))) {
    detail::refuse_dtype("ldexp", n.dtype());
  }
  return detail::make_node(Op::ldexp, x.dtype(),
                           {x, detail::as(n, vector_of(DType::i32, lanes_of(n.dtype())))});
}

Expression ilogb(const Expression& a) {
  return exponent_of(floating("ilogb", a));
}

Expression logb(const Expression& a) {
  const Expression x = floating("logb", a);
  const Expression exponent = cast(exponent_of(x), x.dtype());
  return where(x == 0, -std::numeric_limits<double>::infinity(),
               where(isfinite(x), exponent, abs(x)));
}

}  // namespace rtcg::arrays
