#include "rtcg/dg/flux/evaluators.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/dg/equations/advection.h"
#include "rtcg/dg/equations/burgers.h"
#include "rtcg/dg/equations/euler.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/equations/poisson.h"
#include "rtcg/dg/equations/wave.h"
#include "rtcg/dg/flux/interpret_flux.h"
#include "rtcg/dg/flux/print_evaluators.h"
#include "tests/dg/flux/flux_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::conductor_state;
using testing::maxwell_flux;

std::string printed(const FluxVector& flux, const EvaluatorOptions& options = {}) {
  std::string text;
  for (const FluxAssignment& each : print_evaluators(make_evaluators(flux, options))) {
    text += each.name + " = " + each.value + "\n";
  }
  return text;
}

bool reads_exterior(const Evaluators& evaluators) {
  const std::vector<FluxRead> all = reads(evaluators);
  return std::any_of(all.begin(), all.end(),
                     [](const FluxRead& read) { return read.side == FluxSide::exterior; });
}

const FluxExpr u = field(0, "u");
const FluxExpr v = field(1, "v");
const FluxExpr a = parameter("a");
const FluxExpr n = normal(1)[0];

TEST(Evaluators, MaxwellTakesSixtyFlops) {
  EXPECT_EQ(count_flops(make_evaluators(maxwell_flux(parameter("alpha")))), 60);
  EXPECT_EQ(count_flops(make_evaluators(maxwell_flux(1))), 54);
  EXPECT_EQ(count_flops(make_evaluators(maxwell_flux(0))), 30);
  EXPECT_EQ(reads(make_evaluators(maxwell_flux(1))).size(), 15U);
}

TEST(Evaluators, BothSidesShareWhatTheyCan) {
  EXPECT_EQ(count_flops(make_evaluators(maxwell_flux(0), {{}, true})), 30);
  EXPECT_EQ(count_flops(make_evaluators(maxwell_flux(1), {{}, true})), 66);
}

TEST(Evaluators, EachJumpStandsOnce) {
  const Evaluators evaluators = make_evaluators(maxwell_flux(parameter("alpha")));
  const auto jumps =
      std::count_if(evaluators.steps.begin(), evaluators.steps.end(), [&](const Step& step) {
        return step.kind == StepKind::subtract &&
               evaluators.steps[static_cast<std::size_t>(step.operands[0])].kind == StepKind::read;
      });
  EXPECT_EQ(jumps, 6);
}

TEST(Evaluators, JumpsMoveInwardOverLinearParts) {
  EXPECT_EQ(printed({jump(a * u - 2 * v / a)}),
            "flux0 = a*(u_interior - u_exterior) - 2.0*((v_interior - v_exterior)/a)\n");
  EXPECT_EQ(printed({average(-u)}), "flux0 = -0.5*(u_interior + u_exterior)\n");
  EXPECT_EQ(printed({jump(u * u)}), "flux0 = u_interior*u_interior - u_exterior*u_exterior\n");
  EXPECT_EQ(printed({jump(a)}), "flux0 = 0.0\n");
}

TEST(Evaluators, FindsJumpsScatteredInASum) {
  EXPECT_EQ(printed({interior(u) - a * jump(v) - exterior(u), jump(u)}),
            "t0 = u_interior - u_exterior\n"
            "flux0 = t0 - a*(v_interior - v_exterior)\n"
            "flux1 = t0\n");
  EXPECT_EQ(printed({a * interior(u) + n - a * exterior(u)}),
            "flux0 = n_0 + a*(u_interior - u_exterior)\n");
}

TEST(Evaluators, FoldsConstants) {
  EXPECT_EQ(printed({0 * interior(u) + 1 * a + 0}), "flux0 = a\n");
  EXPECT_EQ(printed({interior(u) - interior(u)}), "flux0 = 0.0\n");
  EXPECT_EQ(printed({2 * (3 * a) / 4}), "flux0 = 1.5*a\n");
  EXPECT_EQ(printed({sqrt(FluxExpr(16)) * a, abs(FluxExpr(-2)), min(3, 4), max(3, 4), pow(2, 5)}),
            "flux0 = 4.0*a\nflux1 = 2.0\nflux2 = 3.0\nflux3 = 4.0\nflux4 = 32.0\n");
  EXPECT_EQ(printed({if_positive(1, a, n), if_positive(-1, a, n), if_positive(n, a, a)}),
            "flux0 = a\nflux1 = n_0\nflux2 = a\n");
  EXPECT_EQ(printed({a / a, 0 / a, a + a, a - (-a)}),
            "t0 = 2.0*a\nflux0 = 1.0\nflux1 = 0.0\nflux2 = t0\nflux3 = t0\n");
}

