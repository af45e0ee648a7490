#pragma once

#include <cstdint>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets a given number of blocks run all iterations along an axis of the grid: each block runs
/// every blocks-th of them, one after the other (a grid-stride loop).
///
/// Rewrites, with i_outer on g.0,
///     const int i_outer = blockIdx.x;
///     S(i_outer)
///   into
///     for (unsigned block_x = blockIdx.x; block_x < count; block_x += gridDim.x) {
///       const int i_outer = block_x;
///       S(i_outer)
///     }
///
/// The number can be an argument: then the program is the same for any number of blocks and of
/// iterations. No more blocks are launched than there are iterations. Iterations along the axis
/// stay independent of each other, as if each had a block of its own; shared memory is used again,
/// with a barrier between. Axes g.1 and g.2, which have at most 65,535 blocks, can so have more
/// iterations. What the last block of a launch would do takes a launch of its own.
/// @param axis    0, 1 or 2, of the grid
/// @param blocks  an integer expression of scalar arguments, at least 1; a name that the kernel
///                does not have becomes an argument of type i32
/// @throws InvalidInput  loopy.walk_grid.no_grid, loopy.walk_grid.bad_blocks,
///                       loopy.parse_expr.syntax
/// @source M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013
[[nodiscard]] Kernel walk_grid(Kernel kernel, std::int64_t axis, std::string_view blocks);

}  // namespace rtcg::loopy
