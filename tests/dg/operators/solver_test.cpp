#include "rtcg/dg/operators/solver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "tests/dg/operators/dg_systems.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg {
namespace {

using testing::Case;

std::shared_ptr<const Discretization> on_box(const BoxOptions& options, int order) {
  return std::make_shared<const Discretization>(discretize(make_box_mesh(options), order));
}

// Sums of some hundred products each.
constexpr double double_tolerance = 1e-12;
constexpr double single_tolerance = 1e-4;

void expect_reference(const Case& each, int order, const SolverOptions& options) {
  SCOPED_TRACE(each.name + " on " + options.device.info().name + ", order " +
               std::to_string(order));
  const auto on = on_box(each.box, order);
  const State state = testing::random_state(each.system.fields.size(), *on);
  Solver solver(each.system, on, each.data, options);
  solver.set_state(state, 0.25);
  const State expected = reference_right_hand_side(each.system, *on, each.data, state, 0.25);
  EXPECT_LT(testing::relative_difference(solver.right_hand_side(), expected),
            options.precision == Precision::single ? single_tolerance : double_tolerance)
      << solver.kernel_text();
  EXPECT_LT(testing::relative_difference(solver.state(), state), 1e-6) << "the state changed";
}

TEST(Solver, WantsAFactorOfTheTimeStepAboveZero) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 1));
  for (const double courant : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_ERROR("dg.solver.courant",
                 Solver(each.system, on_box(each.box, 1), {},
                        {.device = runtime::Device::host(), .courant = courant}));
  }
}

TEST(Solver, GivesTheReferenceRightHandSideOfEverySystem) {
  for (const Case& each : testing::all_cases()) {
    for (const Strategy strategy : {Strategy::split, Strategy::two_kernels, Strategy::fused}) {
      expect_reference(each, 2, {runtime::Device::host(), Precision::double_, strategy});
    }
  }
}

TEST(Solver, GivesTheReferenceRightHandSideOnEveryDevice) {
  const std::vector<Case> cases = testing::all_cases();
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (const Precision precision : {Precision::single, Precision::double_}) {
      if (precision == Precision::single || device.info().has_f64) {
        for (const Strategy strategy : {Strategy::split, Strategy::two_kernels, Strategy::fused}) {
          expect_reference(cases.front(), 2, {device, precision, strategy});
          expect_reference(cases.back(), 1, {device, precision, strategy});
        }
      }
    }
  }
}

TEST(Solver, GivesTheReferenceRightHandSideOfEveryOrder) {
  for (int order = 1; order <= highest_order; ++order) {
    for (const Strategy strategy : {Strategy::split, Strategy::two_kernels, Strategy::fused}) {
      expect_reference(testing::plain_maxwell(1, testing::box(3, 1)), order,
                       {runtime::Device::host(), Precision::double_, strategy});
    }
  }
}

Solver cavity_solver(int cells, Precision precision = Precision::double_) {
  const Case each = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, cells));
  return {each.system, on_box(each.box, 3), each.data, {runtime::Device::host(), precision}};
}

TEST(Solver, DoesNotDependOnTheOrderOfElements) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 2, 0.2));
  const Mesh mesh = make_box_mesh(each.box);
  Mesh reversed = mesh;
  std::reverse(reversed.elements.begin(), reversed.elements.end());
  const auto on = std::make_shared<const Discretization>(discretize(mesh, 3));
  const auto on_reversed = std::make_shared<const Discretization>(discretize(reversed, 3));
  const State state = testing::random_state(6, *on);
  State backwards(6, *on_reversed);
  const auto turn = [&](const State& from, State& to) {
    for (std::size_t field = 0; field < 6; ++field) {
      for (std::size_t element = 0; element < from.elements; ++element) {
        for (std::size_t node = 0; node < from.nodes; ++node) {
          to.at(field, from.elements - 1 - element, node) = from.at(field, element, node);
        }
      }
    }
  };
  turn(state, backwards);
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (!device.info().has_f64) {
      continue;
    }
    SCOPED_TRACE(device.info().name);
    Solver solver(each.system, on, each.data, {device});
    Solver other(each.system, on_reversed, each.data, {device});
    solver.set_state(state);
    other.set_state(backwards);
    State found(6, *on);
    turn(other.right_hand_side(), found);
    const State expected = solver.right_hand_side();
    EXPECT_LT(testing::relative_difference(found, expected), 1e-13);
    if (device.info().id.kind == runtime::BackendKind::host) {
      EXPECT_EQ(found.values, expected.values);
    }
  }
}

