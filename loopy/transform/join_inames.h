#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct JoinOptions {
  /// Name of the new iname; empty: the old names joined by `_`.
  std::string name{};
  /// Tag of the new iname, as parse_iname_tag takes it; empty: sequential.
  std::string tag{};
};

/// Makes one loop out of nested loops over a box.
///
/// Rewrites
///     for i in [0, n): for j in [0, 8): S(i, j)
///   into
///     for i_j in [0, 8*n): S(i_j // 8, i_j % 8)
///
/// Or, where bounds are scalar arguments,
///     for i in [0, n): for j in [0, m): S(i, j)
///   into
///     end = n*m
///     for i_j in [0, end): S(i_j // m, i_j % m)
///
/// @param inames  at least two, the slowest varying first; all but that one have constant bounds,
///                or all have one bound on each side in scalar arguments and all but the first one
///                are known to have values; no other iname's bounds depend on them, and each
///                statement is within all of them or none
/// @throws InvalidInput  loopy.join_inames.unknown_iname, loopy.join_inames.too_few,
///                       loopy.join_inames.tagged_already, loopy.join_inames.not_a_box,
///                       loopy.join_inames.not_together, loopy.join_inames.name_taken,
///                       loopy.join_inames.axis_used_twice, loopy.join_inames.carried_value,
///                       loopy.join_inames.may_be_empty,
///                       loopy.iname_tag.unknown
/// @source Loo.py `join_inames`
[[nodiscard]] Kernel join_inames(Kernel kernel, const std::vector<std::string>& inames,
                                 const JoinOptions& options = {});

}  // namespace rtcg::loopy
