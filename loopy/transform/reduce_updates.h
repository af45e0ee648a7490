#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes a reduction of the atomic updates of one element: each thread keeps what it adds, each
/// block has one part of the result, and the last block combines the parts, always in the same
/// order. Blocks that take turns have one part each, not one for each turn.
///
/// Rewrites, with b on g.0, lane on l.0, and any loops and other statements around the update
///     y[i] = a*x[i]
///     s[0] = 0
///     s[0] += x[i]*y[i]  {atomic}
///   into
///     s_own[z] = 0                                 with z on l.0
///     y[i] = a*x[i]
///     s_own[lane] += x[i]*y[i]
///     s_parts[b] = sum(h, s_own[h])                with h on l.0
///     ... last_block
///     s[0] = sum((c_outer, c_inner), s_parts[...]) with c_inner on l.0
///
/// Where no statement sets the element first, it keeps what it has: `s[0] = s[0] + sum(...)`. The
/// element may depend on axes of the grid, `s[r] += ...` with r on g.1: each group of blocks then
/// has a last one. If all axes of the grid are among them, blocks do without parts. Lanes (ilp,
/// vec) keep values of their own. Rounding differs as with any other order of the updates.
/// @param array  an argument; in the launch all statements that touch it are atomic updates of one
///               element by one operation, which is a sum, a product, a minimum or a maximum, and
///               before them at most one assignment to it
/// @throws InvalidInput  loopy.reduce_updates.unknown_array, loopy.reduce_updates.not_updated,
///                       loopy.reduce_updates.other_operation, loopy.reduce_updates.element,
///                       loopy.reduce_updates.unknown_length
[[nodiscard]] Kernel reduce_updates(Kernel kernel, std::string_view array);

}  // namespace rtcg::loopy
