#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Which loops go through the elements of an ordered reduction in their order, see in_order.h.

namespace rtcg::loopy {

/// The inames of an ordered reduction from the outermost to the innermost, such that what each one
/// combines are neighbours and come in ascending order: loops over these inames go through the
/// elements in order. Nothing where that is not known of any such nest.
///
/// With `in_order(8*j_outer + j_inner)` these are j_outer and j_inner where j_inner < 8.
/// @param preferred  the inames of the reduction: earlier ones are outside where either may be
[[nodiscard]] std::optional<std::vector<std::string>> levels_in_order(
    const Kernel& kernel, const Reduction& reduction, const std::vector<std::string>& preferred);

/// `outer` from the outermost to the innermost, where loops over them are outside of those over the
/// other inames of the reduction in such a nest: elements with equal values of `outer` are
/// neighbours. Otherwise nothing.
[[nodiscard]] std::optional<std::vector<std::string>> outermost_levels(
    const Kernel& kernel, const Reduction& reduction, const std::vector<std::string>& outer);

}  // namespace rtcg::loopy
