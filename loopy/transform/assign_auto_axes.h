#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts each iname tagged `l.auto` on an axis of the block, innermost array axes on l.0. An iname
/// longer than its axis is split; one that finds no axis is a loop.
[[nodiscard]] Kernel assign_auto_axes(Kernel kernel);

/// The kernel as its threads run it, to ask questions of: rules expanded, `l.auto` inames on axes,
/// temporaries in address spaces; and with types, where these can be inferred already.
[[nodiscard]] Kernel placed_on_axes(const Kernel& kernel);

}  // namespace rtcg::loopy
