#include "rtcg/dg/flux/interpret_flux.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/dg/flux/flux_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::conductor_state;
using testing::euler_flux;
using testing::maxwell_flux;
using testing::maxwell_inputs;

// a few additions and products of numbers of order ten
constexpr double rounding = 2e-14;

void expect_values(const std::vector<double>& found, const std::vector<double>& expected,
                   double tolerance = rounding) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance) << "component " << i;
  }
}

std::vector<double> evaluate(const FluxVector& flux, const FluxInputs& inputs,
                             const std::optional<FluxVector>& boundary_state = {}) {
  return interpret_flux(make_evaluators(flux, {boundary_state, false}), inputs).interior;
}

TEST(InterpretFlux, MaxwellCentralHalfAndUpwind) {
  const FluxInputs inputs = maxwell_inputs();
  expect_values(evaluate(maxwell_flux(0), inputs),
                {-1. / 6, -4. / 3, -1. / 2, 7. / 6, 1. / 6, -13. / 12});
  expect_values(evaluate(maxwell_flux(0.5), inputs),
                {-1. / 24, -7. / 12, -1. / 4, 23. / 36, 1. / 18, -11. / 18});
  expect_values(evaluate(maxwell_flux(1), inputs),
                {1. / 12, 1. / 6, 0, 1. / 9, -1. / 18, -5. / 36});
}

TEST(InterpretFlux, AParameterIsAsGoodAsAConstant) {
  FluxInputs inputs = maxwell_inputs();
  for (const double alpha : {0.0, 0.3, 1.0}) {
    inputs.parameters["alpha"] = alpha;
    expect_values(evaluate(maxwell_flux(parameter("alpha")), inputs),
                  evaluate(maxwell_flux(alpha), inputs), 1e-15);
  }
}

TEST(InterpretFlux, SinglePrecisionRoundsEveryStep) {
  const Evaluators evaluators = make_evaluators(maxwell_flux(0.5));
  const std::vector<double> found = interpret_flux<float>(evaluators, maxwell_inputs()).interior;
  expect_values(found, interpret_flux(evaluators, maxwell_inputs()).interior, 2e-6);
  for (const double value : found) {
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
  }
}

// materials on both sides, hedge's sign, before the division by them
FluxVector maxwell_with_materials(const FluxExpr& alpha) {
  const FluxVector w = fields(6);
  const FluxVector e = w.slice(0, 3);
  const FluxVector h = w.slice(3, 3);
  const FluxVector n = normal(3);
  const FluxExpr z = sqrt(material("mu") / material("eps"));
  const FluxExpr y = 1 / z;
  return concatenate({-1 / (interior(z) + exterior(z)) *
                          cross(n, exterior(z) * jump(h) - alpha * cross(n, jump(e))),
                      1 / (interior(y) + exterior(y)) *
                          cross(n, exterior(y) * jump(e) + alpha * cross(n, jump(h)))});
}

TEST(InterpretFlux, MaterialsDifferOnBothSides) {
  FluxInputs inputs = maxwell_inputs();
  inputs.materials = {{"eps", {2, 1}}, {"mu", {1, 3}}};
  expect_values(evaluate(maxwell_with_materials(0), inputs),
                {0.236700683814455, 1.89360547051564, 0.710102051443364, -0.67642854663215,
                 -0.0966326495188785, 0.628112221872711});
  inputs.materials = {{"eps", {1, 1}}, {"mu", {1, 1}}};
  for (const double alpha : {0.0, 1.0}) {
    std::vector<double> negated = evaluate(maxwell_flux(alpha), inputs);
    for (double& value : negated) {
      value = -value;
    }
    expect_values(evaluate(maxwell_with_materials(alpha), inputs), negated);
  }
}

TEST(InterpretFlux, BoundaryStates) {
  const FluxInputs inputs = maxwell_inputs();
  const FluxVector pec = conductor_state();
  const FluxVector pmc = -pec;
  expect_values(evaluate(maxwell_flux(0), inputs, pec), {0, 0, 0, 7. / 3, 4. / 3, -5. / 3});
  expect_values(evaluate(maxwell_flux(1), inputs, pec),
                {-1. / 3, 8. / 3, 5. / 3, 7. / 3, 4. / 3, -5. / 3});
  expect_values(evaluate(maxwell_flux(0), inputs, pmc), {-16. / 3, -4. / 3, 14. / 3, 0, 0, 0});
  expect_values(evaluate(maxwell_flux(1), inputs, pmc),
                {-16. / 3, -4. / 3, 14. / 3, 2. / 3, 20. / 3, 8. / 3});
}

