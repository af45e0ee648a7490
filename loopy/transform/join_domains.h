#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes one domain of an iname's and of the one around it: loops that end where others say can
/// then be nested in any order, or be on axes of the grid. The points stay the same.
///
/// Rewrites
///     {[i]: 0 <= i < n} {[j]: 0 <= j <= i}
///   into
///     {[i, j]: 0 <= i < n and 0 <= j <= i}
///
/// @param iname  whose bounds are inames of one other domain, sizes and numbers. Its domain has a
///               point for each point around it, or all statements within the loops around are also
///               within its loops: none loses an iteration
/// @throws InvalidInput  loopy.join_domains.unknown_iname, loopy.join_domains.not_possible
[[nodiscard]] Kernel join_domains(Kernel kernel, std::string_view iname);

namespace detail {
/// An iname of each domain that `join_domains` takes and that has a loop of statements, not only of
/// reductions; in their order.
[[nodiscard]] std::vector<std::string> joinable_inames(const Kernel& kernel);
}  // namespace detail

}  // namespace rtcg::loopy
