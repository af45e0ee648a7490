#pragma once
// Internal header: it is not installed.

#include <concepts>
#include <type_traits>

namespace rtcg {

/// The smallest integer that is not less than a / b.
///
/// @param a  >= 0, and a + b is representable
/// @param b  > 0
template <std::integral A, std::integral B>
[[nodiscard]] constexpr std::common_type_t<A, B> ceil_divide(A a, B b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of `step` that is not less than `value`; both as of ceil_divide.
template <std::integral A, std::integral B>
[[nodiscard]] constexpr std::common_type_t<A, B> round_up(A value, B step) {
  return ceil_divide(value, step) * step;
}

}  // namespace rtcg
