#pragma once

#include <cstdint>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Changes the order in which blocks come: a few along g.1 before the next along g.0, so that
/// blocks that run at the same time read the same rows and columns, which stay in the cache.
///
/// Rewrites, for 2 rows of blocks at a time,
///     (0,0) (0,1) (0,2) ...  then (1,0) (1,1) (1,2) ...        as (g.1, g.0)
///   into
///     (0,0) (1,0) (0,1) (1,1) (0,2) (1,2) ...  then (2,0) (3,0) (2,1) ...
///
/// The last rows are fewer where `rows` does not divide the grid. The numbers stay what they are.
/// @param rows  blocks along g.1 that come before the next along g.0; > 0, usually 4 to 16
/// @throws InvalidInput  loopy.swizzle.no_grid, loopy.swizzle.bad_length
/// @source Triton, "Matrix Multiplication" tutorial: grouped ordering of programs
[[nodiscard]] Kernel swizzle(Kernel kernel, std::int64_t rows);

}  // namespace rtcg::loopy
