#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/support/gpu_limits.h"

// Where the blocks of a launch that look back publish values.

namespace rtcg::loopy {

/// Tiles whose values the lanes of a warp read at once.
inline constexpr int tiles_of_group = warp_size;
/// Tiles of so many groups: a group of groups.
inline constexpr int tiles_of_groups = tiles_of_group * warp_size;
/// Places of a group of groups: first those of its groups, which a warp reads together, then those
/// of its tiles.
inline constexpr int places_of_groups = warp_size + tiles_of_groups;

}  // namespace rtcg::loopy
