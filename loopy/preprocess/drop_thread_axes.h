#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Takes axes of threads from private arrays: where each access has an iname of one axis of the
/// block as index, a thread touches no element but its own.
///
/// Rewrites, with z and i on l.0 and `own` private,
///     own[z] = 0;  own[i] = own[i] + a[i]
///   into
///     own = 0;  own = own + a[i]
/// @param kernel  with realised reductions
[[nodiscard]] Kernel drop_thread_axes(Kernel kernel);

}  // namespace rtcg::loopy
