#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// The kernel whose domains say which values of some of their inames go with values of the others,
/// where statements and reductions use these alone: with `i = 2*j` a statement within `i` runs for
/// even `i`. Bounds are found by elimination over the rationals, which knows of no such gaps, so
/// that the domain states them: `i mod 2 = 0`.
/// @throws InvalidInput  loopy.make_kernel.partial_use, if more than one set is left
[[nodiscard]] Kernel with_projections(Kernel kernel);

}  // namespace rtcg::loopy::detail