// The sum over all faces of all elements of the integral of |n x [E]|^2 + |n x [H]|^2; behind
// conductors E has the opposite sign.
double jumps_along_faces(const Discretization& on, const State& state) {
  const auto meeting = face_node_permutations(on.element);
  const std::size_t count = on.element.nodes_of_face();
  double sum = 0;
  for (std::size_t side = 0; side < on.connectivity.links.size(); ++side) {
    const std::size_t element = side / 4;
    const std::size_t face = side % 4;
    const FaceLink& link = on.connectivity.links[side];
    const double* n = &on.factors.normals[side * 3];
    std::vector<std::array<double, 6>> along(count);
    for (std::size_t p = 0; p < count; ++p) {
      std::array<double, 6> jump{};
      for (std::size_t field = 0; field < 6; ++field) {
        const double mine =
            state.at(field, element, static_cast<std::size_t>(on.element.face_nodes[face][p]));
        double other = field < 3 ? -mine : mine;
        if (!link.is_boundary()) {
          const auto place =
              static_cast<std::size_t>(meeting[static_cast<std::size_t>(link.permutation)][p]);
          other = state.at(field, static_cast<std::size_t>(link.element),
                           static_cast<std::size_t>(
                               on.element.face_nodes[static_cast<std::size_t>(link.face)][place]));
        }
        jump[field] = mine - other;
      }
      for (std::size_t first : {0, 3}) {
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t j = (i + 1) % 3;
          const std::size_t k = (i + 2) % 3;
          along[p][first + i] = n[j] * jump[first + k] - n[k] * jump[first + j];
        }
      }
    }
    for (std::size_t p = 0; p < count; ++p) {
      const auto row = static_cast<std::size_t>(on.element.face_nodes[face][p]);
      for (std::size_t q = 0; q < count; ++q) {
        double product = 0;
        for (std::size_t field = 0; field < 6; ++field) {
          product += along[p][field] * along[q][field];
        }
        sum += on.factors.face_jacobian(element, face) *
               on.element.face_mass(row, face * count + q) * product;
      }
    }
  }
  return sum;
}

TEST(Solver, ChangesTheEnergyAsTheJumpsSay) {
  for (const double alpha : {0.0, 0.5, 1.0}) {
    const Case each = testing::plain_maxwell(alpha, testing::box(3, 2, 0.2));
    const auto on = on_box(each.box, 3);
    const State state = testing::random_state(6, *on);
    const State rate = reference_right_hand_side(each.system, *on, {}, state);
    Solver solver(each.system, on, {}, {runtime::Device::host()});
    solver.set_state(state);
    const State found = solver.right_hand_side();
    double change = 0;
    double size = 0;
    for (std::size_t field = 0; field < 6; ++field) {
      change += inner_product(*on, state, found, field);
      size += std::abs(inner_product(*on, state, state, field));
    }
    if (alpha == 0) {
      EXPECT_LT(std::abs(change), 1e-13 * size);
    } else {
      const double expected = -0.25 * alpha * jumps_along_faces(*on, state);
      EXPECT_NEAR(change, expected, 1e-13 * std::abs(expected));
    }
    EXPECT_LT(testing::relative_difference(found, rate), double_tolerance);
  }
}

// Half the change of the energy when the right-hand side is added and taken away.
double energy_rate(const Case& each, const Discretization& on, const State& state,
                   const State& rate) {
  State more = state;
  State less = state;
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    more.values[i] += rate.values[i];
    less.values[i] -= rate.values[i];
  }
  return (energy(each.system, on, each.data, more) - energy(each.system, on, each.data, less)) / 2;
}

