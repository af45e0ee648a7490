#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels whose lanes and threads would read or write an element earlier or later than the
/// same loops run one after the other: all lanes do a statement before any does the next one.
///
///     for i (ilp): u[i] = x[i]; v[i] = u[i + 1]
///
/// would hand on what the next iteration of a loop sets. Launches follow each other: where a global
/// barrier stands within a loop, an axis may stand for that loop only if the order of all launches
/// is as good. Kernels with local barriers of the user's, where threads are meant to meet, and
/// those whose loops cannot run one after the other are not asked about; nor are values of
/// temporaries from before they are set.
/// @param kernel  as check_races takes it
/// @throws InvalidInput  loopy.check_order.carried_value
void check_order(const Kernel& kernel);

}  // namespace rtcg::loopy
