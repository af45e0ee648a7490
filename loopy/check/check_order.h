#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels whose lanes and threads would read or write an element earlier or later than the
/// same loops run one after the other: all lanes do a statement before any does the next one.
///
///     for i (ilp): u[i] = x[i]; v[i] = u[i + 1]
///
/// would read a value that the next iteration of a loop sets. Launches follow each other: if a
/// global barrier is within a loop, an axis may replace that loop only if the order of all launches
/// gives the same values. Not checked are kernels with local barriers of the user, kernels whose
/// loops cannot run one after the other, and reads of temporaries before they are set, which
/// check_set_before_read refuses.
/// @param kernel  as check_races takes it
/// @throws InvalidInput  loopy.check_order.carried_value
void check_order(const Kernel& kernel);

}  // namespace rtcg::loopy
