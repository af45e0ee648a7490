#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets global barriers be barriers of all blocks of one launch, where a device can hold all of
/// these at once.
///
/// Rewrites, with a loop that the host would run,
///     for t in [0, steps): launch k_0(t); launch k_1(t)
///   into one launch of
///     for (int t = 0; t < steps; ++t) {
///       k_0(t); wait for all blocks; k_1(t); wait for all blocks;
///     }
///
/// Legal with any global barrier: registers and shared memory end at it as they do at the end of a
/// launch. The parts between barriers have blocks of one shape, or of one thread. Where the grid
/// has more blocks than the device holds at once, and on the host and OpenCL devices, the barriers
/// end launches as before: walk_grid() gives a grid that fits.
/// @throws InvalidInput  loopy.join_launches.no_barrier
/// @cost   a barrier of the grid in place of a launch
[[nodiscard]] Kernel join_launches(Kernel kernel);

}  // namespace rtcg::loopy
