#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rtcg::cgen {

/// A floating-point number of 16 bits, as it is in memory.
template <int mantissa_bits, int exponent_bits>
class ShortFloat {
 public:
  ShortFloat() = default;
  /// Rounds to nearest, ties to even.
  explicit ShortFloat(double value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::fabs(value);
    if (std::isnan(value)) {
      bits_ = static_cast<std::uint16_t>(infinity | 1U << (mantissa_bits - 1));
      return;
    }
    int exponent = 0;
    std::frexp(size, &exponent);  // 0 for 0, as for numbers from 0.5 to 1
    // of the last bit: numbers below the smallest normal one share that of the latter
    const int last = (size == 0 ? 1 - bias : std::max(exponent - 1, 1 - bias)) - mantissa_bits;
    const double mantissa = std::isinf(size) ? 0 : std::nearbyint(std::ldexp(size, -last));
    // a mantissa that rounds to a power of two goes over into the exponent by itself
    const double bits = std::ldexp(last + mantissa_bits + bias - 1, mantissa_bits) + mantissa;
    bits_ = static_cast<std::uint16_t>(
        sign | (std::isinf(size) || bits >= infinity ? infinity : static_cast<int>(bits)));
  }
  explicit operator long double() const {
    const int exponent = (bits_ & 0x7FFF) >> mantissa_bits;
    const int mantissa = bits_ & ((1 << mantissa_bits) - 1);
    const long double size =
        exponent == (1 << exponent_bits) - 1
            ? (mantissa == 0 ? std::numeric_limits<long double>::infinity()
                             : std::numeric_limits<long double>::quiet_NaN())
            : std::ldexp(
                  static_cast<long double>(mantissa + (exponent > 0 ? 1 << mantissa_bits : 0)),
                  std::max(exponent, 1) - bias - mantissa_bits);
    return (bits_ & 0x8000) != 0 ? -size : size;
  }

  [[nodiscard]] std::uint16_t bits() const { return bits_; }

 private:
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  std::uint16_t bits_ = 0;
};

using Half = ShortFloat<10, 5>;
using BrainFloat = ShortFloat<7, 8>;

}  // namespace rtcg::cgen
