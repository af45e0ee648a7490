#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// The kernel with an order of the elements for each reduction by a rule that gives something else
/// where its sides are exchanged: that of its inames, the first one outermost. Orders that are
/// stated are checked and kept.
/// @throws InvalidInput  loopy.in_order.operation, loopy.in_order.scan, loopy.in_order.place,
///                       loopy.in_order.values
[[nodiscard]] Kernel with_ordered_reductions(Kernel kernel);

}  // namespace rtcg::loopy::detail