TEST(Evaluators, MultipliesOutSmallPowers) {
  EXPECT_EQ(printed({pow(a, 3), pow(a, -1), pow(a, 0.5), pow(a, 0), pow(a, 1.4), pow(a, n)}),
            "flux0 = a*(a*a)\nflux1 = 1.0/a\nflux2 = sqrt(a)\nflux3 = 1.0\nflux4 = pow(a, 1.4)\n"
            "flux5 = pow(a, n_0)\n");
}

TEST(Evaluators, MovesSignsOutward) {
  EXPECT_EQ(printed({(-a) * n, (-a) / n, abs(-a), max(-a, -n), n - a, a - n}),
            "t0 = n_0 - a\nflux0 = -(a*n_0)\nflux1 = -(a/n_0)\nflux2 = abs(a)\n"
            "flux3 = -min(a, n_0)\nflux4 = t0\nflux5 = -t0\n");
  EXPECT_EQ(printed({if_positive(-2 * a, -a, -n)}), "flux0 = -if(-a > 0.0, a, n_0)\n");
}

TEST(Evaluators, OrderOfOperandsDoesNotMatter) {
  EXPECT_EQ(count_flops(make_evaluators({a + n, n + a, a * n, n * a, min(a, n), min(n, a)})), 3);
}

TEST(Evaluators, DoesNotReadWhatNoOutputNeeds) {
  const Evaluators evaluators = make_evaluators({jump(u) + 0 * jump(v)});
  EXPECT_EQ(reads(evaluators).size(), 2U);
}

TEST(Evaluators, BoundaryStatesReadNoExterior) {
  const FluxVector w = fields(6);
  const FluxVector e = interior(w.slice(0, 3));
  const FluxVector h = interior(w.slice(3, 3));
  for (const FluxVector& state :
       {conductor_state(), -conductor_state(), testing::absorbing_state()}) {
    const Evaluators evaluators = make_evaluators(maxwell_flux(parameter("alpha")), {state, false});
    EXPECT_FALSE(reads_exterior(evaluators));
  }
  EXPECT_EQ(printed({jump(w[0]), jump(w[3]), average(w[0])}, {conductor_state(), false}),
            "flux0 = 2.0*w_0_interior\nflux1 = 0.0\nflux2 = 0.0\n");
  EXPECT_EQ(printed({exterior(material("eps")) * jump(w[0])}, {conductor_state(), false}),
            "flux0 = 2.0*(eps_interior*w_0_interior)\n");
}

TEST(Evaluators, BoundaryDataIsReadWhereAsked) {
  EXPECT_EQ(printed({jump(u)}, {FluxVector{boundary_value("g", 2)}, false}),
            "flux0 = u_interior - g_2\n");
}

TEST(Evaluators, NamesTheTermThatLacksASide) {
  EXPECT_ERROR("dg.make_evaluators.side_missing", make_evaluators({n * u}));
  try {
    static_cast<void>(make_evaluators({a + n * u}));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "the flux term 'a + n[0]*u' contains 'u' without a side: say interior, exterior, "
              "jump or average of it");
  }
}

TEST(Evaluators, RefusesNestedSides) {
  EXPECT_ERROR("dg.make_evaluators.nested_sides", make_evaluators({jump(interior(u))}));
  EXPECT_ERROR("dg.make_evaluators.nested_sides", make_evaluators({interior(a * average(u))}));
}

TEST(Evaluators, RefusesDivisionByZero) {
  EXPECT_ERROR("dg.make_evaluators.division_by_zero", make_evaluators({a / (n - n)}));
}

TEST(Evaluators, RefusesConstantsThatAreNoNumbers) {
  EXPECT_ERROR("dg.make_evaluators.not_a_number",
               make_evaluators({jump(u) * sqrt(FluxExpr(2) - 3)}));
  EXPECT_ERROR("dg.make_evaluators.not_a_number", make_evaluators({interior(u) + pow(-8, 0.3)}));
  EXPECT_EQ(printed({min(a, FluxExpr(HUGE_VAL))}), "flux0 = min(a, inf)\n");
}

TEST(Evaluators, AStateOfZeroOutsideReadsTheInsideOnly) {
  EXPECT_EQ(printed({jump(u), a * exterior(v) + average(u)},
                    {FluxVector({FluxExpr(0), FluxExpr(0)}, ""), false}),
            "flux0 = u_interior\nflux1 = 0.5*u_interior\n");
}

