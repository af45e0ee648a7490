#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/create/kernel_parts.h"

namespace rtcg::loopy {

/// The parts with each segmented scan as a scan.
///
/// Rewrites
///     s[i] = segmented_scan(flag[j] > 0, sum, j, a[j])
///   into
///     sum_in_segments(a, begun, b, begins) :=
///         make_tuple(if(begins > 0, b, a + b), max(begun, begins))  {neutral=0:0}
///     s[i], begun = scan(sum_in_segments, j, a[j], if(flag[j] > 0, 1, 0))
///   with a new scalar `begun`. Within other expressions the scan is a statement of its own.
/// Operations without a neutral element that is known here (minima, maxima and their places) have
/// begun = -1 for a segment without elements.
/// @throws InvalidInput  loopy.realize_reductions.unknown_operation, and what
///                       find_rule_operation throws
[[nodiscard]] KernelParts with_segmented_scans(KernelParts parts);

}  // namespace rtcg::loopy
