#include "rtcg/loopy/interpret/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rtcg::loopy::interpretation {
namespace {

using cgen::ScalarKind;

constexpr long double no_bound = std::numeric_limits<long double>::infinity();

struct FloatFormat {
  int digits;
  long double largest;
  long double smallest;  // normal
};

FloatFormat format_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::f16:
      return {11, 65504.0L, 0x1p-14L};
    case ScalarKind::bf16:
      return {8, 0x1.FEp127L, 0x1p-126L};
    case ScalarKind::f32:
      return {24, std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
    default:
      return {53, std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
  }
}

bool is_held(long double value, const FloatFormat& format) {
  if (value == 0 || !std::isfinite(value)) {
    return true;
  }
  if (std::fabs(value) < format.smallest || std::fabs(value) > format.largest) {
    return false;
  }
  // these two are asked for millions of times
  if (format.digits == std::numeric_limits<double>::digits) {
    return static_cast<double>(value) == value;
  }
  if (format.digits == std::numeric_limits<float>::digits) {
    return static_cast<float>(value) == value;
  }
  int exponent = 0;
  const long double mantissa = std::ldexp(std::frexp(value, &exponent), format.digits);
  return mantissa == std::rint(mantissa);
}

/// An exact result of integers as an operation of the type gives it.
Value settled(Wide exact, int known_bits, ScalarKind kind) {
  Value value = integer_value(exact);
  value.known_bits = known_bits;
  if (!cgen::is_integral(kind) || wrapped(exact, kind) == exact) {
    return value;
  }
  const int bits = bits_of(kind);
  if (!cgen::is_signed(kind) && bits >= 32) {
    value.integer = wrapped(exact, kind);  // C and every device agree on these
  } else {
    value.known_bits = std::min(known_bits, bits);
  }
  return value;
}

/// What a device may have of a type's integers from `least` to `most`.
Value settled_between(Wide least, Wide most, ScalarKind kind) {
  const bool is_within =
      !cgen::is_integral(kind) || (wrapped(least, kind) == least && wrapped(most, kind) == most);
  return is_within ? integer_between(least, most) : unknown_integer();
}

Wide last(const Value& value) {
  return value.integer + value.spread;
}

/// Whether both are integers with known bounds, and one of them at least is uncertain.
bool have_ranges(const Value& left, const Value& right) {
  return left.has_range() && right.has_range() && !(left.is_certain() && right.is_certain());
}

Wide floor_quotient(Wide left, Wide right) {
  const Wide quotient = left / right;
  return quotient * right != left && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

}  // namespace

Value integer_value(Wide value) {
  Value result;
  result.integer = value;
  return result;
}
Value real_value(long double value, long double error) {
  Value result;
  result.kind = Value::Kind::real;
  result.real = value;
  result.error = error;
  return result;
}
Value complex_value(long double real, long double imaginary, long double error) {
  Value result = real_value(real, error);
  result.kind = Value::Kind::complex;
  result.imaginary = imaginary;
  return result;
}
bool is_open(const Value& value) {
  return value.is_integer() ? !value.has_range() : std::isinf(value.error);
}

Value unknown_integer() {
  Value result;
  result.known_bits = 0;
  return result;
}
Value integer_between(Wide least, Wide most) {
  constexpr Wide widest = Wide{1} << 62;
  if (least == most) {
    return integer_value(least);
  }
  Value result = unknown_integer();
  if (least < most && least > -widest && most < widest) {
    result.integer = least;
    result.spread = most - least;
  }
  return result;
}
Value unknown_real() {
  return real_value(0, no_bound);
}

Value in_reals(const Value& value) {
  if (!value.is_integer()) {
    return value;
  }
  if (value.has_range()) {
    const long double half = static_cast<long double>(value.spread) / 2;
    return real_value(static_cast<long double>(value.integer) + half, half);
  }
  return real_value(static_cast<long double>(value.integer), no_bound);
}
Value in_complex(const Value& value) {
  Value result = in_reals(value);
  result.kind = Value::Kind::complex;
  return result;
}
long double magnitude(const Value& value) {
  return value.kind == Value::Kind::complex ? std::hypot(value.real, value.imaginary)
                                            : std::fabs(value.real);
}

long double unit_of(ScalarKind kind) {
  static constexpr long double of_double = std::numeric_limits<double>::epsilon();
  static constexpr long double of_float = std::numeric_limits<float>::epsilon();
  return kind == ScalarKind::f64   ? of_double
         : kind == ScalarKind::f32 ? of_float
                                   : std::ldexp(1.0L, 1 - format_of(kind).digits);
}

Value approximated(Value value, ScalarKind kind, long double units) {
  const FloatFormat format = format_of(kind);
  const long double size = magnitude(value);
  if (!std::isfinite(size)) {
    return value;  // for every operation
  }
  value.error += units * unit_of(kind) * size + units * unit_of(kind) * format.smallest;
  if (size != 0 && size < format.smallest) {
    value.error += format.smallest;  // some devices have no numbers below
  }
  if (std::isnan(value.error) || size * (1 + 2 * unit_of(kind)) > format.largest) {
    value.error = no_bound;
  }
  return value;
}

Value rounded(Value value, ScalarKind kind) {
  const FloatFormat format = format_of(kind);
  const bool is_exact = value.error == 0 && is_held(value.real, format) &&
                        (value.kind != Value::Kind::complex || is_held(value.imaginary, format));
  return is_exact ? value : approximated(value, kind, 1);
}

Value add(const Value& left, const Value& right, ScalarKind kind) {
  if (have_ranges(left, right)) {
    return settled_between(left.integer + right.integer, last(left) + last(right), kind);
  }
  if (left.is_integer() && right.is_integer()) {
    Wide sum = 0;
    const bool is_beyond = __builtin_add_overflow(left.integer, right.integer, &sum);
    const int bits = std::min({left.known_bits, right.known_bits, is_beyond ? 64 : 128});
    return settled(sum, bits, kind);
  }
  const Value l = rounded(in_reals(left), kind);
  const Value r = rounded(in_reals(right), kind);
  Value sum = real_value(l.real + r.real, l.error + r.error);
  sum.kind = std::max(l.kind, r.kind);
  sum.imaginary = l.imaginary + r.imaginary;
  return rounded(sum, kind);
}

Value negate(const Value& value, ScalarKind kind) {
  if (value.has_range() && !value.is_certain()) {
    return settled_between(-last(value), -value.integer, kind);
  }
  if (value.is_integer()) {
    Wide negated = 0;
    const bool is_beyond = __builtin_sub_overflow(Wide{0}, value.integer, &negated);
    return settled(negated, std::min(value.known_bits, is_beyond ? 64 : 128), kind);
  }
  Value result = value;
  result.real = -value.real;
  result.imaginary = -value.imaginary;
  return result;
}

Value multiply(const Value& left, const Value& right, ScalarKind kind) {
  if (have_ranges(left, right)) {
    const std::array<Wide, 4> ends = {left.integer * right.integer, left.integer * last(right),
                                      last(left) * right.integer, last(left) * last(right)};
    return settled_between(*std::min_element(ends.begin(), ends.end()),
                           *std::max_element(ends.begin(), ends.end()), kind);
  }
  if (left.is_integer() && right.is_integer()) {
    Wide product = 0;
    const bool is_beyond = __builtin_mul_overflow(left.integer, right.integer, &product);
    const int bits = std::min({left.known_bits, right.known_bits, is_beyond ? 64 : 128});
    return settled(product, bits, kind);
  }
  const Value l = rounded(in_reals(left), kind);
  const Value r = rounded(in_reals(right), kind);
  const long double size_l = magnitude(l);
  const long double size_r = magnitude(r);
  const auto part = [](long double size, long double error) {
    return error == 0 || size == 0 ? 0 : size * error;
  };
  const long double error = part(size_l, r.error) + part(size_r, l.error) + part(l.error, r.error);
  if (l.kind != Value::Kind::complex && r.kind != Value::Kind::complex) {
    return rounded(real_value(l.real * r.real, error), kind);
  }
  if (l.kind != r.kind) {  // each part on its own
    const Value& z = l.kind == Value::Kind::complex ? l : r;
    const long double factor = l.kind == Value::Kind::complex ? r.real : l.real;
    return rounded(complex_value(z.real * factor, z.imaginary * factor, error), kind);
  }
  return approximated(complex_value(l.real * r.real - l.imaginary * r.imaginary,
                                    l.real * r.imaginary + l.imaginary * r.real, error),
                      kind, 2);
}

Value divide(const Value& left, const Value& right, ScalarKind kind) {
  const Value l = rounded(in_reals(left), kind);
  const Value r = rounded(in_reals(right), kind);
  const long double size = magnitude(r);
  if (r.error != 0 && r.error >= size) {
    Value result = unknown_real();
    result.kind = std::max(l.kind, r.kind);
    return result;
  }
  if (r.kind != Value::Kind::complex) {
    Value quotient = l;
    quotient.real = l.real / r.real;
    quotient.imaginary = l.kind == Value::Kind::complex ? l.imaginary / r.real : 0;
    quotient.error = size == 0 ? 0 : (l.error + magnitude(quotient) * r.error) / (size - r.error);
    return approximated(quotient, kind, 2);
  }
  const long double square = size * size;
  Value quotient = complex_value((l.real * r.real + l.imaginary * r.imaginary) / square,
                                 (l.imaginary * r.real - l.real * r.imaginary) / square);
  quotient.error = size == 0 ? 0 : (l.error + magnitude(quotient) * r.error) / (size - r.error);
  return approximated(quotient, kind, 8);
}

Value converted_as_in_c(const Value& value, ScalarKind kind) {
  const bool is_long = cgen::is_integral(kind) && !cgen::is_signed(kind) && bits_of(kind) >= 32;
  return is_long && value.is_integer() ? converted(value, kind) : value;
}

namespace {

bool is_zero(const Value& value) {
  return value.is_certain() && value.integer == 0;
}

}  // namespace

Value floor_divide(const Value& given_left, const Value& given_right, ScalarKind kind) {
  if (given_left.is_integer() && given_right.is_integer()) {
    const Value left = kind == ScalarKind::u64 ? converted(given_left, kind) : given_left;
    const Value right = kind == ScalarKind::u64 ? converted(given_right, kind) : given_right;
    if (is_zero(right)) {
      return integer_value(0);
    }
    if (have_ranges(left, right) && right.is_certain() && right.integer > 0) {
      return settled_between(floor_quotient(left.integer, right.integer),
                             floor_quotient(last(left), right.integer), kind);
    }
    if (!left.is_certain() || !right.is_certain()) {
      return unknown_integer();
    }
    return settled(floor_quotient(left.integer, right.integer), Value::all_bits, kind);
  }
  Value quotient = divide(given_left, given_right, kind);
  const long double floored = std::floor(quotient.real);
  const bool is_open = std::floor(quotient.real - quotient.error) != floored ||
                       std::floor(quotient.real + quotient.error) != floored;
  return real_value(floored, !is_open                        ? 0
                             : std::isfinite(quotient.error) ? 1 + quotient.error
                                                             : no_bound);
}

Value floor_remainder(const Value& given_left, const Value& given_right, ScalarKind kind) {
  if (given_left.is_integer() && given_right.is_integer()) {
    const Value left = kind == ScalarKind::u64 ? converted(given_left, kind) : given_left;
    const Value right = kind == ScalarKind::u64 ? converted(given_right, kind) : given_right;
    if (!right.is_certain()) {
      return unknown_integer();
    }
    if (is_zero(right)) {
      return integer_value(0);
    }
    if (!left.is_certain() && left.has_range() && right.integer > 0) {
      const Wide quotient = floor_quotient(left.integer, right.integer);
      return quotient == floor_quotient(last(left), right.integer)
                 ? integer_between(left.integer - quotient * right.integer,
                                   last(left) - quotient * right.integer)
                 : integer_between(0, right.integer - 1);
    }
    // for a power of two the lower bits decide
    const bool is_power = right.integer > 0 && (right.integer & (right.integer - 1)) == 0;
    const bool is_within = left.known_bits >= Value::all_bits ||
                           (is_power && right.integer <= (Wide{1} << left.known_bits));
    if (!is_within) {
      return unknown_integer();
    }
    return settled(left.integer - right.integer * floor_quotient(left.integer, right.integer),
                   Value::all_bits, kind);
  }
  const Value quotient = floor_divide(given_left, given_right, kind);
  return add(given_left, negate(multiply(quotient, given_right, kind), kind), kind);
}

int compare_numbers(const Value& left, const Value& right) {
  if (left.is_integer() && right.is_integer()) {
    if (have_ranges(left, right)) {
      return last(left) < right.integer ? -1 : last(right) < left.integer ? 1 : 2;
    }
    if (!left.is_certain() || !right.is_certain()) {
      return 2;
    }
    return left.integer < right.integer ? -1 : left.integer > right.integer ? 1 : 0;
  }
  const Value l = in_reals(left);
  const Value r = in_reals(right);
  const long double error = l.error + r.error;
  if (l.kind == Value::Kind::complex || r.kind == Value::Kind::complex) {
    const bool is_same = l.real == r.real && l.imaginary == r.imaginary;
    const bool is_near = std::hypot(l.real - r.real, l.imaginary - r.imaginary) <= error;
    return error != 0 && is_near ? 2 : is_same ? 0 : 1;
  }
  if (std::isnan(l.real) || std::isnan(r.real)) {
    return 3;
  }
  if (error != 0 && !(std::fabs(l.real - r.real) > error)) {
    return 2;
  }
  return l.real < r.real ? -1 : l.real > r.real ? 1 : 0;
}

Value truth(const Value& value) {
  const int compared = compare_numbers(value, integer_value(0));
  return compared == 2 ? unknown_integer() : integer_value(compared == 0 ? 0 : 1);
}

Value either(const Value& one, const Value& other) {
  if (one.is_integer() && other.is_integer()) {
    return one.has_range() && other.has_range()
               ? integer_between(std::min(one.integer, other.integer),
                                 std::max(last(one), last(other)))
               : unknown_integer();
  }
  Value first = in_reals(one);
  const Value second = in_reals(other);
  const long double distance =
      std::hypot(first.real - second.real, first.imaginary - second.imaginary);
  first.kind = std::max(first.kind, second.kind);
  first.error = distance + std::max(first.error, second.error);
  if (std::isnan(first.error)) {
    first.error = no_bound;
  }
  return first;
}

int bits_of(ScalarKind kind) {
  return kind == ScalarKind::bool_ ? 1 : 8 * cgen::size_bytes(kind);
}

Wide wrapped(Wide value, ScalarKind kind) {
  const int bits = bits_of(kind);
  const Wide modulus = Wide{1} << bits;
  Wide low = value % modulus;
  low += low < 0 ? modulus : 0;
  return cgen::is_signed(kind) && low >= modulus / 2 ? low - modulus : low;
}

Value converted(const Value& value, ScalarKind kind) {
  if (kind == ScalarKind::bool_) {
    return truth(value);
  }
  if (cgen::is_floating(kind)) {
    return rounded(in_reals(value), kind);
  }
  if (value.has_range() && !value.is_certain()) {
    return settled_between(value.integer, last(value), kind);
  }
  if (value.is_integer()) {
    Value result = integer_value(wrapped(value.integer, kind));
    result.known_bits = value.known_bits >= bits_of(kind) ? Value::all_bits : value.known_bits;
    return result;
  }
  const long double least = std::trunc(value.real - value.error);
  const long double most = std::trunc(value.real + value.error);
  // conversions of values beyond the type are undefined in C
  const auto is_within = [](long double cut) { return std::fabs(cut) < 0x1p100L; };
  return is_within(least) && is_within(most)
             ? settled_between(static_cast<Wide>(least), static_cast<Wide>(most), kind)
             : unknown_integer();
}

}  // namespace rtcg::loopy::interpretation
