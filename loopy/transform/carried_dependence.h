#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Why the statements of a loop cannot be spread over two loops: `first` of all iterations and then
/// `last` of all iterations, where both were in each iteration. Nothing if
/// affine indices show no difference.
///
///     for i: a[i] = x[i]; b[i] = a[i + 1]
///
/// reads each element before it is written, and would read it after. A temporary that one statement
/// writes, each element once, has no value before: such reads do not count.
/// @param inames  loops around both; iterations of other shared loops stay together
/// @returns  a sentence with an element and two iterations
[[nodiscard]] std::optional<std::string> find_carried_dependence(
    const Kernel& kernel, const Instruction& first, const Instruction& last,
    const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
