#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Turns inames tagged `ilp.seq` into loops: each statement within gets a separate one, inside all
/// its other loops, and private values get an element for each iteration.
///
/// Rewrites
///     i: ilp.seq;  t = a[i];  b[i] = t*t
///   into
///     for i_0: t[i_0] = a[i_0]
///     for i_1: b[i_1] = t[i_1]*t[i_1]
/// @param kernel  preprocessed apart from this step: its temporaries have their address spaces
/// @throws InvalidInput  loopy.privatize_temporaries.used_outside,
///                       loopy.privatize_temporaries.no_constant_length
[[nodiscard]] Kernel make_lane_loops(Kernel kernel);

}  // namespace rtcg::loopy