TEST(Solver, KeepsTheEnergyOfSeveralMaterialsOrLosesIt) {
  for (const double alpha : {0.0, 1.0}) {
    MaxwellOptions options;
    options.alpha = alpha;
    options.has_materials = true;
    options.conductors = testing::tags(3);
    Case each{"materials", maxwell(options), testing::box(3, 2, 0.2)};
    const auto on = on_box(each.box, 3);
    for (std::size_t i = 0; i < on->element_count(); ++i) {
      each.data.materials["permittivity"].push_back(i % 3 == 0 ? 4 : 1);
      each.data.materials["permeability"].push_back(i % 2 == 0 ? 2 : 1);
    }
    Solver solver(each.system, on, each.data, {runtime::Device::host()});
    State state = testing::random_state(6, *on);
    solver.set_state(state);
    State rate = solver.right_hand_side();
    for (double& value : rate.values) {
      value *= 1e-3;  // to the size of the state
    }
    const double change = energy_rate(each, *on, state, rate);
    const double size = energy(each.system, *on, each.data, state);
    if (alpha == 0) {
      EXPECT_LT(std::abs(change), 1e-13 * size);
    } else {
      EXPECT_LT(change, -1e-3 * size);
    }
  }
}

TEST(Solver, KeepsConstantStates) {
  Case gas = testing::all_cases().back();
  ASSERT_EQ(gas.name, "euler");
  const Case waves = {"maxwell", maxwell({}), testing::box(3, 3, 0.2, true)};
  for (const auto& [each, values] : std::vector<std::pair<Case, std::vector<double>>>{
           {gas, {1, 2.5, 0.3, -0.1, 0.2}}, {waves, {1, -2, 0.5, 3, -1, 2}}}) {
    SCOPED_TRACE(each.name);
    const auto on = on_box(each.box, 3);
    Solver solver(each.system, on, each.data, {runtime::Device::host()});
    solver.set_state(
        interpolate(*on, values.size(), [&state = values](const Point&) { return state; }));
    EXPECT_LT(testing::largest(solver.right_hand_side()), 1e-12);
  }
}

// The right-hand side is the same whether the fluxes of a linear system are integrated by parts
// once or twice.
TEST(Solver, StrongAndWeakFormsAgree) {
  for (Case each : testing::all_cases()) {
    if (each.system.form == SystemForm::weak) {
      continue;
    }
    SCOPED_TRACE(each.name);
    const int order = each.system.dimension == 3 ? 4 : 3;
    const auto on = on_box(each.box, order);
    const State state = testing::random_state(each.system.fields.size(), *on);
    const SolverOptions options{runtime::Device::host()};
    Solver strong(each.system, on, each.data, options);
    strong.set_state(state, 0.25);
    System other = each.system;
    other.form = SystemForm::weak;
    FluxVector through(std::vector<FluxExpr>(other.fields.size(), FluxExpr(0)), "");
    const FluxVector n = normal(other.dimension);
    for (int axis = 0; axis < other.dimension; ++axis) {
      through =
          through + n[axis] * concatenate({other.flux[static_cast<std::size_t>(axis)]}).on_axes("");
    }
    other.surface = interior(through) - concatenate({other.surface}).on_axes("");
    Solver weak(other, on, each.data, options);
    weak.set_state(state, 0.25);
    EXPECT_LT(testing::relative_difference(weak.right_hand_side(), strong.right_hand_side()),
              2e-14);
  }
}