TEST(Evaluators, RefusesWrongBoundaryStates) {
  EXPECT_ERROR("dg.make_evaluators.no_boundary_state",
               make_evaluators({jump(v)}, {FluxVector{interior(u)}, false}));
  EXPECT_ERROR("dg.make_evaluators.exterior_of_boundary",
               make_evaluators({jump(u)}, {FluxVector{exterior(u)}, false}));
  EXPECT_ERROR(
      "dg.make_evaluators.exterior_of_boundary",
      make_evaluators({exterior(u), jump(v)}, {FluxVector{interior(u), exterior(u)}, false}));
  EXPECT_ERROR("dg.make_evaluators.boundary_neighbour",
               make_evaluators({jump(u)}, {FluxVector{interior(u)}, true}));
  try {
    static_cast<void>(make_evaluators({a * jump(u)}, {FluxVector{2 * exterior(u)}, false}));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "the flux term '2*exterior(u)' contains 'u' with the exterior side in a boundary "
              "state, which is the exterior: use interior");
  }
}

TEST(Evaluators, KnowsLinearFluxes) {
  EXPECT_TRUE(is_linear(maxwell_flux(parameter("alpha"))));
  EXPECT_TRUE(
      is_linear({if_positive(n, interior(u), exterior(u)), 0, material("c") * jump(u) / a}));
  EXPECT_FALSE(is_linear(testing::euler_flux(1.4)));
  EXPECT_FALSE(is_linear({average(u) + 1}));
  EXPECT_FALSE(is_linear({abs(jump(u))}));
  EXPECT_FALSE(is_linear({a / interior(u)}));
  EXPECT_FALSE(is_linear({n}));
}

TEST(Evaluators, KnowsConservativeFluxes) {
  EXPECT_EQ(why_not_conservative({n * average(u) + 0.5 * jump(u)}), std::nullopt);
  EXPECT_EQ(why_not_conservative({n * if_positive(a, interior(u), interior(u))}),
            "component 0, 'n[0]*if_positive(a, interior(u), interior(u))', is not the opposite of "
            "what the neighbour gets");
  EXPECT_EQ(why_not_conservative(testing::euler_flux(1.4)), std::nullopt);
  EXPECT_TRUE(why_not_conservative(maxwell_flux(1)));
}

TEST(Evaluators, FlippingTwiceChangesNothing) {
  const FluxVector flux = testing::euler_flux(1.4);
  EXPECT_EQ(printed(flip(flip(flux))), printed(flux));
  EXPECT_EQ(to_string(flip(n * jump(u) + interior(v))), "-n[0]*-jump(u) + exterior(v)");
}

TEST(Evaluators, KnowWhenAllIsZero) {
  const FluxExpr u = field(0, "u");
  EXPECT_TRUE(is_zero(make_evaluators({jump(u) - jump(u), 0 * interior(u)})));
  EXPECT_FALSE(is_zero(make_evaluators({FluxExpr(0), jump(u)})));
}

std::string only_step(const FluxExpr& expr) {
  const std::vector<FluxAssignment> all = print_evaluators(make_evaluators({expr}));
  return all.size() == 1 ? all[0].value : std::to_string(all.size()) + " assignments";
}

TEST(Defect24, SumsAndProductsCancel) {
  const FluxExpr a = parameter("a");
  const FluxExpr b = parameter("b");
  const FluxExpr r = parameter("r");
  for (const FluxExpr& each :
       {a - (a - b), (a + b) - a, (b - a) + a, b + r - r, r * (b / r), (b / r) * r, (r * b) / r,
        2 * a - (2 * a - b), 0.5 * r * (2 * b / r), (a + 0.5 * b) * 2 - 2 * a}) {
    EXPECT_EQ(only_step(each), "b") << to_string(each);
  }
  EXPECT_EQ(only_step(a - (a + b)), "-b");
  EXPECT_EQ(only_step(r * (3 / r)), "3.0");
  EXPECT_EQ(only_step(a - (2 * a + b)), "-(a + b)");
  EXPECT_EQ(only_step(a - (3 * a + b)), "-(b + 2.0*a)");
  EXPECT_EQ(only_step(a + (a + b)), "b + 2.0*a");
}

