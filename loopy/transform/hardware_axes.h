#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Puts statements onto the axes of the grid and of the block that only other statements use: each
/// block and thread then runs them, instead of the first one of the axis alone.
///
/// @param within  the statements, as match_instructions takes them. What they write is either each
///                thread's own, or the same from all of them
/// @throws InvalidInput  loopy.add_inames_for_unused_hardware_axes.nothing_to_add,
///                       loopy.add_inames_for_unused_hardware_axes.several_inames,
///                       loopy.match_instructions.syntax
/// @source Loo.py `add_inames_for_unused_hw_axes`
[[nodiscard]] Kernel add_inames_for_unused_hardware_axes(Kernel kernel,
                                                         std::string_view within = {});

}  // namespace rtcg::loopy
