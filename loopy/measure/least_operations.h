#pragma once
// Internal header: it is not installed.

#include <optional>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// The arithmetic that a kernel has to do, counted as count_operations() counts it, if
/// - each distinct value is computed once: not again for loops that it does not depend on, and not
///   again where other loops or statements use the same value,
/// - sums and products combine their operands in the cheapest order, and factors that an iname of a
///   sum does not change are outside of the sum over it: `sum((i, j), x[i]*A[i, j]*y[j])` takes two
///   operations for each element of `A`,
/// - a reduction that grows with a loop, as `sum(k, x[k])` for `k <= i` does, continues from the
///   value before.
///
/// Nothing where loops have lengths that the kernel computes.
///
/// @param kernel  with its sizes put in, and rules expanded
[[nodiscard]] std::optional<double> least_operations(const Kernel& kernel);

}  // namespace rtcg::loopy::detail
