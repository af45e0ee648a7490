#pragma once

#include <cstdint>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {

/// Cuts a loop of constant length into a number of chunks whose lengths differ by at most one.
///
/// Rewrites
///     for i in [0, 10): S(i)
///   into, for 3 chunks,
///     for i_outer in [0, 3):
///       for i_inner in [10*i_outer // 3, 10*(i_outer + 1) // 3): S(i_inner)
///
/// @param iname   an untagged iname, bounded by constants
/// @param chunks  > 0
/// @throws InvalidInput  loopy.chunk_iname.unknown_iname, loopy.chunk_iname.bad_count,
///                       loopy.chunk_iname.no_constant_length, loopy.chunk_iname.tagged_already,
///                       loopy.chunk_iname.name_taken, loopy.chunk_iname.axis_used_twice,
///                       loopy.iname_tag.unknown
/// @source Loo.py `chunk_iname`
[[nodiscard]] Kernel chunk_iname(Kernel kernel, std::string_view iname, std::int64_t chunks,
                                 const SplitOptions& options = {});

}  // namespace rtcg::loopy
