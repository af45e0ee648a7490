#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// States an order of loops, the outermost first, for the statements that are within several of
/// them. Called more than once, all orders hold.
///
/// Rewrites
///     for i: for j: S(i, j)
///   with the order j, i into
///     for j: for i: S(i, j)
///
/// Refused where iterations that touch one element, one of them writing, would change places;
/// sums and products that a statement carries on may. If the loops cannot be nested yet, this is
/// not known, and the order is accepted.
/// @throws InvalidInput  loopy.prioritize_loops.unknown_iname, loopy.prioritize_loops.circle,
///                       loopy.prioritize_loops.carried_value
/// @source Loo.py `prioritize_loops`
[[nodiscard]] Kernel prioritize_loops(Kernel kernel, const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
