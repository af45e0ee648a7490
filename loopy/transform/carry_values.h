#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Keeps what the last iterations of a loop have written in registers, in place of reading it
/// again.
///
/// Rewrites
///     for j: u[i, j] = 0.5*u[i, j - 1] + a[i, j]
///   into
///     u_last = u[i, first of j - 1]
///     for j:
///       u_last = 0.5*u_last + a[i, j]
///       u[i, j] = u_last
///
/// Values of up to four iterations ago are kept. No other statement within the loop writes the
/// array.
/// @param array  an argument that one statement within the loop writes, at an index that goes up or
///               down by one with the loop; it reads what it wrote some iterations before, always
/// @param iname  a loop that runs as such
/// @throws InvalidInput  loopy.carry_values.not_possible, loopy.carry_values.reorders_loops
[[nodiscard]] Kernel carry_values(Kernel kernel, std::string_view array, std::string_view iname);

namespace detail {
/// An array and a loop of carry_values().
struct CarriedValues {
  std::string array{};
  std::string iname{};
};
/// All that carry_values() takes, of statements that read nothing else of their array.
[[nodiscard]] std::vector<CarriedValues> find_carried_values(const Kernel& kernel);
}  // namespace detail

}  // namespace rtcg::loopy