// Steps of 1.1 times the rule are stable at every order, of 3 times they are not; of the rule's own
// length they are on perturbed meshes, too.
TEST(Solver, IsStableAsFarAsTheRuleSays) {
  for (int order = 1; order <= 4; ++order) {
    for (const double perturbation : {0.0, 0.2}) {
      for (const double courant :
           perturbation > 0 ? std::vector<double>{1} : std::vector{1.1, 3.0}) {
        SCOPED_TRACE(std::to_string(order) + ", " + std::to_string(courant));
        const Case each = testing::plain_maxwell(1, testing::box(3, 2, perturbation));
        SolverOptions options{runtime::Device::host()};
        options.courant = courant;
        Solver solver(each.system, on_box(each.box, order), {}, options);
        solver.set_state(testing::random_state(6, solver.discretization()));
        const double before = solver.energy();
        const double step = solver.time_step();
        for (int i = 0; i < 300; ++i) {
          solver.step(step);
        }
        if (courant < 2) {
          EXPECT_LT(solver.energy(), before);
        } else {
          EXPECT_FALSE(solver.energy() < 1e3 * before);
        }
      }
    }
  }
}

TEST(Solver, ReportsProgressAndLosesEnergyInEveryStep) {
  Solver solver = cavity_solver(3);
  solver.set_state(testing::random_state(3, solver.discretization()));
  double energy = solver.energy();
  long long reports = 0;
  solver.run_until(0.05, {.report_every = 1, .report = [&](const Progress& progress) {
                            EXPECT_LT(progress.energy, energy);
                            energy = progress.energy;
                            EXPECT_EQ(progress.steps, ++reports);
                            EXPECT_EQ(progress.end, 0.05);
                            EXPECT_GE(progress.seconds_left, 0);
                          }});
  EXPECT_EQ(reports, solver.steps());
  EXPECT_EQ(solver.time(), 0.05);
  EXPECT_EQ(solver.energy(), energy);
}

TEST(Solver, IsUnstableForTooLongSteps) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 2, 0.2));
  for (const double courant : {1.0, 50.0}) {
    SolverOptions options{runtime::Device::host()};
    options.courant = courant;
    Solver solver(each.system, on_box(each.box, 2), {}, options);
    solver.set_state(testing::random_state(6, solver.discretization()));
    const double before = solver.energy();
    const double end = 100 * solver.time_step();
    if (courant == 1) {
      solver.run_until(end);
      EXPECT_LT(solver.energy(), before);
    } else {
      EXPECT_ERROR("dg.solver.not_finite", solver.run_until(end));
    }
  }
}

TEST(Solver, ResumesWithTheSameBits) {
  const std::string path = ::testing::TempDir() + "dg_checkpoint";
  Solver whole = cavity_solver(3);
  const State start = testing::random_state(3, whole.discretization());
  whole.set_state(start);
  Solver first = cavity_solver(3);
  first.set_state(start);
  for (int step = 0; step < 7; ++step) {
    whole.step(0.01);
  }
  for (int step = 0; step < 3; ++step) {
    first.step(0.01);
  }
  first.save_checkpoint(path);
  Solver second = cavity_solver(3);
  second.load_checkpoint(path);
  EXPECT_EQ(second.steps(), 3);
  for (int step = 0; step < 4; ++step) {
    second.step(0.01);
  }
  EXPECT_EQ(second.time(), whole.time());
  EXPECT_EQ(second.state().values, whole.state().values);
}

// Stopped amid its steps, a run goes on with steps of the same length, and reaches the same bits.
TEST(Solver, StoppedRunsGoOnWithTheSameSteps) {
  const std::string path = ::testing::TempDir() + "dg_stopped";
  Solver whole = cavity_solver(3);
  const State start = testing::random_state(3, whole.discretization());
  whole.set_state(start);
  EXPECT_TRUE(whole.run_until(0.3));
  ASSERT_GT(whole.steps(), 10);
  Solver first = cavity_solver(3);
  first.set_state(start);
  EXPECT_FALSE(first.run_until(0.3, {.is_stopped = [&] { return first.steps() == 7; }}));
  EXPECT_EQ(first.steps(), 7);
  EXPECT_LT(first.time(), 0.3);
  first.save_checkpoint(path);
  Solver second = cavity_solver(3);
  second.load_checkpoint(path);
  EXPECT_TRUE(second.run_until(0.3));
  EXPECT_TRUE(first.run_until(0.3));
  for (const Solver* each : {&first, &second}) {
    EXPECT_EQ(each->time(), 0.3);
    EXPECT_EQ(each->steps(), whole.steps());
    EXPECT_EQ(each->state().values, whole.state().values);
  }
  // a step of another length ends the plan
  first.set_state(start);
  EXPECT_FALSE(first.run_until(0.3, {.is_stopped = [] { return true; }}));
  first.step(0.05);
  EXPECT_TRUE(first.run_until(0.3));
  EXPECT_EQ(first.time(), 0.3);
}

