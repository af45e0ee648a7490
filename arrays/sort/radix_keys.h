#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/arrays/core/dtype.h"

// Elements as bits that are in their order: what a radix sort looks at.

namespace rtcg::arrays::detail {

inline constexpr int radix_bits = 8;
inline constexpr int radix_digits = 1 << radix_bits;

/// What of which keys a sort compares, as bits in their order: 0 is the lowest.
struct RadixKeys {
  DType dtype = DType::u32;
  bool is_descending = false;
  int begin_bit = 0;
  int end_bit = 32;

  [[nodiscard]] int passes() const noexcept {
    return (end_bit - begin_bit + radix_bits - 1) / radix_bits;
  }
  /// The lowest bit of a pass's digit.
  [[nodiscard]] int shift(int pass) const noexcept { return begin_bit + radix_bits * pass; }
  /// The greatest digit of a pass.
  [[nodiscard]] int mask(int pass) const noexcept {
    const int bits = end_bit - shift(pass);
    return (1 << (bits < radix_bits ? bits : radix_bits)) - 1;
  }
};

/// The bits of a key: 1 of a boolean.
[[nodiscard]] constexpr int key_bits(DType dtype) {
  return dtype == DType::boolean ? 1 : 8 * static_cast<int>(size_bytes(dtype));
}
/// Whether elements of that type can be keys: booleans, integers and floating types.
[[nodiscard]] constexpr bool is_key(DType dtype) {
  return dtype == DType::boolean || is_integer(dtype) || is_floating(dtype);
}

/// As all of the languages call the unsigned type of that size.
[[nodiscard]] const char* c_word(DType word);

/// The statements of a function of `x`, the bits of a key, that gives an unsigned number of the
/// same size: greater for what comes later. NaNs are the greatest also of descending keys, and -0
/// is 0.
[[nodiscard]] std::string order_of_bits(DType dtype, bool is_descending);

/// The bits of a key that no other comes after: `order_of_bits` sets all of theirs.
[[nodiscard]] std::uint64_t last_bits(DType dtype, bool is_descending);

}  // namespace rtcg::arrays::detail
