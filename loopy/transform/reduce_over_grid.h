#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// How the parts of a reduction that blocks compute come together.
enum class GridReduction {
  two_stage,   ///< each block writes its part to memory, and a second launch adds them up
  atomic,      ///< each block adds its part to the result by an atomic function
  last_block,  ///< each block writes its part to memory, and the last one adds them up
};

struct ReduceOverGridOptions {
  GridReduction how = GridReduction::two_stage;
  /// Threads that add up the parts in the second launch, along l.0; a power of two. The last block
  /// has at most as many as the others along l.0.
  std::int64_t threads = 256;
};

/// Lets the blocks of the grid share a reduction.
///
/// Rewrites, with g on an axis of the grid,
///     s = sum((g, l), a[g, l])
///   into two launches
///     s_parts[g] = sum(l, a[g, l])
///     ... gbarrier
///     s = sum((g_0_outer, g_0_inner), s_parts[256*g_0_outer + g_0_inner])
///   with g_0_inner on l.0, or, with atomics, into
///     s = 0
///     ... gbarrier
///     s = s + sum(l, a[g, l])  {atomic}
///
/// Statements that follow each other and reduce over the iname share these launches, unless one
/// reads what another gives, or threads have results of their own in the two-stage form.
///
/// With the last block the two-stage form is one launch: `... last_block` stands for the barrier,
/// see BarrierInstruction. Statements after it begin another launch.
///
/// Where threads have results of their own, as with `s[i] = sum((g, l), a[g, l, i])` and i on l.0,
/// the second launch has several threads for each result, on an axis of the block that is free, and
/// the longest of the loops that are tagged ilp is on the axis of the grid that was g's.
///
/// Parts are combined in the order of the blocks, so that reductions with an order keep it: the
/// elements of each block are neighbours, or the reduction is refused.
///
/// The two-stage form and the last block always add up in the same order; the atomic one does not,
/// and the last bits of a floating-point sum differ from run to run. Where the statement adds to
/// its target already, `s = s + sum(...)`, the atomic form is one launch. Preprocessing does the
/// two-stage form by itself wherever a reduction over an axis of the grid is left. A statement that
/// reads the result later runs in a further launch.
/// @param iname  on an axis of the grid; the other inames of the reduction stay as they are
/// @throws InvalidInput  loopy.reduce_over_grid.unknown_iname, loopy.reduce_over_grid.not_on_grid,
///                       loopy.reduce_over_grid.no_reduction, loopy.reduce_over_grid.nested,
///                       loopy.reduce_over_grid.bounds, loopy.reduce_over_grid.no_atomic,
///                       loopy.reduce_over_grid.order,
///                       loopy.reduce_over_grid.threads,
///                       loopy.reduce_over_grid.value_of_an_iteration,
///                       loopy.reduce_over_grid.carried_value
[[nodiscard]] Kernel reduce_over_grid(Kernel kernel, std::string_view iname,
                                      const ReduceOverGridOptions& options = {});

}  // namespace rtcg::loopy
