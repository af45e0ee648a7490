#include "rtcg/dg/operators/system_on_mesh.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/dg/operators/dg_systems.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using testing::Case;

void check(const Case& each) {
  check_system(each.system, discretize(make_box_mesh(each.box), 1), each.data);
}

TEST(CheckSystem, TakesWhatFits) {
  for (const Case& each : testing::all_cases()) {
    SCOPED_TRACE(each.name);
    EXPECT_NO_THROW(check(each));
  }
}

TEST(CheckSystem, RefusesWhatDoesNotFit) {
  const Case maxwell = testing::full_maxwell();
  Case flat = maxwell;
  flat.box = testing::box(2, 2);
  EXPECT_ERROR("dg.check_system.dimension", check(flat));
  Case few = maxwell;
  few.system.scale = {1, 1};
  EXPECT_ERROR("dg.check_system.field_count", check(few));
  few = maxwell;
  few.system.boundaries["-x"] = {1};
  EXPECT_ERROR("dg.check_system.field_count", check(few));
  Case uncovered = maxwell;
  uncovered.system.boundaries.erase("-x");
  EXPECT_ERROR("dg.check_boundary_coverage.uncovered", check(uncovered));
  Case unknown = maxwell;
  unknown.system.boundaries["top"] = unknown.system.boundaries["-x"];
  EXPECT_ERROR("dg.check_boundary_coverage.unknown_tag", check(unknown));
}

TEST(CheckSystem, RefusesFieldsAndAxesThatThereAreNot) {
  const Case tm = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 3));
  const auto with_surface = [&](const FluxExpr& first) {
    Case each = tm;
    each.system.surface = concatenate({FluxVector({first}), each.system.surface.slice(1, 2)});
    return each;
  };
  EXPECT_ERROR("dg.check_system.index", check(with_surface(normal(3)[2] * jump(field(0, "e")))));
  Case deep = tm;
  deep.system.source = {coordinates(3)[2], 0, 0};
  EXPECT_ERROR("dg.check_system.index", check(deep));
  // on a box without boundaries, where no boundary state would miss it
  Case torus = with_surface(jump(field(7, "w[7]")));
  torus.box.periodic = {true, true, false};
  torus.system.boundaries.clear();
  Case before = tm;
  before.system.source = {field(-1, "e"), 0, 0};
  EXPECT_ERROR("dg.check_system.index", check(before));
  try {
    check(torus);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "'maxwell' reads 'w[7]', which is field 7 of the state counted from 0, but there are "
              "3: ez, hx, hy");
  }
}

TEST(CheckSystem, RefusesSurfaceFluxesThatCoupleNothing) {
  Case each = testing::full_maxwell();
  // of one component it may be so: one that is the same on both sides
  each.system.surface = concatenate({FluxVector({0, jump(field(1, "e"))}, ""),
                                     FluxVector(std::vector<FluxExpr>(4, FluxExpr(0)), "")});
  EXPECT_NO_THROW(check(each));
  std::vector<FluxExpr> none(6, jump(parameter("alpha")));
  each.system.surface = FluxVector(none, "");
  EXPECT_ERROR("dg.check_system.zero_surface", check(each));
}

TEST(CheckSystem, RefusesMissingData) {
  Case each = testing::full_maxwell();
  each.data.parameters.clear();
  EXPECT_ERROR("dg.check_system.missing_data", check(each));
  each = testing::full_maxwell();
  each.data.materials["permeability"].pop_back();
  EXPECT_ERROR("dg.check_system.missing_data", check(each));
  each = testing::full_maxwell();
  each.data.boundary_values.clear();
  EXPECT_ERROR("dg.check_system.missing_data", check(each));
}

// Between elements it was read from the data of another element.
TEST(Defect07, BoundaryValuesAreReadOnBoundariesOnly) {
  Case each = testing::full_maxwell();
  std::vector<FluxExpr> surface = each.system.surface.components();
  surface[0] = surface[0] + boundary_value("wave", 0);
  each.system.surface = FluxVector(surface, "");
  EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
  for (FluxVector System::*part : {&System::source, &System::scale, &System::energy_weights}) {
    each = testing::full_maxwell();
    each.system.*part = FluxVector(std::vector<FluxExpr>(6, boundary_value("wave", 0)), "");
    EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
  }
  each = testing::full_maxwell();
  each.system.speed = boundary_value("wave", 0);
  EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
  each = testing::full_maxwell();
  each.system.flux[1] = FluxVector(std::vector<FluxExpr>(6, boundary_value("wave", 0)), "");
  EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
}

