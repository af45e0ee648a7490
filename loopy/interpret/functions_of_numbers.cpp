#include "rtcg/loopy/interpret/functions_of_numbers.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>

namespace rtcg::loopy::interpretation {
namespace {

using cgen::Intrinsic;
using Real = long double;
using Complex = std::complex<long double>;

constexpr Real no_limit = std::numeric_limits<Real>::infinity();
/// Last places that libraries of devices may miss a function by; OpenCL allows 16 for most.
constexpr Real units_of_functions = 16;

using RealFunction = Real (*)(Real);

RealFunction real_function(Intrinsic function) {
  switch (function) {
    case Intrinsic::sqrt:
      return [](Real x) { return std::sqrt(x); };
    case Intrinsic::rsqrt:
      return [](Real x) { return 1 / std::sqrt(x); };
    case Intrinsic::cbrt:
      return [](Real x) { return std::cbrt(x); };
    case Intrinsic::exp:
      return [](Real x) { return std::exp(x); };
    case Intrinsic::exp2:
      return [](Real x) { return std::exp2(x); };
    case Intrinsic::exp10:
      return [](Real x) { return std::pow(10.0L, x); };
    case Intrinsic::expm1:
      return [](Real x) { return std::expm1(x); };
    case Intrinsic::log:
      return [](Real x) { return std::log(x); };
    case Intrinsic::log2:
      return [](Real x) { return std::log2(x); };
    case Intrinsic::log10:
      return [](Real x) { return std::log10(x); };
    case Intrinsic::log1p:
      return [](Real x) { return std::log1p(x); };
    case Intrinsic::sin:
      return [](Real x) { return std::sin(x); };
    case Intrinsic::cos:
      return [](Real x) { return std::cos(x); };
    case Intrinsic::tan:
      return [](Real x) { return std::tan(x); };
    case Intrinsic::asin:
      return [](Real x) { return std::asin(x); };
    case Intrinsic::acos:
      return [](Real x) { return std::acos(x); };
    case Intrinsic::atan:
      return [](Real x) { return std::atan(x); };
    case Intrinsic::sinh:
      return [](Real x) { return std::sinh(x); };
    case Intrinsic::cosh:
      return [](Real x) { return std::cosh(x); };
    case Intrinsic::tanh:
      return [](Real x) { return std::tanh(x); };
    case Intrinsic::asinh:
      return [](Real x) { return std::asinh(x); };
    case Intrinsic::acosh:
      return [](Real x) { return std::acosh(x); };
    case Intrinsic::atanh:
      return [](Real x) { return std::atanh(x); };
    case Intrinsic::erf:
      return [](Real x) { return std::erf(x); };
    case Intrinsic::erfc:
      return [](Real x) { return std::erfc(x); };
    case Intrinsic::tgamma:
      return [](Real x) { return std::tgamma(x); };
    case Intrinsic::lgamma:
      return [](Real x) { return std::lgamma(x); };
    case Intrinsic::floor:
      return [](Real x) { return std::floor(x); };
    case Intrinsic::ceil:
      return [](Real x) { return std::ceil(x); };
    case Intrinsic::round:
      return [](Real x) { return std::round(x); };
    case Intrinsic::trunc:
      return [](Real x) { return std::trunc(x); };
    case Intrinsic::rint:
      return [](Real x) { return std::rint(x); };
    default:
      return nullptr;
  }
}

bool is_exact_function(Intrinsic function) {
  return function == Intrinsic::floor || function == Intrinsic::ceil ||
         function == Intrinsic::round || function == Intrinsic::trunc ||
         function == Intrinsic::rint;
}

std::optional<Complex> complex_function(Intrinsic function, const Complex& z) {
  switch (function) {
    case Intrinsic::sqrt:
      return std::sqrt(z);
    case Intrinsic::exp:
      return std::exp(z);
    case Intrinsic::log:
      return std::log(z);
    case Intrinsic::sin:
      return std::sin(z);
    case Intrinsic::cos:
      return std::cos(z);
    case Intrinsic::tan:
      return std::tan(z);
    case Intrinsic::sinh:
      return std::sinh(z);
    case Intrinsic::cosh:
      return std::cosh(z);
    case Intrinsic::tanh:
      return std::tanh(z);
    case Intrinsic::asin:
      return std::asin(z);
    case Intrinsic::acos:
      return std::acos(z);
    case Intrinsic::atan:
      return std::atan(z);
    case Intrinsic::asinh:
      return std::asinh(z);
    case Intrinsic::acosh:
      return std::acosh(z);
    case Intrinsic::atanh:
      return std::atanh(z);
    default:
      return std::nullopt;
  }
}

/// How far results may be apart when an argument moves by its error.
Real spread(Real centre, const std::vector<Real>& moved) {
  Real largest = 0;
  for (const Real each : moved) {
    const bool is_same = each == centre || (std::isnan(each) && std::isnan(centre));
    const Real distance = is_same ? 0 : std::fabs(each - centre);
    largest = std::max(largest, std::isnan(distance) ? no_limit : distance);
  }
  return largest;
}

Value apply_to_complex(Intrinsic function, const Value& argument, cgen::ScalarKind kind) {
  const Complex z(argument.real, argument.imaginary);
  const auto result = complex_function(function, z);
  if (!result) {
    Value unknown = unknown_real();
    unknown.kind = Value::Kind::complex;
    return unknown;
  }
  Value value = complex_value(result->real(), result->imag());
  const Real e = argument.error;
  if (e != 0) {
    for (const Complex& step : {Complex(e, 0), Complex(-e, 0), Complex(0, e), Complex(0, -e)}) {
      const Real distance = std::abs(*complex_function(function, z + step) - *result);
      value.error = std::max(value.error, std::isnan(distance) ? no_limit : 2 * distance);
    }
  }
  return approximated(value, kind, 2 * units_of_functions);
}

template <class Function>
Value apply_to_two(const Value& left, const Value& right, cgen::ScalarKind kind, Real units,
                   const Function& function) {
  const Value l = rounded(in_reals(left), kind);
  const Value r = rounded(in_reals(right), kind);
  const Real result = function(l.real, r.real);
  std::vector<Real> moved;
  if (l.error != 0 || r.error != 0) {
    for (const Real x : {l.real - l.error, l.real, l.real + l.error}) {
      for (const Real y : {r.real - r.error, r.real, r.real + r.error}) {
        moved.push_back(function(x, y));
      }
    }
  }
  const Value value = real_value(result, spread(result, moved));
  return units == 0 ? rounded(value, kind) : approximated(value, kind, units);
}

Value smaller_or_larger(bool is_min, const Value& given_left, const Value& given_right,
                        cgen::ScalarKind kind) {
  const Value left = converted_as_in_c(given_left, kind);
  const Value right = converted_as_in_c(given_right, kind);
  if (left.is_integer() && right.is_integer()) {
    if (!left.has_range() || !right.has_range()) {
      return unknown_integer();
    }
    const auto of_two = [&](Wide l, Wide r) { return is_min ? std::min(l, r) : std::max(l, r); };
    return integer_between(of_two(left.integer, right.integer),
                           of_two(left.integer + left.spread, right.integer + right.spread));
  }
  const Value l = rounded(in_reals(left), kind);
  const Value r = rounded(in_reals(right), kind);
  if (std::isnan(l.real) || std::isnan(r.real)) {
    return std::isnan(l.real) ? r : l;
  }
  Value result = (l.real < r.real) == is_min ? l : r;
  if (std::fabs(l.real - r.real) <= l.error + r.error) {
    result.error = std::max(l.error, r.error);
  }
  return result;
}

Value absolute(const Value& argument, cgen::ScalarKind kind) {
  if (argument.is_integer()) {
    if (!argument.is_certain()) {
      return unknown_integer();
    }
    return argument.integer < 0 ? negate(argument, kind) : argument;
  }
  if (argument.kind == Value::Kind::complex) {
    return approximated(real_value(magnitude(argument), argument.error), kind, 4);
  }
  return real_value(std::fabs(argument.real), argument.error);
}

Value count_bits(Intrinsic function, const Value& argument, cgen::ScalarKind kind) {
  if (!argument.is_integer() || !argument.is_certain()) {
    return unknown_integer();
  }
  const int bits = bits_of(kind);
  const Wide low = argument.integer & ((Wide{1} << bits) - 1);
  int set = 0;
  int leading = bits;
  for (int bit = 0; bit < bits; ++bit) {
    if (((low >> bit) & 1) != 0) {
      ++set;
      leading = bits - 1 - bit;
    }
  }
  return integer_value(function == Intrinsic::popcount ? set : leading);
}

}  // namespace

bool is_function_of_numbers(Intrinsic function) {
  return real_function(function) != nullptr ||
         (function >= Intrinsic::isnan && function <= Intrinsic::conj);
}

Value apply_function(Intrinsic function, const std::vector<Value>& arguments,
                     cgen::ScalarKind kind) {
  const Value& first = arguments.front();
  if (const RealFunction real = real_function(function)) {
    if (first.kind == Value::Kind::complex) {
      return apply_to_complex(function, first, kind);
    }
    const Value x = rounded(in_reals(first), kind);
    const Real result = real(x.real);
    std::vector<Real> moved;
    if (x.error != 0) {
      moved = {real(x.real - x.error), real(x.real + x.error)};
    }
    const Value value = real_value(result, spread(result, moved));
    return is_exact_function(function) ? value : approximated(value, kind, units_of_functions);
  }
  const Value x = in_reals(first);
  switch (function) {
    case Intrinsic::isnan:
      return std::isinf(x.error) ? unknown_integer() : integer_value(std::isnan(x.real) ? 1 : 0);
    case Intrinsic::isinf:
      return std::isinf(x.error) ? unknown_integer() : integer_value(std::isinf(x.real) ? 1 : 0);
    case Intrinsic::isfinite:
      return std::isinf(x.error) ? unknown_integer() : integer_value(std::isfinite(x.real) ? 1 : 0);
    case Intrinsic::pow:
      return apply_to_two(first, arguments[1], kind, units_of_functions,
                          [](Real a, Real b) { return std::pow(a, b); });
    case Intrinsic::fmod:
      return apply_to_two(first, arguments[1], kind, 0,
                          [](Real a, Real b) { return std::fmod(a, b); });
    case Intrinsic::atan2:
      return apply_to_two(first, arguments[1], kind, units_of_functions,
                          [](Real a, Real b) { return std::atan2(a, b); });
    case Intrinsic::hypot:
      return apply_to_two(first, arguments[1], kind, units_of_functions,
                          [](Real a, Real b) { return std::hypot(a, b); });
    case Intrinsic::copysign:
      return apply_to_two(first, arguments[1], kind, 0,
                          [](Real a, Real b) { return std::copysign(a, b); });
    case Intrinsic::fma:
      return add(multiply(first, arguments[1], kind), arguments[2], kind);
    case Intrinsic::abs:
      return absolute(first, kind);
    case Intrinsic::min:
    case Intrinsic::max:
      return smaller_or_larger(function == Intrinsic::min, first, arguments[1], kind);
    case Intrinsic::popcount:
    case Intrinsic::count_leading_zeros:
      return count_bits(function, first, kind);
    case Intrinsic::make_complex: {
      const Value real = rounded(x, kind);
      const Value imaginary = rounded(in_reals(arguments[1]), kind);
      return complex_value(real.real, imaginary.real, real.error + imaginary.error);
    }
    case Intrinsic::real:
      return real_value(x.real, x.error);
    case Intrinsic::imag:
      return real_value(x.imaginary, x.error);
    case Intrinsic::conj:
      return complex_value(x.real, -x.imaginary, x.error);
    default:
      return unknown_real();
  }
}

}  // namespace rtcg::loopy::interpretation
