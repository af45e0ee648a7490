#pragma once
// Internal header: it is not installed.

#include <memory>

#include "rtcg/loopy/slice/enumerate_slicings.h"

// Where slicings come from: tiles of results, rows, marches, updates, chains of nests.

namespace rtcg::loopy::detail {

using SourcePtr = std::shared_ptr<const SlicingSource>;
struct SlicingProblem;
struct RankingBounds;

/// Both in one ranking. They have no slicing in common.
[[nodiscard]] SourcePtr merged(SourcePtr first, SourcePtr second);

/// Tiles of the results of all statements, and reductions over threads and blocks.
/// @throws as SlicingStream
[[nodiscard]] SourcePtr tile_slicings(const Kernel& kernel, const SlicingConstraints& constraints,
                                      const RankingBounds& bounds);
/// The same of a problem that has been read.
[[nodiscard]] SourcePtr tile_slicings(SlicingProblem problem,
                                      const SlicingConstraints& constraints);
/// Tiles of a contraction whose inames are fused: rows, columns and what is summed over are one
/// index each. Null for other kernels, and where no inames go together.
[[nodiscard]] SourcePtr fused_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// The same of a contraction with copies of operands, whose axes lie so that tiles are contiguous,
/// made by launches before. Null for other kernels, and where nothing is gained.
[[nodiscard]] SourcePtr copied_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
/// The slicings of a kernel whose inames are fused, as those of the kernel itself.
[[nodiscard]] SourcePtr with_fusions(SourcePtr fused, std::vector<InameFusion> fusions);
/// Tiles of a product of matrices, or of a contraction with fused inames, that warps compute on
/// tensor cores. Null for other kernels and machines.
[[nodiscard]] SourcePtr tensor_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
struct RowSlicings {
  SourcePtr source{};          ///< null where the kernel is no chain over a row
  bool replace_tiles = false;  ///< whether tiles have nothing to offer: no nest has inner sums
};
/// Rows of blocks and of parts of them, for chains of nests over one row. A row of several axes is
/// also one of a flat loop.
[[nodiscard]] RowSlicings row_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Blocks that march along the slow loop of a stencil, on GPUs; null for other kernels.
[[nodiscard]] SourcePtr march_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Blocks and threads over atomic updates, and copies of the arrays that they update. Null for
/// other kernels.
[[nodiscard]] SourcePtr update_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
/// Rows of blocks and threads for nests whose statements scan along one loop, and that loop over
/// the grid. Null for other kernels.
[[nodiscard]] SourcePtr scan_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Rows to threads, to warps and their parts, and to blocks, for nests with loops whose bounds the
/// kernel computes. Null for other kernels.
[[nodiscard]] SourcePtr ragged_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
/// Blocks for independent recurrences: the threads of a block share the iterations of each step,
/// with barriers between the steps. Null for kernels without such steps.
[[nodiscard]] SourcePtr recurrence_slicings(const Kernel& kernel,
                                            const SlicingConstraints& constraints);
/// Rows whose threads go along them one after the other, in tiles that the block copies, on GPUs.
/// Null for kernels without such rows.
[[nodiscard]] SourcePtr stepped_slicings(const Kernel& kernel,
                                         const SlicingConstraints& constraints);
/// Threads with neighbouring steps of a sum for several results, which shift what is read, on GPUs.
/// Null for kernels without such sums.
[[nodiscard]] SourcePtr lagged_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
/// Whole tiles of results whose block keeps values of rules in shared memory, on GPUs; null for
/// kernels without such rules.
[[nodiscard]] SourcePtr value_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Blocks of the loops that nests share once those along arrays which they hand on are one; the block
/// keeps its part of these arrays in shared memory, on GPUs. Null for kernels without such arrays.
[[nodiscard]] SourcePtr held_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Slicings of the kernel that stores the values of sums which several points or statements use, in
/// launches of its own. Null for kernels without such sums, and where there are hints.
[[nodiscard]] SourcePtr stored_slicings(const Kernel& kernel,
                                        const SlicingConstraints& constraints);
/// The loops that quotients and remainders of indices divide in steps and phases, where indices are
/// affine then: the plans, and the kernel with them. Nothing for kernels without sums or such
/// loops.
struct PhasedKernel {
  std::vector<PhasePlan> phases{};
  Kernel kernel{};
};
[[nodiscard]] std::optional<PhasedKernel> find_phases(const Kernel& kernel,
                                                      const IntegerValues& parameters);
/// A slicing for each nest of a kernel with several; null for other kernels.
[[nodiscard]] SourcePtr chain_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Those of one nest: updates, scans, ragged rows, or tiles, rows and marches.
/// @throws as SlicingStream
[[nodiscard]] SourcePtr nest_slicings(const Kernel& kernel, const SlicingConstraints& constraints,
                                      const RankingBounds& bounds);

}  // namespace rtcg::loopy::detail
