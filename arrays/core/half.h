#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace rtcg::arrays {

/// The bits of `value` as an IEEE half, rounded to nearest, ties to even.
[[nodiscard]] std::uint16_t half_bits(float value) noexcept;
[[nodiscard]] float float_of_half_bits(std::uint16_t bits) noexcept;

/// An element of an array of halves on the host: stores, does not compute.
class Half {
 public:
  Half() = default;
  // NOLINTBEGIN(google-explicit-constructor): converts as numbers do.
  Half(float value) noexcept : bits_(half_bits(value)) {}
  operator float() const noexcept { return float_of_half_bits(bits_); }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] static Half from_bits(std::uint16_t bits) noexcept {
    Half result;
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] std::uint16_t bits() const noexcept { return bits_; }
  /// Compares as numbers. A template, so no operand is converted to a half.
  template <std::same_as<Half> Other>
  friend bool operator==(Other a, Other b) noexcept {
    return static_cast<float>(a) == static_cast<float>(b);
  }

 private:
  std::uint16_t bits_ = 0;
};

/// The upper half of a float: its range, 8 bits of its precision.
class BFloat16 {
 public:
  BFloat16() = default;
  // NOLINTBEGIN(google-explicit-constructor): converts as numbers do.
  BFloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    bits_ = static_cast<std::uint16_t>((is_nan ? bits | 0x400000U : rounded) >> 16);
  }
  operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] static BFloat16 from_bits(std::uint16_t bits) noexcept {
    BFloat16 result;
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] std::uint16_t bits() const noexcept { return bits_; }
  /// As numbers.
  template <std::same_as<BFloat16> Other>
  friend bool operator==(Other a, Other b) noexcept {
    return static_cast<float>(a) == static_cast<float>(b);
  }

 private:
  std::uint16_t bits_ = 0;
};

}  // namespace rtcg::arrays
