#pragma once

#include <cstdint>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives the first and the last iterations of a loop code of their own, so that those between need
/// no test of the bounds.
///
/// Rewrites, for i from 0 to (n - 1) // 16 and the last iteration apart,
///     for i in [0, (n + 15) // 16): S(i)
///   into
///     for i in [0, n // 16): S(i)                      16 elements each, for every n
///     for i_tail in [n // 16, (n + 15) // 16): S(i_tail)
///
/// A reduction over the loop combines one of each piece. On an axis of the grid or of the block
/// nothing is copied: there the text tests each tile once, and has code without tests for the whole
/// ones. Where there are fewer iterations, they belong to the head first, then to the tail. The
/// loops within get copies, too; lanes and threads whose bounds depend on the iname as well.
/// @param iname       with one lower bound where `head` is not 0, and one upper bound where `tail`
///                    is not
/// @param head, tail  iterations; >= 0, not both 0
/// @throws InvalidInput  loopy.separate_loop_head_tail_slab.unknown_iname,
///                       loopy.separate_loop_head_tail_slab.bad_count,
///                       loopy.separate_loop_head_tail_slab.reduced,
///                       loopy.separate_loop_head_tail_slab.several_bounds,
///                       loopy.separate_loop_head_tail_slab.torn_apart
/// @source Loo.py `separate_loop_head_tail_slab`
[[nodiscard]] Kernel separate_loop_head_tail_slab(Kernel kernel, std::string_view iname,
                                                  std::int64_t head, std::int64_t tail);

}  // namespace rtcg::loopy
