#pragma once
// Internal header: it is not installed.

#include <array>
#include <vector>

namespace rtcg::dg {

/// The warp & blend nodes of an order on the reference simplex; on edges they are Gauss-Lobatto
/// nodes. r runs fastest.
///
/// @source Warburton 2006; Hesthaven and Warburton 2008, ch. 6.1 and 10.1
[[nodiscard]] std::vector<std::array<double, 3>> warp_blend_nodes(int dimension, int order);

/// The nodes of a regular grid, in the same order.
[[nodiscard]] std::vector<std::array<double, 3>> equispaced_nodes(int dimension, int order);

}  // namespace rtcg::dg