TEST(Defect24, QuotientsByOneNumberShareItsReciprocal) {
  const FluxExpr r = parameter("r");
  const Evaluators three =
      make_evaluators({parameter("a") / r, parameter("b") / r, parameter("c") / r, 1 / r, 4 / r});
  const auto divisions = [](const Evaluators& evaluators) {
    return std::count_if(evaluators.steps.begin(), evaluators.steps.end(),
                         [](const Step& step) { return step.kind == StepKind::divide; });
  };
  EXPECT_EQ(divisions(three), 1);
  EXPECT_EQ(count_flops(three), 5);
  FluxInputs inputs;
  inputs.parameters = {{"a", 1}, {"b", -7}, {"c", 1e10}, {"r", 3}};
  const std::vector<double> found = interpret_flux(three, inputs).interior;
  const std::vector<double> expected = {1. / 3, -7. / 3, 1e10 / 3, 1. / 3, 4. / 3};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 3e-16 * std::abs(expected[i]));
  }
  // one alone stays a quotient
  EXPECT_EQ(only_step(parameter("a") / r), "a/r");
  // of both sides of a face
  EXPECT_EQ(divisions(make_evaluators(testing::euler_flux(1.4))), 2);
}

// What a flux of strong form takes from the inner one: n.F - n.(F + F')/2 is n.(F - F')/2.
TEST(Defect24, SumsMergeWithTheirTerms) {
  const FluxExpr a = parameter("a");
  const FluxExpr b = parameter("b");
  const FluxExpr c = parameter("c");
  const FluxExpr r = parameter("r");
  EXPECT_EQ(only_step(interior(u) - average(u)), "0.5*(u_interior - u_exterior)");
  EXPECT_EQ(only_step(n * interior(u) - n * average(u)), "0.5*(n_0*(u_interior - u_exterior))");
  EXPECT_EQ(only_step(interior(u) / r - average(u) / r), "0.5*((u_interior - u_exterior)/r)");
  EXPECT_EQ(only_step(r * (interior(u) * n) - average(r * (u * n))),
            "0.5*(r*(n_0*(u_interior - u_exterior)))");
  EXPECT_EQ(only_step((a + b) - (a + c)), "b - c");
  EXPECT_EQ(only_step((a * r + b * n) - 0.5 * (r * (a + c) + n * (b + parameter("v0")))),
            "0.5*(r*(a - c) + n_0*(b - v0))");
  // not where others need the sum, too
  EXPECT_EQ(count_flops(make_evaluators({2 * a - 1.5 * (a + b), a + b})), 4);
}

TEST(Defect24, ProductsBySignedNumbersAreOne) {
  const FluxExpr a = parameter("a");
  EXPECT_EQ(count_flops(make_evaluators({0.3 * a, -0.3 * a, 0.3 * (-a)})), 1);
  const Evaluators both = make_evaluators(testing::euler_flux(1.4), {{}, true});
  EXPECT_EQ(count_flops(both), count_flops(make_evaluators(testing::euler_flux(1.4))));
}

