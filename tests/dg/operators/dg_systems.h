#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "rtcg/dg/equations/advection.h"
#include "rtcg/dg/equations/burgers.h"
#include "rtcg/dg/equations/euler.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/equations/wave.h"
#include "tests/dg/mesh/box_examples.h"

// Systems on meshes that several tests use.

namespace rtcg::dg::testing {

/// A system, a mesh for it, and the numbers that it reads.
struct Case {
  std::string name;
  System system;
  BoxOptions box;
  SystemData data{};
};

inline std::vector<std::string> tags(int dimension) {
  return dimension == 1   ? std::vector<std::string>{"-x", "+x"}
         : dimension == 2 ? std::vector<std::string>{"-x", "+x", "-y", "+y"}
                          : std::vector<std::string>{"-x", "+x", "-y", "+y", "-z", "+z"};
}

inline std::size_t box_elements(const BoxOptions& options) {
  return make_box_mesh(options).element_count();
}

/// Ranks of elements for four ranks: in turns, so that all have remote faces; one element, and
/// ranks without elements, the first too.
inline std::vector<std::vector<int>> uneven_parts(std::size_t elements) {
  std::vector<int> in_turns(elements);
  std::vector<int> uneven(elements, 2);
  for (std::size_t i = 0; i < elements; ++i) {
    in_turns[i] = static_cast<int>(i % 4);
  }
  uneven[elements / 2] = 1;
  return {in_turns, uneven};
}

/// Maxwell's equations with everything that a domain may have.
inline Case full_maxwell() {
  MaxwellOptions options;
  options.alpha = parameter("alpha");
  options.has_materials = true;
  options.conductors = {"-x", "+y"};
  options.magnetic_conductors = {"+x"};
  options.absorbers = {"-y", "+z"};
  options.incident["-z"] = parameter("pulse") * boundary_values("wave", 6).on_axes("");
  options.current = {coordinates(3)[1], parameter("pulse") * coordinates(3)[0],
                     material("antenna")};
  Case result{"maxwell", maxwell(options), box(3, 2, 0.2)};
  result.data.parameters["alpha"] = 0.75;
  result.data.signals["pulse"] = [](double time) { return 1 + time; };
  for (const char* name : {"permittivity", "permeability", "antenna"}) {
    std::vector<double>& values = result.data.materials[name];
    for (std::size_t i = 0; i < box_elements(result.box); ++i) {
      values.push_back(1 + 0.25 * static_cast<double>((i + values.size()) % 5));
    }
  }
  result.data.boundary_values["wave"] = [](const Point& x) {
    return std::vector<double>{x[0], x[1], x[2], x[0] * x[1], 1, x[1] * x[1]};
  };
  return result;
}

inline Case plain_maxwell(const FluxExpr& alpha, const BoxOptions& box) {
  MaxwellOptions options;
  options.alpha = alpha;
  options.conductors = tags(3);
  return {"maxwell", maxwell(options), box};
}

inline Case cavity(MaxwellMode mode, double alpha, const BoxOptions& box) {
  MaxwellOptions options;
  options.mode = mode;
  options.alpha = alpha;
  options.conductors = tags(2);
  return {mode == MaxwellMode::transverse_magnetic ? "maxwell_tm" : "maxwell_te", maxwell(options),
          box};
}

/// One of every equation, in every dimension.
inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  cases.push_back(full_maxwell());
  cases.push_back(cavity(MaxwellMode::transverse_magnetic, 1, box(2, 3, 0.2)));
  cases.push_back(cavity(MaxwellMode::transverse_electric, 0.5, box(2, 3, 0.2)));
  for (int dimension = 1; dimension <= 3; ++dimension) {
    WaveOptions options;
    options.dimension = dimension;
    options.speed = parameter("c");
    options.dirichlet = {"-x"};
    options.absorbers = {"+x"};
    if (dimension > 1) {
      options.neumann = tags(dimension);
      options.neumann.erase(options.neumann.begin(), options.neumann.begin() + 2);
    }
    Case wave_case{"wave", wave(options), box(dimension, 3, 0.2)};
    wave_case.data.parameters["c"] = -1.5;
    cases.push_back(wave_case);
  }
  for (const AdvectionFlux flux :
       {AdvectionFlux::upwind, AdvectionFlux::central, AdvectionFlux::lax_friedrichs}) {
    for (const SystemForm form : {SystemForm::strong, SystemForm::weak}) {
      AdvectionOptions options;
      options.velocity = {2, -1};
      options.flux = flux;
      options.form = form;
      for (const std::string& tag : tags(2)) {
        options.boundaries[tag] = coordinates(2)[0] + parameter("time");
      }
      cases.push_back({"advection", advection(options), box(2, 3, 0.2)});
    }
  }
  cases.push_back(
      {"burgers", burgers({{"-x", 1}, {"+x", interior(field(0, "u"))}}), box(1, 5, 0.2)});
  EulerOptions options;
  options.gamma = parameter("gamma");
  Case euler_case{"euler", euler(options), box(2, 3, 0.2, true)};
  euler_case.data.parameters["gamma"] = 1.4;
  cases.push_back(euler_case);
  options.dimension = 3;
  euler_case = {"euler", euler(options), box(3, 3, 0.1, true), euler_case.data};
  cases.push_back(euler_case);
  return cases;
}

/// Random fields around 2 for the first (densities), around 8 for the second (energies), and
/// around 0 for the others.
inline State random_state(std::size_t fields, const Discretization& on, unsigned seed = 7) {
  State state(fields, on);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    const std::size_t field = i / (state.elements * state.nodes);
    state.values[i] = number(random) + (field == 0 ? 2 : field == 1 ? 8 : 0);
  }
  return state;
}

inline double largest(const State& state) {
  double result = 0;
  for (const double value : state.values) {
    result = std::max(result, std::abs(value));
  }
  return result;
}

/// The largest difference, over the largest value of `expected`; infinite when one is no number.
inline double relative_difference(const State& found, const State& expected) {
  double result = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double difference = std::abs(found.values[i] - expected.values[i]);
    result = difference <= result ? result : std::isnan(difference) ? INFINITY : difference;
  }
  return result / largest(expected);
}

}  // namespace rtcg::dg::testing
