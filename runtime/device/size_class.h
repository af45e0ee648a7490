#pragma once
// Internal header: it is not installed.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rtcg::runtime {

/// Sizes of a pool's blocks: those of 1 to 16 bytes, then 16 between each power of two and the next
/// (an exponent and four bits of mantissa). A block is less than 1/16 longer than requested.
class SizeClass {
 public:
  /// The class whose blocks hold `size_bytes` with the least waste. @param size_bytes  > 0
  [[nodiscard]] static constexpr SizeClass of(std::uint64_t size_bytes) noexcept {
    // by the last byte's offset, so that a class ends with its block's size
    const std::uint64_t last = size_bytes - 1;
    if (last < steps) {
      return SizeClass(static_cast<unsigned>(last));
    }
    const unsigned exponent = static_cast<unsigned>(std::bit_width(last)) - 1;
    const unsigned shift = exponent - step_bits;
    const unsigned mantissa = static_cast<unsigned>(last >> shift) & (steps - 1);
    return SizeClass(steps * (shift + 1) + mantissa);
  }
  [[nodiscard]] static constexpr SizeClass at(unsigned index) noexcept { return SizeClass(index); }

  /// Number of the class, from 0, in the order of sizes.
  [[nodiscard]] constexpr unsigned index() const noexcept { return index_; }
  [[nodiscard]] constexpr std::uint64_t block_bytes() const noexcept {
    if (index_ < steps) {
      return index_ + 1;
    }
    const unsigned shift = index_ / steps - 1;
    return std::uint64_t{steps + index_ % steps + 1} << shift;
  }

  /// Classes for sizes up to 2^63.
  static constexpr unsigned count = 16 * 60;

 private:
  static constexpr unsigned step_bits = 4;
  static constexpr unsigned steps = 1U << step_bits;
  explicit constexpr SizeClass(unsigned index) noexcept : index_(index) {}

  unsigned index_;
};

}  // namespace rtcg::runtime
