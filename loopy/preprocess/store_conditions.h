#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Conditions of statements that have reductions are computed by statements of their own.
///
/// Rewrites
///     if sum(k, a[i, k]) > 0: b[i] = 1
///   into
///     condition = sum(k, a[i, k]) > 0
///     if condition: b[i] = 1
///
/// @param kernel  without rules
[[nodiscard]] Kernel store_conditions(Kernel kernel);

}  // namespace rtcg::loopy