TEST(InterpretFlux, AbsorbingBoundaryLetsAnOutgoingWaveOut) {
  FluxInputs inputs = maxwell_inputs();
  // e = n x (1, 0, 0), h = n x e
  inputs.interior = {0, 2. / 3, 1. / 3, -5. / 9, -2. / 9, 4. / 9};
  const FluxVector state = testing::absorbing_state();
  expect_values(evaluate(maxwell_flux(1), inputs, state), {0, 0, 0, 0, 0, 0}, 1e-15);
  expect_values(evaluate(state, inputs), inputs.interior, 1e-15);
}

TEST(InterpretFlux, TransverseMagneticModeIsTheSameDefinition) {
  const FluxVector w = fields(3);
  const FluxVector e = w.slice(0, 1).on_axes("z");
  const FluxVector h = w.slice(1, 2);
  const FluxVector n = normal(2);
  const auto flux = [&](double alpha) {
    return concatenate({0.5 * cross(n, jump(h) - alpha * cross(n, jump(e))),
                        -0.5 * cross(n, jump(e) + alpha * cross(n, jump(h)))});
  };
  FluxInputs inputs;
  inputs.normal = {0.6, 0.8};
  inputs.interior = {1.5, 0.25, -0.75};
  inputs.exterior = {-0.5, 1, 2};
  // the reference gives hedge's sign
  expect_values(evaluate(-flux(0), inputs), {0.525, 0.8, -0.6});
  const FluxVector three = maxwell_flux(1);
  FluxInputs full;
  full.normal = {0.6, 0.8, 0};
  full.interior = {0, 0, 1.5, 0.25, -0.75, 0};
  full.exterior = {0, 0, -0.5, 1, 2, 0};
  const std::vector<double> in_space = evaluate(three, full);
  expect_values(evaluate(flux(1), inputs), {in_space[2], in_space[3], in_space[4]});
  EXPECT_EQ(reads(make_evaluators(flux(1))).size(), 6U + 2U);
}

TEST(InterpretFlux, AdvectionCentralUpwindAndLaxFriedrichs) {
  const FluxExpr u = field(0, "u");
  const FluxVector n = normal(2);
  const FluxVector v = {2, -3};
  const FluxExpr through = dot(n, v);
  const FluxVector weak = {through * average(u),
                           through * if_positive(through, interior(u), exterior(u)),
                           through * average(u) + 0.5 * norm(v) * jump(u)};
  const FluxVector strong = through * interior(FluxVector({u, u, u})) - weak;
  FluxInputs inputs;
  inputs.interior = {1.25};
  inputs.exterior = {-0.5};
  inputs.normal = {0.6, 0.8};
  expect_values(evaluate(strong, inputs), {-1.05, -2.1, -4.20485736603099});
  inputs.normal = {-0.6, -0.8};
  EXPECT_NEAR(evaluate(strong, inputs)[0], 1.05, rounding);
  EXPECT_NEAR(evaluate(strong, inputs)[1], 0, rounding);
  EXPECT_NEAR(evaluate(weak, inputs)[1], 1.5, rounding);
}

TEST(InterpretFlux, BurgersLaxFriedrichs) {
  const FluxExpr u = field(0, "u");
  const FluxExpr n = normal(1)[0];
  const FluxVector flux = {n * average(u * u / 2) +
                           max(abs(interior(u)), abs(exterior(u))) / 2 * jump(u)};
  FluxInputs inputs;
  inputs.interior = {1.5};
  inputs.exterior = {-0.5};
  inputs.normal = {1};
  expect_values(evaluate(flux, inputs), {2.125});
  inputs.normal = {-1};
  expect_values(evaluate(flux, inputs), {0.875});
}

TEST(InterpretFlux, EulerPressureAndSpeed) {
  const FluxVector q = fields(4, "q");
  const FluxVector m = q.slice(2, 2);
  const FluxExpr p = 0.4 * (q[1] - 0.5 * dot(m, m) / q[0]);
  const FluxExpr speed = norm(m) / q[0] + sqrt(1.4 * p / q[0]);
  FluxInputs inputs;
  inputs.interior = {1, 2.5, 0.3, -0.1};
  inputs.exterior = {0.8, 2, -0.2, 0.4};
  inputs.normal = {0.6, 0.8};
  expect_values(evaluate({interior(p), exterior(p), interior(speed), exterior(speed)}, inputs),
                {0.98, 0.75, 1.48755180316454, 1.70466091811391});
  // consistency: with one state on both sides the flux is the physical one through the face
  inputs.exterior = inputs.interior;
  const double through = 0.6 * 0.3 - 0.8 * 0.1;
  expect_values(
      evaluate(euler_flux(1.4), inputs),
      {through, (2.5 + 0.98) * through, 0.3 * through + 0.98 * 0.6, -0.1 * through + 0.98 * 0.8});
}