TEST(Solver, ReportsByTheClockToo) {
  Solver solver = cavity_solver(3);
  solver.set_state(testing::random_state(3, solver.discretization()));
  long long reports = 0;
  solver.run_until(0.05, {.report_seconds = 1e-9, .report = [&](const Progress&) { ++reports; }});
  EXPECT_GE(reports, 2);
  reports = 0;
  solver.run_until(0.1, {.report_seconds = 1e9, .report = [&](const Progress&) { ++reports; }});
  EXPECT_EQ(reports, 1);
}

TEST(Solver, NamesTheElementThatIsNoNumber) {
  Solver solver = cavity_solver(2);
  State state = testing::random_state(3, solver.discretization());
  state.at(1, 5, 2) = NAN;
  solver.set_state(state, 0.5);
  try {
    solver.run_until(1);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "dg.solver.not_finite");
    EXPECT_NE(error.message().find("'hx' is nan in element 5 at time 0.5 after 0 steps"),
              std::string::npos)
        << error.message();
  }
}

TEST(Solver, TunesOnceAndRemembers) {
  const Case each = {"burgers", burgers(), testing::box(1, 40, 0, true)};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    SolverOptions options{device, Precision::single};
    options.wisdom_path = ::testing::TempDir() + "dg_solver_wisdom.jsonl";
    std::remove(options.wisdom_path.c_str());
    const auto on = on_box(each.box, 1);
    const State state = testing::random_state(1, *on);
    const State expected = reference_right_hand_side(each.system, *on, {}, state);
    for (const bool tune : {true, true, false}) {
      options.tune = tune;
      Solver solver(each.system, on, {}, options);
      solver.set_state(state);
      EXPECT_LT(testing::relative_difference(solver.right_hand_side(), expected), single_tolerance);
    }
    std::ifstream file(options.wisdom_path);
    const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'),
              device.info().id.kind == runtime::BackendKind::host ? 0 : 1);
  }
}

TEST(Solver, RefusesForeignCheckpoints) {
  const std::string path = ::testing::TempDir() + "dg_foreign_checkpoint";
  Solver solver = cavity_solver(2);
  EXPECT_ERROR("dg.checkpoint.unreadable", solver.load_checkpoint(path + ".missing"));
  EXPECT_ERROR("dg.checkpoint.unwritable", solver.save_checkpoint(path + ".missing/file"));
  solver.save_checkpoint(path);
  EXPECT_ERROR("dg.checkpoint.mismatch", cavity_solver(3).load_checkpoint(path));
  EXPECT_ERROR("dg.checkpoint.mismatch", cavity_solver(2, Precision::single).load_checkpoint(path));
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_ERROR("dg.checkpoint.unreadable", solver.load_checkpoint(path));
}

TEST(Solver, RefusesWhatDoesNotFit) {
  Solver solver = cavity_solver(2);
  EXPECT_ERROR("dg.solver.end_time", solver.run_until(std::numeric_limits<double>::infinity()));
  EXPECT_ERROR("dg.solver.state_shape", solver.set_state(State(2, solver.discretization())));
  EXPECT_ERROR("dg.interpolate.field_count",
               (void)interpolate(solver.discretization(), 3,
                                 [](const Point&) { return std::vector<double>{1}; }));
  // more conditions than a link can tell
  Case each = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 12));
  Mesh mesh = make_box_mesh(each.box);
  const FluxVector conductor = each.system.boundaries.begin()->second;
  each.system.boundaries.clear();
  mesh.boundary_tags.clear();
  for (BoundaryFace& face : mesh.boundary_faces) {
    face.tag = static_cast<int>(mesh.boundary_tags.size());
    mesh.boundary_tags.push_back("side " + std::to_string(face.tag));
    each.system.boundaries[mesh.boundary_tags.back()] = FluxExpr(1.0 + face.tag) * conductor;
  }
  const auto on = std::make_shared<const Discretization>(discretize(mesh, 1));
  EXPECT_ERROR("dg.solver.too_large", Solver(each.system, on, {}, {runtime::Device::host()}));
}

