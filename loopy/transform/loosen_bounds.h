#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Frees the bounds of a loop from other inames: it runs through all values that it has for any of
/// theirs, and the other loops of its reduction test the rest. Copies for the threads of a block
/// then have one loop around them, although each thread has bounds of its own. Of several bounds
/// from one side those are left out that come through other loops, as `k >= i` from `i <= j <= k`:
/// they may let it begin later, and nowhere that one affine form gives.
///
/// Rewrites, freed from `ii`,
///     sum over ko in [0, (16*io + ii)/8], ki in [0, 8) with 8*ko + ki <= 16*io + ii
///   into
///     sum over ko in [0, 2*io + 1], ki in [0, 8) with 8*ko + ki <= 16*io + ii
///
/// @param iname  of a reduction over several loops: the others of its domain are within it
/// @param from   inames around the reduction; those that the bounds do not mention change nothing
/// @throws InvalidInput  loopy.loosen_bounds.unknown_iname, loopy.loosen_bounds.not_possible
[[nodiscard]] Kernel loosen_bounds(Kernel kernel, std::string_view iname,
                                   const std::vector<std::string>& from);

}  // namespace rtcg::loopy
