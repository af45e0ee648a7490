#include "rtcg/dg/equations/wave.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/solver.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg {
namespace {

using testing::Case;

// Waves in a box of many materials, with every kind of boundary.
Case patchwork(double alpha, bool has_absorbers) {
  WaveOptions options;
  options.dimension = 3;
  options.alpha = alpha;
  options.has_materials = true;
  options.dirichlet = {"-x", "+x"};
  options.neumann = {"-y", "+y"};
  for (const char* tag : {"-z", "+z"}) {
    (has_absorbers ? options.absorbers : options.dirichlet).emplace_back(tag);
  }
  Case result{"wave", wave(options), testing::box(3, 2, 0.2)};
  for (std::size_t i = 0; i < testing::box_elements(result.box); ++i) {
    result.data.materials["bulk_modulus"].push_back(i % 3 == 0 ? 4 : 1);
    result.data.materials["density"].push_back(i % 2 == 0 ? 2 : 0.5);
  }
  return result;
}

TEST(Wave, OfOneMaterialIsTheSameWithMaterials) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  WaveOptions options;
  const System plain = wave(options);
  options.has_materials = true;
  const System general = wave(options);
  for (int i = 0; i < 100; ++i) {
    FluxInputs inputs;
    inputs.normal = {0.6, 0.8};
    for (int field = 0; field < 3; ++field) {
      inputs.interior.push_back(number(random));
      inputs.exterior.push_back(number(random));
    }
    inputs.materials = {{"bulk_modulus", {1, 1}}, {"density", {1, 1}}};
    const auto expected = interpret_flux(make_evaluators(plain.surface), inputs).interior;
    const auto found = interpret_flux(make_evaluators(general.surface), inputs).interior;
    for (std::size_t field = 0; field < 3; ++field) {
      EXPECT_NEAR(found[field], expected[field], 1e-15);
    }
  }
}

TEST(Wave, GivesTheReferenceRightHandSideWithMaterials) {
  const Case each = patchwork(0.75, true);
  const auto on = std::make_shared<const Discretization>(discretize(make_box_mesh(each.box), 2));
  const State state = testing::random_state(4, *on);
  const State expected = reference_right_hand_side(each.system, *on, each.data, state);
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (const Strategy strategy : {Strategy::split, Strategy::fused}) {
      if (!device.info().has_f64) {
        continue;
      }
      SCOPED_TRACE(device.info().name);
      Solver solver(each.system, on, each.data, {device, Precision::double_, strategy});
      solver.set_state(state);
      EXPECT_LT(testing::relative_difference(solver.right_hand_side(), expected), 1e-12);
    }
  }
}

// Of the energy u^2 / bulk_modulus + density v^2 the central flux keeps all.
TEST(Wave, KeepsOrLosesEnergyAcrossMaterials) {
  for (const double alpha : {0.0, 1.0}) {
    for (const bool has_absorbers : {false, true}) {
      const Case each = patchwork(alpha, has_absorbers);
      const Discretization on = discretize(make_box_mesh(each.box), 3);
      const State state = testing::random_state(4, on);
      const State rate = reference_right_hand_side(each.system, on, each.data, state);
      State more = state;
      State less = state;
      for (std::size_t i = 0; i < state.values.size(); ++i) {
        more.values[i] += 1e-3 * rate.values[i];
        less.values[i] -= 1e-3 * rate.values[i];
      }
      const double size = energy(each.system, on, each.data, state);
      const double change =
          energy(each.system, on, each.data, more) - energy(each.system, on, each.data, less);
      if (alpha == 0 && !has_absorbers) {
        EXPECT_LT(std::abs(change), 1e-12 * size);
      } else {
        EXPECT_LT(change, -1e-5 * size);
      }
    }
  }
}

// The lowest mode along x of two layers, of which the right one yields four times as much: sines of
// k x and 2 k (1 - x) that meet where tan(k / 2) = sqrt(2).
std::vector<double> layered_mode(double x, bool is_left, double t) {
  const double k = 2 * std::atan(std::sqrt(2.0));
  const double right = std::sin(k / 2) / std::sin(k);
  const double u = is_left ? std::sin(k * x) : right * std::sin(2 * k * (1 - x));
  const double slope = is_left ? k * std::cos(k * x) : -2 * k * right * std::cos(2 * k * (1 - x));
  return {u * std::cos(k * t), slope * std::sin(k * t) / k, 0};
}

TEST(Wave, ConvergesAcrossALayer) {
  WaveOptions options;
  options.has_materials = true;
  options.dirichlet = {"-x", "+x"};
  options.neumann = {"-y", "+y"};
  const System system = wave(options);
  for (int order = 1; order <= 3; ++order) {
    std::vector<double> errors;
    for (const int cells : {4, 8}) {
      const auto on = std::make_shared<const Discretization>(
          discretize(make_box_mesh(testing::box(2, cells)), order));
      const std::vector<double> x = node_coordinates(on->mesh, on->element);
      SystemData data;
      State start(3, *on);
      State end(3, *on);
      for (std::size_t element = 0; element < on->element_count(); ++element) {
        double sum = 0;
        for (std::size_t node = 0; node < on->node_count(); ++node) {
          sum += x[element * on->node_count() + node];
        }
        // the state at the interface is that of the element's own side
        const bool is_left = sum < 0.5 * static_cast<double>(on->node_count());
        data.materials["bulk_modulus"].push_back(is_left ? 1 : 0.25);
        data.materials["density"].push_back(1);
        for (std::size_t node = 0; node < on->node_count(); ++node) {
          const double at = x[element * on->node_count() + node];
          for (std::size_t field = 0; field < 3; ++field) {
            start.at(field, element, node) = layered_mode(at, is_left, 0)[field];
            end.at(field, element, node) = layered_mode(at, is_left, 0.7)[field];
          }
        }
      }
      Solver solver(system, on, data, {runtime::Device::host()});
      solver.set_state(start);
      solver.run_until(0.7);
      errors.push_back(l2_distance(*on, solver.state(), end));
    }
    EXPECT_GT(std::log2(errors[0] / errors[1]), order + 0.7) << errors[0] << " " << errors[1];
  }
}

}  // namespace
}  // namespace rtcg::dg
