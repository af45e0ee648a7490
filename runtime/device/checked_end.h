#pragma once
// Internal header: it is not installed.

#include "rtcg/runtime/device/copy.h"

namespace rtcg::runtime::detail {

/// One side of a copy of that extent, which is not empty, as back ends take it; pitches of 0 become
/// those without gaps.
///
/// @throws InvalidInput  runtime.copy.bad_pitch, runtime.copy.out_of_range
[[nodiscard]] CopyRegion::End checked_end(RectEnd end, const RectExtent& extent);

}  // namespace rtcg::runtime::detail
