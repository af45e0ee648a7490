#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What a swizzle is to be like. 0: chosen.
struct SwizzleOptions {
  /// Neighbours that stay together, in elements; a power of two. Chosen: as many as a thread
  /// touches at once, so that its accesses stay whole.
  std::int64_t group = 0;
  /// Orders of groups; a power of two, at least 2.
  std::int64_t patterns = 0;
  /// Rows in a run that have the same order; a power of two.
  std::int64_t rows = 0;
};

/// Permutes the elements of each row of arrays in shared memory, by row, so that the
/// threads of a warp that touch them at the same time find their elements in different banks: what
/// pad_bank_conflicts does, without memory that is left unused.
///
/// Rewrites
///     a_fetch: f32[32, 32];                          b[i, j] = a_fetch[j, i]
///   into
///     a_fetch: f32[32, 32] {swizzle=column ^ row % 32};  b[i, j] = a_fetch[j, i]
/// which is a place in memory, not another index: in C, a_fetch[j][i ^ j].
///
/// The code for the host has no swizzle, because there are no banks.
/// Takes the swizzle for which all accesses together need the fewest turns, and of these the one of
/// the fewest patterns; arrays that no swizzle helps stay as they are. A later change of the
/// array's layout removes the swizzle. Vector copies of pipeline() have to come before.
/// @param temporaries  empty: all arrays in shared memory that have rows to swizzle
/// @throws InvalidInput  loopy.swizzle_bank_conflicts.unknown_temporary,
///                       loopy.swizzle_bank_conflicts.not_shared,
///                       loopy.swizzle_bank_conflicts.not_constant,
///                       loopy.swizzle_bank_conflicts.row_length,
///                       loopy.swizzle_bank_conflicts.bad_pattern,
///                       loopy.swizzle_bank_conflicts.by_place
/// @source NVIDIA, CuTe documentation: `Swizzle`; CUTLASS, "Efficient GEMM in CUDA"
[[nodiscard]] Kernel swizzle_bank_conflicts(Kernel kernel,
                                            const std::vector<std::string>& temporaries = {},
                                            const SwizzleOptions& options = {});

}  // namespace rtcg::loopy