TEST(Defect07, FunctionsOfBoundaryValuesGiveAllComponentsThatAreRead) {
  Case each = testing::full_maxwell();
  const auto on = on_box(each.box, 1);
  // asked at the boundary that reads them, and nowhere else
  each.data.boundary_values["wave"] = [](const Point& x) {
    return x[2] < 1e-12 ? std::vector<double>(6, 1) : std::vector<double>();
  };
  EXPECT_NO_THROW(Solver(each.system, on, each.data, {runtime::Device::host()}));
  each.data.boundary_values["wave"] = [](const Point& x) {
    return std::vector<double>(x[0] < 0.9 ? 6 : 5, 1);
  };
  EXPECT_ERROR("dg.check_system.boundary_components",
               Solver(each.system, on, each.data, {runtime::Device::host()}));
}

Solver with_speed(const FluxExpr& speed, const FluxExpr& source = 0) {
  Case each{"burgers", burgers(), testing::box(1, 8, 0, true)};
  each.system.speed = speed;
  if (source.kind() != FluxKind::constant) {
    each.system.source = {source};
  }
  each.data.parameters["c"] = -1;
  each.data.signals["s"] = [](double time) { return time < 0.5 ? 1 : -1; };
  Solver solver(each.system, on_box(each.box, 2), each.data, {runtime::Device::host()});
  State ones(1, solver.discretization());
  std::fill(ones.values.begin(), ones.values.end(), 1);
  solver.set_state(ones);
  return solver;
}

TEST(Defect08, SpeedsThatGiveNoTimeStepAreRefused) {
  const FluxExpr u = field(0, "u");
  for (const FluxExpr& speed :
       {FluxExpr(0), FluxExpr(-1), parameter("c"), 1 / (1 + parameter("c")), sqrt(parameter("c")),
        FluxExpr(HUGE_VAL), FluxExpr(1e-320), -u, u - u * u, 1 / (u - 1), sqrt(u - 2)}) {
    SCOPED_TRACE(to_string(speed));
    Solver solver = with_speed(speed);
    EXPECT_ERROR("dg.solver.bad_speed", (void)solver.time_step());
    EXPECT_ERROR("dg.solver.bad_speed", solver.run_until(1));
    EXPECT_EQ(solver.time(), 0);
  }
  Solver turns = with_speed(parameter("s"));
  EXPECT_GT(turns.time_step(), 0);
  EXPECT_ERROR("dg.solver.bad_speed", turns.run_until(1));
  EXPECT_GE(turns.time(), 0.5) << "the speed is looked at again as time goes on";
}

// u_t + (u^2/2)_x = 4 from 1 is 1 + 4 t, whose waves become 17 times as fast: of the first step's
// length all would be unstable.
TEST(Defect08, StepsFollowTheSpeedOfTheState) {
  Case each{"burgers", burgers(), testing::box(1, 40, 0.2, true)};
  each.system.source = {FluxExpr(4)};
  for (const Precision precision : {Precision::single, Precision::double_}) {
    Solver solver(each.system, on_box(each.box, 3), {}, {runtime::Device::host(), precision});
    State state(1, solver.discretization());
    std::fill(state.values.begin(), state.values.end(), 1);
    state.values[7] += 1e-3;  // which must not grow
    solver.set_state(state);
    const double first = solver.time_step();
    solver.run_until(4);
    EXPECT_EQ(solver.time(), 4);
    EXPECT_NEAR(solver.time_step(), first / 17, 1e-3 * first);
    const State end = solver.state();
    for (const double value : end.values) {
      ASSERT_NEAR(value, 17, 2e-2);
    }
  }
}

