#include "rtcg/dg/operators/linear_volume.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/system_evaluators.h"
#include "tests/dg/operators/dg_systems.h"

namespace rtcg::dg::detail {
namespace {

Evaluators contravariant(const System& system) {
  BoxOptions box;
  box.dimension = system.dimension;
  return evaluators_of(system, make_box_mesh(box)).contravariant_flux;
}

System with_flux(const std::vector<FluxExpr>& components) {
  System system;
  system.dimension = 1;
  for (std::size_t i = 0; i < components.size(); ++i) {
    system.fields.push_back("u" + std::to_string(i));
  }
  system.flux = {FluxVector(components, "")};
  std::vector<FluxExpr> jumps(components.size(), jump(field(0, "u")));
  system.surface = FluxVector(std::move(jumps), "");
  return system;
}

TEST(LinearVolume, NamesWhatEachFieldOfMaxwellsEquationsReads) {
  const auto linear = linear_volume(contravariant(maxwell({})));
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->terms, 2);
  EXPECT_EQ(linear->reads,
            (std::vector<std::vector<int>>{{4, 5}, {3, 5}, {3, 4}, {1, 2}, {0, 2}, {0, 1}}));
  EXPECT_EQ(linear->weights.outputs.size(), 12U);
}

// Whatever the values, the sum of weights times values is the flux.
TEST(LinearVolume, AddsUpToTheFlux) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  int linear_systems = 0;
  for (const dg::testing::Case& each : dg::testing::all_cases()) {
    const Evaluators flux = contravariant(each.system);
    const auto linear = linear_volume(flux);
    if (!linear) {
      EXPECT_TRUE(each.name == "burgers" || each.name == "euler") << each.name;
      continue;
    }
    ++linear_systems;
    FluxInputs inputs;
    inputs.parameters = parameters_at(each.data, 0.25);
    for (int axis = 0; axis < each.system.dimension; ++axis) {
      inputs.parameters[metric_parameter(static_cast<std::size_t>(axis))] = number(random);
    }
    for (const auto& [name, values] : each.data.materials) {
      inputs.materials[name] = {values[0], values[0]};
    }
    for (std::size_t field = 0; field < each.system.fields.size(); ++field) {
      inputs.interior.push_back(number(random));
    }
    const std::vector<double> expected = interpret_flux(flux, inputs).interior;
    const std::vector<double> weights = interpret_flux(linear->weights, inputs).interior;
    const auto terms = static_cast<std::size_t>(linear->terms);
    for (std::size_t field = 0; field < expected.size(); ++field) {
      double sum = 0;
      for (std::size_t term = 0; term < terms; ++term) {
        const std::vector<int>& reads = linear->reads[field];
        const double weight = weights[field * terms + term];
        sum += term < reads.size() ? weight * inputs.interior[static_cast<std::size_t>(reads[term])]
                                   : weight;
      }
      EXPECT_NEAR(sum, expected[field], 1e-14) << each.name;
    }
  }
  EXPECT_GE(linear_systems, 8);
}

TEST(LinearVolume, FollowsAllOperationsOnConstants) {
  const FluxExpr c = parameter("c");
  const FluxExpr u = field(0, "u");
  const FluxExpr positive = if_positive(c, sqrt(abs(c)), pow(c, 2.5));
  const auto linear =
      linear_volume(contravariant(with_flux({-u * max(c, 2) / min(c, 0.5) + positive * u - u})));
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->reads, (std::vector<std::vector<int>>{{0}}));
  FluxInputs inputs;
  inputs.parameters = {{"c", 4.0}, {metric_parameter(0), 1.0}};
  EXPECT_NEAR(interpret_flux(linear->weights, inputs).interior.at(0), -8 + 2 - 1, 1e-14);
}

TEST(LinearVolume, IsThereForLinearFluxesWithoutCoordinatesOnly) {
  const FluxExpr u = field(0, "u");
  const FluxExpr v = field(1, "v");
  EXPECT_FALSE(linear_volume(contravariant(with_flux({u * u}))).has_value());
  EXPECT_FALSE(linear_volume(contravariant(with_flux({1 / u}))).has_value());
  EXPECT_FALSE(linear_volume(contravariant(with_flux({abs(u)}))).has_value());
  EXPECT_FALSE(linear_volume(contravariant(with_flux({u + 1}))).has_value());
  EXPECT_FALSE(linear_volume(contravariant(with_flux({coordinate(0) * u}))).has_value());
  const auto crossed = linear_volume(contravariant(with_flux({u + v - u, 2 * u})));
  ASSERT_TRUE(crossed.has_value());
  EXPECT_EQ(crossed->reads, (std::vector<std::vector<int>>{{1}, {0}}));
}

}  // namespace
}  // namespace rtcg::dg::detail
