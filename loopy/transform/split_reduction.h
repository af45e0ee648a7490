#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes an inner reduction over some of the inames of each reduction that has them and others.
///
/// Rewrites
///     sum((i, j), e)
///   with j into
///     sum(i, sum(j, e))
///
/// Floating-point sums are taken in another order.
/// @throws InvalidInput  loopy.split_reduction_inward.unknown_iname,
///                       loopy.split_reduction_inward.no_reduction,
///                       loopy.split_reduction_inward.order: what an inner reduction combines are
///                       no neighbours in the order of the reduction
/// @source Loo.py `split_reduction_inward`
[[nodiscard]] Kernel split_reduction_inward(Kernel kernel, const std::vector<std::string>& inames);

/// Makes an outer reduction over some of the inames of each reduction that has them and others.
///
/// Rewrites
///     sum((i, j), e)
///   with j into
///     sum(j, sum(i, e))
///
/// Floating-point sums are taken in another order.
/// @throws InvalidInput  loopy.split_reduction_outward.unknown_iname,
///                       loopy.split_reduction_outward.no_reduction,
///                       loopy.split_reduction_outward.order: what an inner reduction combines are
///                       no neighbours in the order of the reduction
/// @source Loo.py `split_reduction_outward`
[[nodiscard]] Kernel split_reduction_outward(Kernel kernel, const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
