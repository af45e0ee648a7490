#pragma once

#include <cstdint>

#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

struct BoxOptions {
  int dimension = 3;
  std::array<int, 3> cells = {1, 1, 1};  ///< along each axis
  Point lower = {0, 0, 0};
  Point upper = {1, 1, 1};
  std::array<bool, 3> periodic = {false, false, false};
  /// How far, in cells, interior vertices are moved at random along each axis at most; below 0.5.
  double perturbation = 0;
  std::uint64_t seed = 1;  ///< of the perturbation
};

/// An interval, a rectangle or a box, cut into cells and each cell into 1, 2 or 6 simplices along
/// the ways from its lowest to its highest corner (Kuhn's triangulation). The boundary tags are
/// `-x`, `+x`, `-y`, ..., without those of periodic axes.
///
/// @throws InvalidInput  dg.make_box_mesh.bad_dimension, dg.make_box_mesh.bad_cells: none along an
///                       axis, fewer than three along a periodic one, or more than can be numbered;
///                       dg.make_box_mesh.bad_extent, dg.make_box_mesh.bad_perturbation
[[nodiscard]] Mesh make_box_mesh(const BoxOptions& options);

}  // namespace rtcg::dg
