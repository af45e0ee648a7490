#pragma once
// Internal header: it is not installed.

#include <cstdint>

#include "rtcg/cgen/ast/type.h"

// Numbers in the widest types, with bounds of the errors that a device may make and the interpreter
// does not.

namespace rtcg::loopy::interpretation {

__extension__ typedef __int128 Wide;

/// An integer, a real or a complex number.
///
/// Integers are exact. Where an operation left the range of its type, a device has the lower bits
/// of the exact result: `known_bits` of them; 0 where no bits are known. A device may then have any
/// value, or one from `integer` to `integer + spread`, if that is not 0. Real and complex numbers
/// are exact to 64 bits; `error` is the largest distance that a device's value may have, which
/// counts roundings in the declared types once each. It is infinite where nothing is known.
struct Value {
  enum class Kind : std::uint8_t { integer, real, complex };
  static constexpr int all_bits = 128;

  Kind kind = Kind::integer;
  int known_bits = all_bits;
  Wide integer = 0;
  Wide spread = 0;
  long double real = 0;
  long double imaginary = 0;
  long double error = 0;

  [[nodiscard]] bool is_integer() const { return kind == Kind::integer; }
  /// Whether a device's value is the one here.
  [[nodiscard]] bool is_certain() const {
    return is_integer() ? known_bits == all_bits : error == 0;
  }
  /// Whether it is an integer between two that are known, or certain.
  [[nodiscard]] bool has_range() const {
    return is_integer() && (known_bits == all_bits || spread != 0);
  }
};

[[nodiscard]] Value integer_value(Wide value);
[[nodiscard]] Value real_value(long double value, long double error = 0);
[[nodiscard]] Value complex_value(long double real, long double imaginary, long double error = 0);
/// Whether a device may have any value.
[[nodiscard]] bool is_open(const Value& value);
[[nodiscard]] Value unknown_integer();
/// One of the integers from `least` to `most`; certain if they are equal.
[[nodiscard]] Value integer_between(Wide least, Wide most);
[[nodiscard]] Value unknown_real();
/// As a real or complex number; its error is infinite where not all bits are known.
[[nodiscard]] Value in_reals(const Value& value);
[[nodiscard]] Value in_complex(const Value& value);
/// |value|, of a real or complex number.
[[nodiscard]] long double magnitude(const Value& value);

/// Largest relative error of one operation of the type, twice that of rounding to nearest.
[[nodiscard]] long double unit_of(cgen::ScalarKind kind);
/// The value after one rounding to `kind`; exact values that it holds stay exact.
[[nodiscard]] Value rounded(Value value, cgen::ScalarKind kind);
/// The value after an operation that may be wrong in some last places even where `kind` holds the
/// exact result.
[[nodiscard]] Value approximated(Value value, cgen::ScalarKind kind, long double units);

// Operations in `kind`, which is floating where one of the operands is.
[[nodiscard]] Value add(const Value& left, const Value& right, cgen::ScalarKind kind);
[[nodiscard]] Value negate(const Value& value, cgen::ScalarKind kind);
[[nodiscard]] Value multiply(const Value& left, const Value& right, cgen::ScalarKind kind);
[[nodiscard]] Value divide(const Value& left, const Value& right, cgen::ScalarKind kind);
/// Rounded down, as Python has it, and the remainder of the divisor's sign. Whole numbers divided
/// by 0 give 0, with nothing left.
[[nodiscard]] Value floor_divide(const Value& left, const Value& right, cgen::ScalarKind kind);
[[nodiscard]] Value floor_remainder(const Value& left, const Value& right, cgen::ScalarKind kind);

/// -1, 0 or 1; 2 if the errors leave it open, 3 if one of them is NaN.
[[nodiscard]] int compare_numbers(const Value& left, const Value& right);
/// Whether it is not zero: 1 or 0; nothing certain where its error reaches zero.
[[nodiscard]] Value truth(const Value& value);
/// The range of two values; a device may have either.
[[nodiscard]] Value either(const Value& one, const Value& other);

/// The number after storing it in a variable of the type: integers wrap around; reals are rounded,
/// or truncated for an integer type.
[[nodiscard]] Value converted(const Value& value, cgen::ScalarKind kind);
/// The same for u32 and u64, to which C converts what they meet; the value itself for other types.
[[nodiscard]] Value converted_as_in_c(const Value& value, cgen::ScalarKind kind);
/// The low bits of the type, as a number of it.
[[nodiscard]] Wide wrapped(Wide value, cgen::ScalarKind kind);
[[nodiscard]] int bits_of(cgen::ScalarKind kind);

}  // namespace rtcg::loopy::interpretation