TEST(Defect07, ComponentsOfBoundaryValuesAreCounted) {
  Case each = testing::full_maxwell();
  std::vector<FluxExpr> state = each.system.boundaries["-z"].components();
  state[0] = boundary_value("wave", -1);
  each.system.boundaries["-z"] = FluxVector(state, "");
  EXPECT_ERROR("dg.check_system.index", check(each));
}

TEST(Defect11, NamesOfGeneratedCodeAreRefused) {
  Case each = testing::full_maxwell();
  each.system.source = FluxVector(std::vector<FluxExpr>(6, parameter("rtcg_metric_0")), "");
  each.data.parameters["rtcg_metric_0"] = 1;
  EXPECT_ERROR("dg.check_system.reserved_name", check(each));
  for (const FluxExpr& read : {material("rtcg_metric_1"), boundary_value("rtcg_x", 0)}) {
    each = testing::full_maxwell();
    each.system.boundaries["-z"] = FluxVector(std::vector<FluxExpr>(6, interior(read)), "");
    EXPECT_ERROR("dg.check_system.reserved_name", check(each));
  }
  each = testing::full_maxwell();
  each.data.parameters["time"] = 3;
  EXPECT_ERROR("dg.check_system.reserved_name", check(each));
  each = testing::full_maxwell();
  each.data.signals["time"] = [](double) { return 3; };
  EXPECT_ERROR("dg.check_system.reserved_name", check(each));
  each = testing::full_maxwell();
  each.data.parameters["pulse"] = 3;  // a signal, too
  EXPECT_ERROR("dg.check_system.duplicate_name", check(each));
}

// One called itself, others were defined twice.
TEST(Defect14, FunctionsOfGeneratedCodeAreNotTheUsers) {
  for (const char* name :
       {"stage", "surface_flux", "volume_flux", "volume_weights", "boundary_flux_0", "scale_at",
        "source_at", "largest_speeds", "volume_fluxes_at_nodes", "surface_fluxes_at_nodes",
        "update", "rtcg_f", "double", "kernel", "main"}) {
    SCOPED_TRACE(name);
    Case each = testing::full_maxwell();
    each.system.source =
        FluxVector(std::vector<FluxExpr>(6, user_function(name, {field(0, "e")})), "");
    EXPECT_ERROR("dg.check_system.reserved_name", check(each));
  }
}

TEST(Defect14, EmptyMeshesAndStatesAreRefused) {
  EXPECT_ERROR("dg.discretize.empty_mesh", discretize(Mesh{}, 1));
  const Case each = testing::full_maxwell();
  const Discretization on = discretize(make_box_mesh(each.box), 1);
  State few(6, on);
  few.values.resize(17);
  EXPECT_ERROR("dg.check_state.shape", (void)energy(each.system, on, each.data, few));
  EXPECT_ERROR("dg.check_state.shape",
               (void)reference_right_hand_side(each.system, on, each.data, few));
  EXPECT_ERROR("dg.check_state.shape", (void)integral(on, few, 0));
  EXPECT_ERROR("dg.check_state.shape", (void)integral(on, State(6, on), 6));
  EXPECT_ERROR("dg.check_state.shape", (void)inner_product(on, State(6, on), few, 0));
  EXPECT_ERROR("dg.check_state.shape", (void)l2_norm(on, few));
  EXPECT_ERROR("dg.check_state.shape", (void)l2_distance(on, State(6, on), few));
  EXPECT_ERROR("dg.check_state.shape", (void)l2_distance(on, few, few));
  Case nodal = each;
  nodal.system.speed = abs(field(0, "e"));
  EXPECT_ERROR("dg.check_state.shape", (void)largest_speed(nodal.system, on, each.data, few));
}

