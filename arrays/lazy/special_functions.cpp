// Functions that come after C's elementary ones.
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/lazy/make_node.h"

namespace rtcg::arrays {
namespace {

using detail::as;
using detail::floating;
using detail::make_node;
using detail::refuse_dtype;

constexpr double per_pi = 0.3183098861837907;

/// Of a whole order.
Expression bessel(Op op, const char* function, const Expression& n, const Expression& a) {
  const DType dtype = floating_for(a.dtype());
  if (!is_integer(n.dtype()) || is_complex(dtype) || is_vector(dtype)) {
    refuse_dtype(function, is_integer(n.dtype()) ? dtype : n.dtype());
  }
  return make_node(op, dtype, {as(n, DType::i32), as(a, dtype)});
}

}  // namespace

Expression erf(const Expression& a) {
  return floating(Op::erf, "erf", a);
}
Expression erfc(const Expression& a) {
  return floating(Op::erfc, "erfc", a);
}
Expression erfcx(const Expression& a) {
  return floating(Op::erfcx, "erfcx", a);
}
Expression erfinv(const Expression& a) {
  return floating(Op::erfinv, "erfinv", a);
}
Expression erfcinv(const Expression& a) {
  return floating(Op::erfcinv, "erfcinv", a);
}
Expression normcdf(const Expression& a) {
  return floating(Op::normcdf, "normcdf", a);
}
Expression normcdfinv(const Expression& a) {
  return floating(Op::normcdfinv, "normcdfinv", a);
}
Expression tgamma(const Expression& a) {
  return floating(Op::tgamma, "tgamma", a);
}
Expression lgamma(const Expression& a) {
  return floating(Op::lgamma, "lgamma", a);
}
Expression j0(const Expression& a) {
  return floating(Op::j0, "j0", a);
}
Expression j1(const Expression& a) {
  return floating(Op::j1, "j1", a);
}
Expression jn(const Expression& n, const Expression& a) {
  return bessel(Op::jn, "jn", n, a);
}
Expression y0(const Expression& a) {
  return floating(Op::y0, "y0", a);
}
Expression y1(const Expression& a) {
  return floating(Op::y1, "y1", a);
}
Expression yn(const Expression& n, const Expression& a) {
  return bessel(Op::yn, "yn", n, a);
}
Expression i0(const Expression& a) {
  return floating(Op::i0, "i0", a);
}
Expression i1(const Expression& a) {
  return floating(Op::i1, "i1", a);
}

Expression sinpi(const Expression& a) {
  return floating(Op::sinpi, "sinpi", a);
}
Expression cospi(const Expression& a) {
  return floating(Op::cospi, "cospi", a);
}
Expression tanpi(const Expression& a) {
  return sinpi(a) / cospi(a);
}
Expression asinpi(const Expression& a) {
  return asin(a) * per_pi;
}
Expression acospi(const Expression& a) {
  return acos(a) * per_pi;
}
Expression atanpi(const Expression& a) {
  return atan(a) * per_pi;
}
Expression atan2pi(const Expression& y, const Expression& x) {
  return atan2(y, x) * per_pi;
}
Expression rcbrt(const Expression& a) {
  return 1 / cbrt(a);
}
Expression rhypot(const Expression& a, const Expression& b) {
  return 1 / hypot(a, b);
}

}  // namespace rtcg::arrays
