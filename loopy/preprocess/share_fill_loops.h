#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Fills of tiles in shared memory that compute their values from the same array, at the same
/// points, go through one loop: threads find their places once, and load once what the values have
/// in common. Copies of elements, fills with sums, and those that depend on each other keep loops
/// of their own.
///
/// Rewrites
///     for p in [0, 18): a_values[p] = x[p] - x[p + 1]
///     for q in [0, 18): b_values[q] = x[q] + x[q + 1]
///   into
///     for p in [0, 18): a_values[p] = x[p] - x[p + 1]; b_values[p] = x[p] + x[p + 1]
[[nodiscard]] Kernel share_fill_loops(Kernel kernel);

}  // namespace rtcg::loopy
