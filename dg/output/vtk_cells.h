#pragma once
// Internal header: it is not installed.

#include <array>
#include <vector>

namespace rtcg::dg {

/// The points of VTK's Lagrange curve, triangle or tetrahedron of an order, in
/// VTK's sequence, as places on the regular grid whose coordinates sum to at
/// most `order`: first the vertices, then the inside of edges, of faces, and of
/// the cell.
[[nodiscard]] std::vector<std::array<int, 3>> lagrange_points(int dimension, int order);

/// The order^dimension straight simplices into which that grid cuts the cell,
/// each by the places of its corners in lagrange_points; unused corners are -1.
[[nodiscard]] std::vector<std::array<int, 4>> lagrange_parts(int dimension, int order);

}  // namespace rtcg::dg
