#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

/// Scalars that whoever launches can compute as the kernel does, and their formulas: integers that
/// one statement, outside of all loops and conditions, computes from scalar arguments. Axes of the
/// grid may be as long as they say.
[[nodiscard]] Substitution launch_scalars(const Kernel& kernel);

}  // namespace rtcg::loopy
