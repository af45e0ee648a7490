#pragma once

#include <algorithm>
#include <vector>

#include "rtcg/dg/mesh/box_mesh.h"

// Boxes that several tests use.

namespace rtcg::dg::testing {

inline BoxOptions box(int dimension, int cells, double perturbation = 0, bool is_periodic = false) {
  BoxOptions options;
  options.dimension = dimension;
  options.cells = {cells, cells, cells};
  options.perturbation = perturbation;
  options.periodic = {is_periodic, is_periodic, is_periodic};
  return options;
}

/// Plain, perturbed and periodic ones of every dimension.
inline std::vector<BoxOptions> boxes() {
  std::vector<BoxOptions> all;
  for (int dimension = 1; dimension <= 3; ++dimension) {
    all.push_back(box(dimension, 4));
    all.push_back(box(dimension, 4, 0.2));
    all.push_back(box(dimension, 3, 0.2, true));
  }
  all.push_back({3, {2, 3, 4}, {-1, 0, 0}, {1, 2, 0.5}, {false, true, false}, 0.1, 3});
  return all;
}

}  // namespace rtcg::dg::testing
