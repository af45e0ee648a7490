#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes several loops one, under a name that may be one of theirs or new.
///
/// Rewrites
///     for i: S(i)
///     for j: T(j)
///   with [i, j] becoming k into
///     for k: S(k); T(k)
///
/// @param inames  as rename_iname takes them, one after the other
/// @throws InvalidInput  what rename_iname throws; loopy.rename_inames.too_few
/// @source Loo.py `rename_inames`, `rename_inames_in_batch`
[[nodiscard]] Kernel rename_inames(Kernel kernel, const std::vector<std::string>& inames,
                                   std::string_view new_name);

/// Which of the loops may become one: groups of two and more, each for rename_inames, in the order
/// in which the loops run. A loop joins the first group that can take it: with the same bounds, no
/// element read or written too early, and loops that still can be nested.
///
/// @param candidates  inames; empty: all sequential ones
/// @source Loo.py `get_kennedy_unweighted_fusion_candidates`; Kennedy and McKinley 1993, typed
///         fusion
[[nodiscard]] std::vector<std::vector<std::string>> find_fusion_candidates(
    const Kernel& kernel, const std::vector<std::string>& candidates = {});

/// Makes one loop of all that may be one, as find_fusion_candidates finds them.
///
/// @throws InvalidInput  loopy.fuse_loops.unknown_iname, loopy.fuse_loops.nothing_to_fuse
[[nodiscard]] Kernel fuse_loops(Kernel kernel, const std::vector<std::string>& candidates = {});

}  // namespace rtcg::loopy