// Of normals in a source came `bad optional access`, of names the C compiler's words.
TEST(Defect23, ReadsAndNamesAreCheckedBeforeAnythingIsGenerated) {
  const FluxExpr n = normal(3)[0];
  for (const FluxExpr& read : {n, mesh_size(), face_jacobian()}) {
    Case each = testing::full_maxwell();
    each.system.source = FluxVector(std::vector<FluxExpr>(6, read), "");
    EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
  }
  Case each = testing::full_maxwell();
  each.system.energy_weights = FluxVector(std::vector<FluxExpr>(6, field(0, "e")), "");
  EXPECT_ERROR("dg.check_system.misplaced_read", check(each));
  for (const char* name : {"my density", "", "2nd", "a-b", "a\nb"}) {
    each = testing::full_maxwell();
    each.system.source = FluxVector(std::vector<FluxExpr>(6, parameter(name)), "");
    each.data.parameters[name] = 1;
    EXPECT_ERROR("dg.check_system.bad_name", check(each));
  }
  each = testing::full_maxwell();
  each.system.fields[3] = each.system.fields[0];
  EXPECT_ERROR("dg.check_system.duplicate_name", check(each));
  each.system.fields[3] = "";
  EXPECT_ERROR("dg.check_system.bad_name", check(each));
  each.system.fields[3] = "h\n1";
  EXPECT_ERROR("dg.check_system.bad_name", check(each));
  each.system.fields.clear();
  EXPECT_ERROR("dg.check_system.field_count", check(each));
  each = testing::full_maxwell();
  each.data.signals["pulse"] = nullptr;
  EXPECT_ERROR("dg.check_system.missing_data", check(each));
  each = testing::full_maxwell();
  each.data.boundary_values["wave"] = nullptr;
  EXPECT_ERROR("dg.check_system.missing_data", check(each));
}

TEST(Defect23, SurfaceFluxesReadTheOtherSide) {
  Case each{"burgers", burgers(), testing::box(1, 5, 0, true)};
  const FluxExpr u = interior(field(0, "u"));
  each.system.surface = {0.5 * u * u * normal(1)[0]};
  each.system.must_conserve = false;
  EXPECT_ERROR("dg.check_system.no_exterior", check(each));
}

TEST(Defect23, WeakFormsConserve) {
  Case each{"burgers", burgers(), testing::box(1, 5, 0, true)};
  EXPECT_NO_THROW(check(each));
  const FluxExpr u = field(0, "u");
  const FluxExpr n = normal(1)[0];
  each.system.surface = {n * average(0.5 * u * u) - 0.5 * abs(interior(u)) * jump(u)};
  EXPECT_ERROR("dg.check_system.not_conservative", check(each));
  each.system.must_conserve = false;
  EXPECT_NO_THROW(check(each));
  // opposite only by arithmetic that the symbols do not know
  each.system.must_conserve = true;
  const FluxExpr squares = interior(u) * interior(u) - exterior(u) * exterior(u);
  each.system.surface = {n * average(0.5 * u * u) +
                         squares * (interior(u) * interior(u) + exterior(u) * exterior(u)) -
                         (pow(interior(u), 4) - pow(exterior(u), 4))};
  EXPECT_NO_THROW(check(each));
}

// The flux that leaves an element, at one point.
std::vector<double> surface(const FluxVector& flux, FluxInputs inputs, std::vector<double> interior,
                            std::vector<double> exterior) {
  inputs.interior = std::move(interior);
  inputs.exterior = std::move(exterior);
  return interpret_flux(make_evaluators(flux), inputs).interior;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-13) << i;
  }
}

TEST(ShippedSystems, HaveTheFluxesOfTheBooks) {
  FluxInputs inputs;
  inputs.normal = {0.6, 0.8};
  AdvectionOptions advected;
  advected.velocity = {2, -3};
  for (const auto& [flux, expected] : std::vector<std::pair<AdvectionFlux, double>>{
           {AdvectionFlux::central, -1.05},
           {AdvectionFlux::upwind, -2.1},
           {AdvectionFlux::lax_friedrichs, -4.20485736603099}}) {
    advected.flux = flux;
    expect_near(surface(advection(advected).surface, inputs, {1.25}, {-0.5}), {expected});
  }
  WaveOptions waves;
  waves.speed = 2;
  expect_near(surface(wave(waves).surface, inputs, {1.25, 1, 2}, {-0.5, -0.5, 3}),
              {-1.85, -1.11, -1.48});
  waves.alpha = 0;
  expect_near(surface(wave(waves).surface, inputs, {1.25, 1, 2}, {-0.5, -0.5, 3}),
              {-0.1, -1.05, -1.4});
  // with the opposite sign of the papers, which take n x H for the flux of E
  MaxwellOptions cavity;
  cavity.mode = MaxwellMode::transverse_magnetic;
  expect_near(surface(maxwell(cavity).surface, inputs, {1.5, 0.25, -0.75}, {-0.5, 1, 2}),
              {-0.475, 0.38, -0.285});
  cavity.alpha = 0;
  expect_near(surface(maxwell(cavity).surface, inputs, {1.5, 0.25, -0.75}, {-0.5, 1, 2}),
              {0.525, 0.8, -0.6});
  inputs.normal = {1};
  expect_near(surface(burgers().surface, inputs, {1.5}, {-0.5}), {2.125});
  inputs.normal = {-1};
  expect_near(surface(burgers().surface, inputs, {1.5}, {-0.5}), {0.875});
}

