#pragma once
// Internal header: it is not installed.

#include <cstdint>

namespace rtcg {

/// The smallest integer that is not less than a / b.
///
/// @param a  >= 0, and a + b is at most 2^63 - 1
/// @param b  > 0
[[nodiscard]] constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace rtcg