TEST(InterpretFlux, PenaltyOfOrderAndMeshSize) {
  const FluxExpr u = field(0, "u");
  const FluxVector gradient = fields(2, "g", 1);
  const FluxVector n = normal(2);
  FluxInputs inputs;
  inputs.interior = {1.25, 1, 2};
  inputs.exterior = {-0.5, -0.5, 3};
  inputs.normal = {0.6, 0.8};
  inputs.order = 4;
  inputs.mesh_size = 0.25;
  expect_values(
      evaluate({penalty(), dot(n, average(gradient) - penalty() * (jump(u) * n)), penalty(2)},
               inputs),
      {64, -109.85, 4096});
}

TEST(InterpretFlux, NeighbourGetsTheFlippedFlux) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0.5, 1.5);
  const Evaluators both = make_evaluators(euler_flux(1.4), {{}, true});
  for (int i = 0; i < 100; ++i) {
    FluxInputs inputs;
    inputs.interior = {number(random), 3 * number(random), number(random), -number(random)};
    inputs.exterior = {number(random), 3 * number(random), -number(random), number(random)};
    inputs.normal = {0.6, 0.8};
    const FluxValues values = interpret_flux(both, inputs);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(values.interior[c], -values.neighbour[c], 1e-13);
    }
  }
}

// Linear fluxes of both sides' states times a number are as many times as large; so are Euler's,
// which are homogeneous though not linear.
TEST(InterpretFlux, ScalesWithTheState) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(0.5, 1.5);
  const FluxVector linear = maxwell_flux(0.7);
  ASSERT_TRUE(is_linear(linear));
  for (int i = 0; i < 100; ++i) {
    for (const FluxVector& flux : {linear, euler_flux(1.4)}) {
      const std::size_t count = flux.count();
      FluxInputs inputs;
      inputs.normal = {2. / 3, -1. / 3, 2. / 3};
      for (std::size_t field = 0; field < count; ++field) {
        const double size = field == 1 ? 4 : 1;  // an energy that leaves some pressure
        inputs.interior.push_back(size * number(random));
        inputs.exterior.push_back(size * number(random));
      }
      FluxInputs tripled = inputs;
      for (std::vector<double>* side : {&tripled.interior, &tripled.exterior}) {
        for (double& value : *side) {
          value *= 3;
        }
      }
      std::vector<double> expected = evaluate(flux, inputs);
      for (double& value : expected) {
        value *= 3;
      }
      expect_values(evaluate(flux, tripled), expected, 1e-13);
    }
  }
}

TEST(InterpretFlux, UserFunctions) {
  const FluxExpr u = field(0, "u");
  FluxInputs inputs;
  inputs.interior = {2};
  inputs.functions["minmod"] = [](const std::vector<double>& a) { return a[0] * a[1]; };
  expect_values(evaluate({1 + user_function("minmod", {interior(u), 3})}, inputs), {7});
  EXPECT_ERROR("dg.interpret_flux.missing",
               evaluate({user_function("superbee", {interior(u)})}, inputs));
}

TEST(InterpretFlux, NamesWhatIsMissing) {
  EXPECT_ERROR("dg.interpret_flux.missing", evaluate({parameter("alpha")}, {}));
  EXPECT_ERROR("dg.interpret_flux.missing", evaluate({exterior(field(3, "u"))}, {}));
  EXPECT_ERROR("dg.interpret_flux.missing", evaluate({interior(material("eps"))}, {}));
  FluxInputs leaves;
  leaves.coordinates = {1, 2};
  leaves.boundary_values["g"] = {0, 5};
  leaves.face_jacobian = 3;
  leaves.element_jacobian = {7, 11};
  expect_values(evaluate({coordinate(1), boundary_value("g", 1), face_jacobian(),
                          jump(element_jacobian()), min(order(), -1.0), pow(face_jacobian(), 1.5)},
                         leaves),
                {2, 5, 3, -4, -1, 3 * std::sqrt(3.0)});
}

}  // namespace
}  // namespace rtcg::dg