// Both sides of a face take fewer operations than one and again what differs.
TEST(Defect24, BothSidesShareSumsAndDifferences) {
  struct Case {
    std::string name;
    FluxVector flux;
    int one;
    int both;
  };
  const auto surface = [](const System& system) {
    return FluxVector(system.surface.components(), "");
  };
  AdvectionOptions central{.flux = AdvectionFlux::central};
  AdvectionOptions weak{.flux = AdvectionFlux::lax_friedrichs, .form = SystemForm::weak};
  // of elasticity: velocities, then the stresses xx, yy, xy, with what flows along n and upwinding
  const FluxVector state = concatenate({fields(2, "v"), fields(3, "s", 2)});
  const FluxExpr pressure_modulus = parameter("lambda") + 2 * parameter("mu");
  const FluxExpr nx = normal(2)[0];
  const FluxExpr ny = normal(2)[1];
  const FluxVector along({-(nx * state[2] + ny * state[4]), -(nx * state[4] + ny * state[3]),
                          -pressure_modulus * nx * state[0] - parameter("lambda") * ny * state[1],
                          -parameter("lambda") * nx * state[0] - pressure_modulus * ny * state[1],
                          -parameter("mu") * (ny * state[0] + nx * state[1])},
                         "");
  const FluxVector star = average(along) + 0.5 * sqrt(pressure_modulus) * jump(state);
  for (const auto& [name, flux, one, both] : std::vector<Case>{
           {"maxwell", maxwell_flux(parameter("alpha")), 60, 72},
           {"maxwell, upwind", surface(maxwell({})), 54, 66},
           {"maxwell, TM", surface(maxwell({.mode = MaxwellMode::transverse_magnetic})), 19, 25},
           {"maxwell, materials", surface(maxwell({.has_materials = true})), 72, 108},
           {"wave", surface(wave({.dimension = 3})), 17, 25},
           {"wave, materials", surface(wave({.has_materials = true})), 22, 32},
           {"advection, strong", surface(advection({})), 3, 4},
           {"advection, strong and central", surface(advection(central)), 3, 3},
           {"advection, weak", surface(advection(weak)), 5, 5},
           {"burgers", surface(burgers({})), 12, 12},
           {"euler", surface(euler({.dimension = 3})), 111, 111},
           {"poisson", surface(poisson({})), 24, 28},
           {"poisson, LDG", surface(poisson({.method = PoissonMethod::local_dg})), 28, 33},
           {"elasticity, weak", star, 48, 48},
           {"elasticity, strong", interior(along) - star, 43, 53}}) {
    const Evaluators alone = make_evaluators(flux);
    const Evaluators together = make_evaluators(flux, {{}, true});
    EXPECT_EQ(count_flops(alone), one) << name;
    EXPECT_EQ(count_flops(together), both) << name;
    FluxInputs here;
    here.parameters = {{"alpha", 0.7}, {"lambda", 1.25}, {"mu", 0.75}};
    here.materials = {{"permittivity", {2.5, 1.5}},
                      {"permeability", {0.75, 1.25}},
                      {"bulk_modulus", {2.5, 1.5}},
                      {"density", {0.75, 1.25}}};
    here.normal = {2. / 3, -1. / 3, 2. / 3};
    here.order = 3;
    here.mesh_size = 0.3;
    here.interior = {1.1, 9.2, 0.5, 0.7, 0.25, -1.5};
    here.exterior = {0.8, 8.1, -0.3, 1.2, 0.6, 0.9};
    FluxInputs there = here;
    std::swap(there.interior, there.exterior);
    for (double& component : there.normal) {
      component = -component;
    }
    for (auto& [word, sides] : there.materials) {
      std::swap(sides[0], sides[1]);
    }
    const FluxValues found = interpret_flux(together, here);
    const std::vector<double> expected = interpret_flux(alone, here).interior;
    const std::vector<double> neighbour = interpret_flux(alone, there).interior;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // some dozen operations on numbers up to 100, of which Euler's energies are the largest
      EXPECT_NEAR(found.interior[i], expected[i], 1e-13) << name << " " << i;
      EXPECT_NEAR(found.neighbour[i], neighbour[i], 1e-13) << name << " " << i;
      if (!why_not_conservative(flux)) {
        EXPECT_EQ(found.neighbour[i], -found.interior[i]) << name << " " << i;
      }
    }
  }
}

// Of upwind fluxes a state of zeros absorbs as the one does that leaves out what comes in.
TEST(Defect24, UpwindAbsorbersAreStatesOfZeros) {
  MaxwellOptions options;
  options.has_materials = true;
  options.absorbers = {"+x"};
  const System upwind = maxwell(options);
  options.alpha = parameter("alpha");
  const System any = maxwell(options);
  const auto of = [](const System& system) {
    EvaluatorOptions boundary;
    boundary.boundary_state = concatenate({system.boundaries.at("+x")});
    return make_evaluators(concatenate({system.surface}), boundary);
  };
  FluxInputs inputs;
  inputs.parameters["alpha"] = 1;
  inputs.normal = {2. / 3, -1. / 3, 2. / 3};
  inputs.materials = {{"permittivity", {2.5, 2.5}}, {"permeability", {0.75, 0.75}}};
  inputs.interior = {1, -2, 0.5, 3, 0.25, -1.5};
  const std::vector<double> found = interpret_flux(of(upwind), inputs).interior;
  const std::vector<double> expected = interpret_flux(of(any), inputs).interior;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-14) << i;  // some dozen operations on numbers up to 3
  }
  options = {};
  options.absorbers = {"+x"};
  EXPECT_LE(count_flops(of(maxwell(options))), 48);
  // of other fluxes the state is what goes out, of which the difference to the interior is used
  options.alpha = parameter("alpha");
  EXPECT_LE(count_flops(of(maxwell(options))), 96);
  WaveOptions waves;
  waves.has_materials = true;
  waves.absorbers = {"+x"};
  const System still = wave(waves);
  waves.alpha = parameter("alpha");
  inputs.materials = {{"bulk_modulus", {2.5, 2.5}}, {"density", {0.75, 0.75}}};
  inputs.normal = {0.6, -0.8};
  inputs.interior = {1, -2, 0.5};
  const std::vector<double> quiet = interpret_flux(of(still), inputs).interior;
  const std::vector<double> out = interpret_flux(of(wave(waves)), inputs).interior;
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    EXPECT_NEAR(quiet[i], out[i], 1e-14) << i;
  }
}

}  // namespace
}  // namespace rtcg::dg