// Densities and energies that gases can have, and anything else.
std::vector<double> any_state(std::size_t fields, std::mt19937& random) {
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> state;
  for (std::size_t field = 0; field < fields; ++field) {
    state.push_back(number(random) + (field == 0 ? 2 : field == 1 ? 8 : 0));
  }
  return state;
}

TEST(ShippedSystems, HaveConsistentAndConservativeFluxes) {
  std::mt19937 random(11);
  for (const Case& each : testing::all_cases()) {
    SCOPED_TRACE(each.name);
    const std::size_t fields = each.system.fields.size();
    FluxInputs inputs;
    inputs.normal = each.system.dimension == 1   ? std::vector<double>{1}
                    : each.system.dimension == 2 ? std::vector<double>{0.6, -0.8}
                                                 : std::vector<double>{2. / 3, -1. / 3, 2. / 3};
    inputs.parameters = parameters_at(each.data, 0);
    for (const char* name : {"permittivity", "permeability", "antenna"}) {
      inputs.materials[name] = {2, 2};
    }
    for (int i = 0; i < 100; ++i) {
      const std::vector<double> state = any_state(fields, random);
      const std::vector<double> found = surface(each.system.surface, inputs, state, state);
      std::vector<double> expected(fields);
      if (each.system.form == SystemForm::weak) {
        const std::vector<double> other = any_state(fields, random);
        std::vector<double> flipped = surface(flip(each.system.surface), inputs, state, other);
        for (double& value : flipped) {
          value = -value;
        }
        expect_near(flipped, surface(each.system.surface, inputs, state, other));
        for (std::size_t axis = 0; axis < each.system.flux.size(); ++axis) {
          const FluxVector flux = interior(concatenate({each.system.flux[axis]}));
          FluxInputs inside = inputs;
          inside.interior = state;
          const FluxValues values = interpret_flux(make_evaluators(flux), inside);
          for (std::size_t field = 0; field < fields; ++field) {
            expected[field] += inputs.normal[axis] * values.interior[field];
          }
        }
      }
      expect_near(found, expected);
    }
  }
}

TEST(Energy, WeighsByTheMaterial) {
  const Case each = testing::full_maxwell();
  const Discretization on = discretize(make_box_mesh(each.box), 2);
  State ones(6, on);
  std::fill(ones.values.begin(), ones.values.end(), 1);
  double expected = 0;
  for (std::size_t i = 0; i < on.element_count(); ++i) {
    expected +=
        on.factors.jacobian[i] * 4 / 3 * 1.5 *
        (each.data.materials.at("permittivity")[i] + each.data.materials.at("permeability")[i]);
  }
  EXPECT_NEAR(energy(each.system, on, each.data, ones), expected, 1e-12);
}

TEST(LargestSpeed, LooksAtMaterialsAndStates) {
  const Case each = testing::full_maxwell();
  const Discretization on = discretize(make_box_mesh(each.box), 2);
  EXPECT_NEAR(largest_speed(each.system, on, each.data, State(6, on)), 1, 1e-12);
  const Discretization line = discretize(make_box_mesh(testing::box(1, 5)), 3);
  State state(1, line);
  state.at(0, 3, 2) = -4;
  EXPECT_EQ(largest_speed(burgers(), line, {}, state), 4);
  state.at(0, 2, 2) = NAN;
  EXPECT_ERROR("dg.solver.bad_speed", (void)largest_speed(burgers(), line, {}, state));
}

}  // namespace
}  // namespace rtcg::dg
