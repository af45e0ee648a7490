#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string_view>

namespace rtcg {

/// Accumulates a 64-bit hash of a structure, the same on every machine and in every run.
///
/// Not cryptographic: use it for tables in memory. Files are keyed by SHA-256 (runtime/compile).
class StructuralHash {
 public:
  constexpr StructuralHash& add(std::uint64_t value) noexcept {
    state_ = mix(state_ ^ (value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2)));
    return *this;
  }
  constexpr StructuralHash& add(std::string_view text) noexcept {
    add(text.size());
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const char c : text) {
      word = (word << 8) | static_cast<unsigned char>(c);
      if (++filled == 8) {
        add(word);
        word = 0;
        filled = 0;
      }
    }
    return filled == 0 ? *this : add(word);
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return mix(state_); }

 private:
  // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
  static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  std::uint64_t state_ = 0;
};

}  // namespace rtcg