TEST(Defect08, StepsLeadFurther) {
  Solver solver = cavity_solver(2);
  for (const double step : {0.0, -0.1, std::nan(""), HUGE_VAL, 5e-324}) {
    solver.set_state(State(3, solver.discretization()), 1);
    EXPECT_ERROR("dg.solver.bad_step", solver.step(step));
    EXPECT_EQ(solver.time(), 1);
  }
  EXPECT_ERROR("dg.solver.bad_time", solver.set_state(State(3, solver.discretization()), NAN));
}

TEST(Attack12, RunsOfTooManyStepsAreRefused) {
  Solver solver = cavity_solver(2);
  try {
    solver.run_until(1e300);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "dg.solver.too_many_steps");
    EXPECT_NE(error.message().find("from time 0 to 1e+300 a run takes"), std::string::npos)
        << error.message();
  }
  EXPECT_ERROR("dg.solver.too_many_steps", solver.run_until(1, {.most_steps = 10}));
  EXPECT_TRUE(solver.run_until(1, {.most_steps = 1000}));
  // numbers that are none of single precision
  Case small = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 2));
  small.box.upper = {1e-40, 1e-40, 1};
  const auto on = on_box(small.box, 1);
  EXPECT_ERROR("dg.solver.single_range",
               Solver(small.system, on, {}, {runtime::Device::host(), Precision::single}));
  EXPECT_NO_THROW(Solver(small.system, on, {}, {runtime::Device::host()}));
}

// One change of a run with everything; the state would fit all the same.
TEST(Defect10, CheckpointsAreOfOneRun) {
  const std::string path = ::testing::TempDir() + "dg_checkpoint_of_one_run";
  const auto solver_of = [](const Case& each) {
    return Solver(each.system, on_box(each.box, 1), each.data, {runtime::Device::host()});
  };
  const Case original = testing::full_maxwell();
  Solver solver = solver_of(original);
  solver.set_state(testing::random_state(6, solver.discretization()), 0.5);
  solver.save_checkpoint(path);
  Solver same = solver_of(original);
  same.load_checkpoint(path);
  EXPECT_EQ(same.time(), 0.5);
  EXPECT_EQ(same.state().values, solver.state().values);
  const auto expect_refused = [&](const char* what, auto&& change) {
    SCOPED_TRACE(what);
    Case each = original;
    change(each);
    try {
      solver_of(each).load_checkpoint(path);
      ADD_FAILURE() << "was loaded";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.code(), "dg.checkpoint.mismatch");
      EXPECT_NE(error.message().find(std::string("it has '") + what), std::string::npos)
          << error.message();
    }
  };
  expect_refused("materials", [](Case& each) { each.data.materials["permittivity"][3] += 1e-9; });
  expect_refused("parameters", [](Case& each) { each.data.parameters["alpha"] = 0.5; });
  expect_refused("parameters", [](Case& each) {
    each.data.signals["pulse"] = [](double time) { return 1 - time; };
  });
  expect_refused("boundary values", [](Case& each) {
    each.data.boundary_values["wave"] = [](const Point& x) {
      return std::vector<double>{x[0], x[1], x[2], 1, 1, x[1]};
    };
  });
  expect_refused("boundary conditions",
                 [](Case& each) { each.system.boundaries["+x"] = each.system.boundaries["-x"]; });
  expect_refused("fluxes", [](Case& each) { each.system.surface = 0.5 * each.system.surface; });
  expect_refused("fluxes", [](Case& each) { each.system.source = {}; });
  expect_refused("mesh", [](Case& each) { each.box.perturbation = 0.1; });
  // what nobody reads is of no account
  Case unread = original;
  unread.data.parameters["unread"] = 3;
  EXPECT_NO_THROW(solver_of(unread).load_checkpoint(path));
  // the format before this one
  std::ofstream(path) << "rtcg dg checkpoint 2: 'maxwell'\n0x0p+0 1 2 3 4 5\n";
  EXPECT_ERROR("dg.checkpoint.old_format", solver.load_checkpoint(path));
}

