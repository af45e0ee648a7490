#include "rtcg/dg/equations/problem.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/solver.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

struct Outcome {
  double error = 0;
  double energy_before = 0;
  double energy = 0;
};

Outcome run(const std::string& name, const BoxOptions& box, const ProblemOptions& options,
            int order, double end) {
  const auto on = std::make_shared<const Discretization>(discretize(make_box_mesh(box), order));
  const Problem problem = make_problem(name, on->mesh, options);
  const auto at = [&](double time) {
    return interpolate(*on, problem.system.fields.size(),
                       [&](const Point& x) { return problem.state(x, time); });
  };
  Solver solver(problem.system, on, problem.data, {runtime::Device::host()});
  solver.set_state(at(0));
  Outcome result;
  result.energy_before = solver.energy();
  EXPECT_TRUE(solver.run_until(end));
  result.energy = solver.energy();
  result.error = l2_distance(*on, solver.state(), at(end)) / l2_norm(*on, at(end));
  return result;
}

TEST(Problem, SolutionsAreExact) {
  for (const std::string& name : problem_names()) {
    SCOPED_TRACE(name);
    BoxOptions box = problem_box(name);
    // the vortex is narrow in its box
    const int cells = name == "euler" ? 12 : box.dimension == 3 ? 3 : 6;
    box.cells = {cells, cells, cells};
    EXPECT_LT(run(name, box, {}, 3, 0.2).error, 0.01);
  }
}

TEST(Problem, SolutionsAreExactInOtherDimensions) {
  for (const char* name : {"advection", "wave"}) {
    for (const std::array<int, 3>& cells :
         {std::array<int, 3>{8, 0, 0}, std::array<int, 3>{3, 3, 3}}) {
      SCOPED_TRACE(name);
      EXPECT_LT(run(name, problem_box(name, cells), {}, 3, 0.05).error, 0.1);
    }
  }
}

// Values before the shock come from behind, those behind it from ahead; at time 3 the wave is a saw
// whose teeth sink. Both sides of a value and the line that it came along are looked at.
TEST(Problem, BurgersWaveGoesOnBehindItsShock) {
  const Problem problem = make_problem("burgers", make_box_mesh(problem_box("burgers")), {});
  for (const double time : {0.5, 0.999, 1.0, 1.5, 3.0}) {
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
      const Point x = {(i + 0.5) / 1000, 0, 0};
      const double u = problem.state(x, time).at(0);
      const double from = x[0] - u * time;
      EXPECT_NEAR(u, 1 + std::sin(2 * std::numbers::pi * from) / (2 * std::numbers::pi), 1e-13);
      sum += u / 1000;
    }
    EXPECT_NEAR(sum, 1, 1e-6);  // mass is kept
    const double shock = time + 0.5;
    const double before = problem.state({shock - 1e-6, 0, 0}, time).at(0);
    const double behind = problem.state({shock + 1e-6, 0, 0}, time).at(0);
    EXPECT_NEAR(before + behind, 2, 1e-12);  // so that it moves with speed 1
    EXPECT_EQ(before - behind > 0.1, time > 1) << time;
    EXPECT_GE(before, behind);
  }
}

TEST(Problem, PulsesLoseEnergyAndLeaveThroughAbsorbers) {
  for (const std::string& name : problem_names()) {
    if (name == "euler") {  // whose energy is no sum of squares
      continue;
    }
    SCOPED_TRACE(name);
    BoxOptions box = problem_box(name);
    box.cells = {6, 6, 6};
    ProblemOptions options;
    options.start = ProblemStart::pulse;
    const Outcome kept = run(name, box, options, 2, 0.1);
    EXPECT_LE(kept.energy, kept.energy_before);
    const std::vector<std::string> known = problem_conditions(name);
    if (known.back() == "absorbing" && box.dimension == 2) {
      for (const char* tag : {"-x", "+x", "-y", "+y"}) {
        options.conditions[tag] = "absorbing";
      }
      const Outcome gone = run(name, box, options, 2, 1.5);
      EXPECT_LT(gone.energy, 0.15 * gone.energy_before);
    }
  }
}

TEST(Problem, KnowsItsBoundaryConditions) {
  for (const std::string& name : problem_names()) {
    for (const std::string& condition : problem_conditions(name)) {
      SCOPED_TRACE(name + ", " + condition);
      BoxOptions box = problem_box(name);
      box.periodic = {false, false, false};
      box.cells = {3, 3, 3};
      const Mesh mesh = make_box_mesh(box);
      ProblemOptions options;
      options.conditions["+x"] = condition;
      const Problem problem = make_problem(name, mesh, options);
      EXPECT_FALSE(problem.is_exact);
      EXPECT_EQ(problem.system.boundaries.size(), mesh.boundary_tags.size());
      EXPECT_NO_THROW(check_system(problem.system, discretize(mesh, 1), problem.data));
    }
  }
}

TEST(Problem, RefusesWhatItDoesNotKnow) {
  const Mesh square = make_box_mesh(problem_box("wave", {3, 3, 0}));
  EXPECT_ERROR("dg.make_problem.unknown_name", make_problem("heat", square));
  EXPECT_ERROR("dg.make_problem.unknown_name", problem_box("heat"));
  EXPECT_ERROR("dg.make_problem.bad_dimension", make_problem("maxwell", square));
  ProblemOptions options;
  options.conditions["+x"] = "pec";
  EXPECT_ERROR("dg.make_problem.unknown_condition", make_problem("wave", square, options));
  options.conditions = {{"wall", "dirichlet"}};
  EXPECT_ERROR("dg.make_problem.unknown_condition", make_problem("wave", square, options));
}

}  // namespace
}  // namespace rtcg::dg
