#pragma once

#include <random>

#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/operators/solver.h"

// Maxwell's equations in a cube of conductors, which the benches of dg measure.

namespace rtcg::bench {

[[nodiscard]] inline dg::System cavity() {
  dg::MaxwellOptions options;
  options.conductors = {"-x", "+x", "-y", "+y", "-z", "+z"};
  return dg::maxwell(options);
}

[[nodiscard]] inline dg::Discretization cube(int cells, int order) {
  dg::BoxOptions box;
  box.cells = {cells, cells, cells};
  return dg::discretize(dg::ordered_along_curve(dg::make_box_mesh(box)), order);
}

[[nodiscard]] inline dg::State random_state(const dg::Discretization& on) {
  dg::State state(6, on);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  for (double& value : state.values) {
    value = number(random);
  }
  return state;
}

}  // namespace rtcg::bench
