#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace rtcg::dg {

/// A dense matrix, row-major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values{};

  [[nodiscard]] double operator()(std::size_t row, std::size_t column) const {
    return values[row * columns + column];
  }
  [[nodiscard]] double& operator()(std::size_t row, std::size_t column) {
    return values[row * columns + column];
  }
};

/// A point of a reference element; coordinates beyond the dimension are 0.
using ReferencePoint = std::array<double, 3>;

inline constexpr int highest_order = 9;

/// The reference simplex with the nodes of one polynomial order, and all matrices that nodal
/// discontinuous Galerkin methods need on it.
///
/// Dimension 1: [-1, 1]. Dimension 2: the triangle (-1,-1), (1,-1), (-1,1). Dimension 3: the
/// tetrahedron (-1,-1,-1), (1,-1,-1), (-1,1,-1), (-1,-1,1). Nodes run fastest in r, slowest in the
/// last coordinate. Faces of an interval are its vertices 0 and 1; those of a triangle have the
/// vertices (0,1), (1,2), (0,2); those of a tetrahedron on (0,1,2), (0,1,3), (1,2,3), (0,2,3).
struct ReferenceElement {
  int dimension = 1;
  int order = 1;
  std::vector<ReferencePoint> nodes{};  ///< warped and blended: edges carry Gauss-Lobatto nodes

  /// For each face the nodes on it, as many on all, in ascending order.
  std::vector<std::vector<int>> face_nodes{};

  Matrix vandermonde{};               ///< [node, mode]: orthonormal modes at the nodes
  Matrix inverse_vandermonde{};       ///< [mode, node]
  std::vector<Matrix> derivatives{};  ///< by r, s, t: [node, node]
  Matrix mass{};                      ///< [node, node]
  Matrix inverse_mass{};
  /// [node, face * nodes of a face]: integrals over faces of nodal values there.
  Matrix face_mass{};
  Matrix lift{};  ///< inverse_mass * face_mass

  [[nodiscard]] std::size_t node_count() const noexcept { return nodes.size(); }
  [[nodiscard]] std::size_t face_count() const noexcept { return face_nodes.size(); }
  [[nodiscard]] std::size_t nodes_of_face() const noexcept { return face_nodes[0].size(); }
};

/// @param dimension  1, 2 or 3
/// @param order      1 to highest_order
/// @throws InvalidInput  dg.make_reference_element.bad_dimension,
///                       dg.make_reference_element.bad_order
/// @source Hesthaven and Warburton 2008; Warburton 2006, An explicit construction of interpolation
///         nodes on the simplex
[[nodiscard]] ReferenceElement make_reference_element(int dimension, int order);

/// The vertices of each face, as ReferenceElement numbers them.
[[nodiscard]] const std::vector<std::vector<int>>& face_vertices(int dimension);

/// Matrix from nodal values to values at any points: [point, node].
[[nodiscard]] Matrix interpolation_matrix(const ReferenceElement& element,
                                          const std::vector<ReferencePoint>& points);

/// All orders of the vertices of a face, in lexicographic order: 1, 2 or 6 of them. Order p puts
/// vertex i of one face on vertex p[i] of the other.
[[nodiscard]] const std::vector<std::vector<int>>& face_permutations(int dimension);

/// For each of face_permutations, for each node of a face, the place of the node of the other face
/// that it meets. One list serves every pair of faces.
[[nodiscard]] std::vector<std::vector<int>> face_node_permutations(const ReferenceElement& element);

}  // namespace rtcg::dg
