#pragma once

#include <vector>

#include "rtcg/dg/mesh/mesh.h"
#include "rtcg/dg/reference/reference_element.h"

namespace rtcg::dg {

/// How the reference element is mapped to each element, which is by an affine map.
struct GeometricFactors {
  std::size_t dimension = 0;
  std::size_t faces = 0;
  std::vector<double> jacobian{};  ///< [element]: volume over that of the reference element
  /// [element * dimension^2 + j * dimension + i]: the derivative of reference coordinate j by x_i.
  std::vector<double> metric{};
  /// [(element * faces + face) * dimension + i]: unit normals that point outward.
  std::vector<double> normals{};
  /// [element * faces + face]: face Jacobian over volume Jacobian.
  std::vector<double> face_scale{};

  /// Area of a face over that of the reference face.
  [[nodiscard]] double face_jacobian(std::size_t element, std::size_t face) const {
    return face_scale[element * faces + face] * jacobian[element];
  }
};

/// @throws InvalidInput  dg.find_geometric_factors.degenerate: an element whose volume is not
///                       positive, not finite or denormal, or whose least height is less than
///                       1e-10 of its longest edge
[[nodiscard]] GeometricFactors find_geometric_factors(const Mesh& mesh);

/// The size of the smallest element as time steps need it: 2 over the largest face_scale.
[[nodiscard]] double smallest_size(const GeometricFactors& factors);

/// [(axis * elements + element) * nodes + node]: the nodes of all elements.
[[nodiscard]] std::vector<double> node_coordinates(const Mesh& mesh,
                                                   const ReferenceElement& element);

}  // namespace rtcg::dg