// Each byte counts: of a flipped bit a run went on with another state, or at no time.
TEST(Attack12, CheckpointsHaveAChecksum) {
  const std::string path = ::testing::TempDir() + "dg_checkpoint_with_a_checksum";
  Solver solver = cavity_solver(2);
  solver.set_state(testing::random_state(3, solver.discretization()));
  solver.run_until(0.1, {.is_stopped = [&] { return solver.steps() == 1; }});
  solver.save_checkpoint(path);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::vector<double> before = solver.state().values;
  for (std::size_t place = 0; place < bytes.size(); place += place < 600 ? 1 : 97) {
    for (const int bit : {0, 6}) {
      std::string flipped = bytes;
      flipped[place] = static_cast<char>(flipped[place] ^ (1 << bit));
      std::ofstream(path, std::ios::binary) << flipped;
      try {
        solver.load_checkpoint(path);
        FAIL() << "bit " << bit << " of byte " << place << " was flipped";
      } catch (const InvalidInput& error) {
        ASSERT_TRUE(error.code().starts_with("dg.checkpoint.")) << error.what();
      }
    }
  }
  EXPECT_EQ(solver.state().values, before) << "a refused checkpoint changes nothing";
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_NO_THROW(solver.load_checkpoint(path));
}

TEST(Defect14, SolversNeedADiscretizationAndAWholeState) {
  const Case each = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 2));
  EXPECT_ERROR("dg.solver.no_discretization",
               Solver(each.system, nullptr, {}, {runtime::Device::host()}));
  EXPECT_ERROR(
      "dg.solver.no_discretization",
      Solver(each.system, std::make_shared<const Discretization>(), {}, {runtime::Device::host()}));
  Solver solver = cavity_solver(2);
  State few(3, solver.discretization());
  few.values.pop_back();
  EXPECT_ERROR("dg.solver.state_shape", solver.set_state(few));
  // a tag of no face: tables of boundary values are empty
  Case torus = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 3, 0, true));
  Mesh mesh = make_box_mesh(torus.box);
  mesh.boundary_tags = {"nowhere"};
  torus.system.boundaries = {
      {"nowhere", FluxVector(std::vector<FluxExpr>(3, boundary_value("g", 0)), "")}};
  torus.data.boundary_values["g"] = [](const Point&) { return std::vector<double>{1}; };
  Solver empty(torus.system, std::make_shared<const Discretization>(discretize(mesh, 1)),
               torus.data, {runtime::Device::host()});
  empty.run_until(0.1);
  EXPECT_EQ(testing::largest(empty.state()), 0);
}

// Queued steps are few: a run ends soon after it is stopped, however long its steps are.
TEST(Attack06, AStoppedRunEndsWithinAStep) {
  using Clock = std::chrono::steady_clock;
  const Case each = testing::plain_maxwell(1, testing::box(3, 8));
  Solver solver(each.system, on_box(each.box, 4), each.data, {runtime::Device::host()});
  solver.set_state(testing::random_state(6, solver.discretization()));
  const double step = solver.time_step();
  solver.step(step);
  solver.synchronize();
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  // a step and the state's way back; all of 35 queued steps would take longer. Other programs make
  // one run longer, but not each of many
  double after = 0;
  double limit = 0;
  for (int run = 0; run < 20 && after >= limit; ++run) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < 4; ++i) {
      solver.step(step);
    }
    solver.synchronize();
    limit = 12 * seconds_since(begin) / 4 + 0.05;
    const std::int64_t last = solver.steps() + 36;
    Clock::time_point stopped{};
    EXPECT_FALSE(solver.run_until(1000, {.is_stopped = [&] {
                                    stopped = Clock::now();
                                    return solver.steps() == last;
                                  }}));
    solver.synchronize();
    after = seconds_since(stopped);
  }
  EXPECT_LT(after, limit);
}

}  // namespace
}  // namespace rtcg::dg
