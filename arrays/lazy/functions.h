#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "rtcg/arrays/lazy/expression.h"

// Operators and functions of expressions. Arrays and C++ numbers become expressions by themselves.
// Element types follow NumPy 2: `/` of integers gives f64; sin and its like take integers into the
// smallest floating type that holds them; comparisons give bool. f16 and bf16 are computed in f32
// and rounded when they are stored or cast.

namespace rtcg::arrays {

[[nodiscard]] Expression operator+(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator-(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator*(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator/(const Expression& a, const Expression& b);
/// As Python's: the sign is the divisor's. A remainder by an integer 0 is 0.
[[nodiscard]] Expression operator%(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator-(const Expression& a);
[[nodiscard]] Expression operator+(const Expression& a);
/// Rounded down. An integer divided by 0 gives 0.
[[nodiscard]] Expression floor_divide(const Expression& a, const Expression& b);
[[nodiscard]] Expression pow(const Expression& base, const Expression& exponent);
[[nodiscard]] Expression abs(const Expression& a);
/// -1, 0 or 1; of a complex number, a / abs(a).
[[nodiscard]] Expression sign(const Expression& a);

/// Bits of integers; of booleans, logic. @throws InvalidInput  arrays.expression.dtype for others
[[nodiscard]] Expression operator&(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator|(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator^(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator~(const Expression& a);
[[nodiscard]] Expression operator<<(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator>>(const Expression& a, const Expression& b);

[[nodiscard]] Expression operator==(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator!=(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator<(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator<=(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator>(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator>=(const Expression& a, const Expression& b);
// Of any types: values other than 0 are true.
[[nodiscard]] Expression operator&&(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator||(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator!(const Expression& a);
/// `condition ? yes : no`, element by element.
[[nodiscard]] Expression where(const Expression& condition, const Expression& yes,
                               const Expression& no);

/// A NaN on either side wins; fmax and fmin give the other side instead.
[[nodiscard]] Expression maximum(const Expression& a, const Expression& b);
[[nodiscard]] Expression minimum(const Expression& a, const Expression& b);
[[nodiscard]] Expression fmax(const Expression& a, const Expression& b);
[[nodiscard]] Expression fmin(const Expression& a, const Expression& b);
/// minimum(maximum(a, low), high).
[[nodiscard]] Expression clip(const Expression& a, const Expression& low, const Expression& high);

[[nodiscard]] Expression sqrt(const Expression& a);
[[nodiscard]] Expression rsqrt(const Expression& a);
[[nodiscard]] Expression cbrt(const Expression& a);
[[nodiscard]] Expression square(const Expression& a);
[[nodiscard]] Expression exp(const Expression& a);
[[nodiscard]] Expression exp2(const Expression& a);
[[nodiscard]] Expression exp10(const Expression& a);
[[nodiscard]] Expression expm1(const Expression& a);
[[nodiscard]] Expression log(const Expression& a);
[[nodiscard]] Expression log2(const Expression& a);
[[nodiscard]] Expression log10(const Expression& a);
[[nodiscard]] Expression log1p(const Expression& a);
[[nodiscard]] Expression sin(const Expression& a);
[[nodiscard]] Expression cos(const Expression& a);
[[nodiscard]] Expression tan(const Expression& a);
/// Inverse functions of complex numbers have the cuts, signs of zeros and limits of C11's annex G.
[[nodiscard]] Expression asin(const Expression& a);
[[nodiscard]] Expression acos(const Expression& a);
[[nodiscard]] Expression atan(const Expression& a);
[[nodiscard]] Expression sinh(const Expression& a);
[[nodiscard]] Expression cosh(const Expression& a);
[[nodiscard]] Expression tanh(const Expression& a);
[[nodiscard]] Expression asinh(const Expression& a);
[[nodiscard]] Expression acosh(const Expression& a);
[[nodiscard]] Expression atanh(const Expression& a);
[[nodiscard]] Expression erf(const Expression& a);
[[nodiscard]] Expression erfc(const Expression& a);
/// exp(a * a) * erfc(a), also where the factors are too large and too small.
[[nodiscard]] Expression erfcx(const Expression& a);
/// Inverse functions: of erf in [-1, 1], of erfc in [0, 2]; NaN elsewhere.
[[nodiscard]] Expression erfinv(const Expression& a);
[[nodiscard]] Expression erfcinv(const Expression& a);
/// The probability that a number of the standard normal distribution is less than `a`, and its
/// inverse function in [0, 1].
[[nodiscard]] Expression normcdf(const Expression& a);
[[nodiscard]] Expression normcdfinv(const Expression& a);
[[nodiscard]] Expression tgamma(const Expression& a);
[[nodiscard]] Expression lgamma(const Expression& a);
/// Bessel functions, on the host and in CUDA.
///
/// @param n  the order, of integers
/// @throws Unsupported  arrays.expression.no_bessel, when it runs on an OpenCL device: that has
/// none
[[nodiscard]] Expression j0(const Expression& a);
[[nodiscard]] Expression j1(const Expression& a);
[[nodiscard]] Expression jn(const Expression& n, const Expression& a);
[[nodiscard]] Expression y0(const Expression& a);
[[nodiscard]] Expression y1(const Expression& a);
[[nodiscard]] Expression yn(const Expression& n, const Expression& a);
/// Modified Bessel functions of the first kind.
[[nodiscard]] Expression i0(const Expression& a);
[[nodiscard]] Expression i1(const Expression& a);
/// sin(pi * a) and its like, with all digits however large `a` is; 0 and 1 are exact.
[[nodiscard]] Expression sinpi(const Expression& a);
[[nodiscard]] Expression cospi(const Expression& a);
[[nodiscard]] Expression tanpi(const Expression& a);
/// asin(a) / pi and its like.
[[nodiscard]] Expression asinpi(const Expression& a);
[[nodiscard]] Expression acospi(const Expression& a);
[[nodiscard]] Expression atanpi(const Expression& a);
[[nodiscard]] Expression atan2pi(const Expression& y, const Expression& x);
/// 1 / cbrt(a) and 1 / hypot(a, b).
[[nodiscard]] Expression rcbrt(const Expression& a);
[[nodiscard]] Expression rhypot(const Expression& a, const Expression& b);
// Integers stay as they are.
[[nodiscard]] Expression floor(const Expression& a);
[[nodiscard]] Expression ceil(const Expression& a);
/// Halves away from 0, as C's; rint gives the even one.
[[nodiscard]] Expression round(const Expression& a);
[[nodiscard]] Expression trunc(const Expression& a);
[[nodiscard]] Expression rint(const Expression& a);
[[nodiscard]] Expression isnan(const Expression& a);
[[nodiscard]] Expression isinf(const Expression& a);
[[nodiscard]] Expression isfinite(const Expression& a);
[[nodiscard]] Expression signbit(const Expression& a);
/// Neither 0, infinite, NaN, nor less than the type holds with all its digits; integers but 0 are.
[[nodiscard]] Expression isnormal(const Expression& a);

// Parts of floating-point numbers, as in C; integers are converted by floating_for().
/// The fractional part, and the integral part; both with the sign of `a`.
[[nodiscard]] std::pair<Expression, Expression> modf(const Expression& a);
/// A number of [0.5, 1) with the sign of `a`, and the power of two, as i32, that it was multiplied
/// with; 0, infinities and NaNs stay, with a power of 0.
[[nodiscard]] std::pair<Expression, Expression> frexp(const Expression& a);
/// a * 2^n, rounded once. @param n  of integers
[[nodiscard]] Expression ldexp(const Expression& a, const Expression& n);
/// The power of two at or below |a|, as i32; of 0, infinities and NaNs the result depends on the
/// device.
[[nodiscard]] Expression ilogb(const Expression& a);
/// The same as a floating number: of 0 -inf, of infinities inf.
[[nodiscard]] Expression logb(const Expression& a);

/// As C's: the sign is the dividend's.
[[nodiscard]] Expression fmod(const Expression& a, const Expression& b);
/// C's `remainder`: of the quotient rounded to the nearest, halves to the even.
[[nodiscard]] Expression ieee_remainder(const Expression& a, const Expression& b);
/// a - b if that is positive, otherwise 0.
[[nodiscard]] Expression fdim(const Expression& a, const Expression& b);
[[nodiscard]] Expression atan2(const Expression& y, const Expression& x);
[[nodiscard]] Expression hypot(const Expression& a, const Expression& b);
[[nodiscard]] Expression hypot(const Expression& a, const Expression& b, const Expression& c);
[[nodiscard]] Expression copysign(const Expression& a, const Expression& b);
[[nodiscard]] Expression nextafter(const Expression& a, const Expression& b);
/// a * b + c, rounded once.
[[nodiscard]] Expression fma(const Expression& a, const Expression& b, const Expression& c);

[[nodiscard]] Expression make_complex(const Expression& re, const Expression& im);
[[nodiscard]] Expression real(const Expression& a);
[[nodiscard]] Expression imag(const Expression& a);
[[nodiscard]] Expression conj(const Expression& a);
/// The angle of a complex number.
[[nodiscard]] Expression arg(const Expression& a);

struct ReduceOptions {
  /// The axes to reduce; empty: all. Negative numbers count from the last.
  std::optional<Extents> axes{};
  /// Leaves them as axes of length 1.
  bool keeps_axes = false;
  /// The type of a sum, product or mean, and in which it is computed; by default that of
  /// sum_type(), for a mean the floating one.
  std::optional<DType> dtype{};
};
/// `sum(x, over(0, 2))`: these axes go.
template <std::integral... Axes>
[[nodiscard]] ReduceOptions over(Axes... axes) {
  return {Extents{static_cast<std::int64_t>(axes)...}};
}

/// Reductions over all axes, over one, or as the options say. The order of additions depends on
/// shape and layout only: the same array gives the same bits.
///
/// @throws InvalidInput  arrays.layout.bad_axis, arrays.reduce.repeated_axis, arrays.reduce.empty:
///         a minimum or maximum of no elements; arrays.expression.dtype: an order of complex
///         numbers
[[nodiscard]] Expression sum(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression prod(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression mean(const Expression& a, const ReduceOptions& options = {});
/// A NaN wins.
[[nodiscard]] Expression min(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression max(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression any(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression all(const Expression& a, const ReduceOptions& options = {});
/// The index of the first least element in C order of the reduced axes, as i64. The first NaN wins.
[[nodiscard]] Expression argmin(const Expression& a, const ReduceOptions& options = {});
[[nodiscard]] Expression argmax(const Expression& a, const ReduceOptions& options = {});
/// Mean of |a - mean(a)|^2, divided by count - ddof.
[[nodiscard]] Expression var(const Expression& a, const ReduceOptions& options = {},
                             double ddof = 0);
[[nodiscard]] Expression std_dev(const Expression& a, const ReduceOptions& options = {},
                                 double ddof = 0);
/// The Euclidean norm.
[[nodiscard]] Expression norm(const Expression& a, const ReduceOptions& options = {});
/// Sum of products of two vectors; vdot conjugates the first.
///
/// @throws InvalidInput  arrays.dot.not_vectors
[[nodiscard]] Expression dot(const Expression& a, const Expression& b);
[[nodiscard]] Expression vdot(const Expression& a, const Expression& b);

// In place: x += y writes the elements of x, which keeps its type.
const AnyArray& operator+=(const AnyArray& x, const Expression& y);
const AnyArray& operator-=(const AnyArray& x, const Expression& y);
const AnyArray& operator*=(const AnyArray& x, const Expression& y);
const AnyArray& operator/=(const AnyArray& x, const Expression& y);
const AnyArray& operator%=(const AnyArray& x, const Expression& y);
const AnyArray& operator&=(const AnyArray& x, const Expression& y);
const AnyArray& operator|=(const AnyArray& x, const Expression& y);
const AnyArray& operator^=(const AnyArray& x, const Expression& y);
const AnyArray& operator<<=(const AnyArray& x, const Expression& y);
const AnyArray& operator>>=(const AnyArray& x, const Expression& y);
template <Element T>
const Array<T>& operator+=(const Array<T>& x, const Expression& y) {
  x.any() += y;
  return x;
}
template <Element T>
const Array<T>& operator-=(const Array<T>& x, const Expression& y) {
  x.any() -= y;
  return x;
}
template <Element T>
const Array<T>& operator*=(const Array<T>& x, const Expression& y) {
  x.any() *= y;
  return x;
}
template <Element T>
const Array<T>& operator/=(const Array<T>& x, const Expression& y) {
  x.any() /= y;
  return x;
}
template <Element T>
const Array<T>& operator%=(const Array<T>& x, const Expression& y) {
  x.any() %= y;
  return x;
}
template <Element T>
const Array<T>& operator&=(const Array<T>& x, const Expression& y) {
  x.any() &= y;
  return x;
}
template <Element T>
const Array<T>& operator|=(const Array<T>& x, const Expression& y) {
  x.any() |= y;
  return x;
}
template <Element T>
const Array<T>& operator^=(const Array<T>& x, const Expression& y) {
  x.any() ^= y;
  return x;
}
template <Element T>
const Array<T>& operator<<=(const Array<T>& x, const Expression& y) {
  x.any() <<= y;
  return x;
}
template <Element T>
const Array<T>& operator>>=(const Array<T>& x, const Expression& y) {
  x.any() >>= y;
  return x;
}

}  // namespace rtcg::arrays
