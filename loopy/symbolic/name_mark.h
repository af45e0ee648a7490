#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rtcg::loopy {

/// The length, the first and the last characters of a name: equal for equal names, and different
/// for most others. For tables in memory that are looked up more often than they are made.
[[nodiscard]] inline std::uint64_t name_mark(std::string_view name) noexcept {
  const auto load = [](const char* from, auto bits) {
    std::memcpy(&bits, from, sizeof(bits));
    return std::uint64_t{bits};
  };
  const std::size_t size = name.size();
  const char* const begin = name.data();
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (size >= 8) {
    first = load(begin, std::uint64_t{});
    last = load(begin + size - 8, std::uint64_t{});
  } else if (size >= 4) {
    first = load(begin, std::uint32_t{});
    last = load(begin + size - 4, std::uint32_t{});
  } else if (size != 0) {
    first = load(begin, std::uint8_t{}) + (load(begin + size / 2, std::uint8_t{}) << 8);
    last = load(begin + size - 1, std::uint8_t{});
  }
  return first ^ (last * 0x9E3779B97F4A7C15U) ^ size;
}

}  // namespace rtcg::loopy
