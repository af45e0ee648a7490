// Errors of solutions that are known, against figures of an independent program in double
// precision. Entries hold to five digits, so orders of convergence are checked with them.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/solver.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg {
namespace {

using std::numbers::pi;
using testing::Case;
using Solution = std::function<std::vector<double>(const Point&, double)>;

struct Outcome {
  double error = 0;
  double energy_before = 0;
  double energy_after = 0;
  double gain = 0;         ///< of the integral of the first field
  bool has_grown = false;  ///< the energy in a step
  long long steps = 0;
};

Outcome run(const Case& each, int order, double end, const Solution& exact,
            const SolverOptions& options = {.device = runtime::Device::host()}) {
  const auto on =
      std::make_shared<const Discretization>(discretize(make_box_mesh(each.box), order));
  Solver solver(each.system, on, each.data, options);
  const auto at = [&](double time) {
    return interpolate(*on, each.system.fields.size(),
                       [&](const Point& x) { return exact(x, time); });
  };
  solver.set_state(at(0));
  Outcome result;
  result.energy_before = solver.energy();
  result.gain = -integral(*on, solver.state(), 0);
  double last = result.energy_before;
  solver.run_until(end, {.report_every = on->mesh.dimension < 3 ? 1 : 0,
                         .report = [&](const Progress& progress) {
                           result.has_grown = result.has_grown || progress.energy > last;
                           last = progress.energy;
                         }});
  result.gain += integral(*on, solver.state(), 0);
  result.error = l2_distance(*on, solver.state(), at(end));
  result.energy_after = solver.energy();
  result.steps = solver.steps();
  return result;
}

void expect_digits(double found, double expected) {
  EXPECT_NEAR(found, expected, 2e-5 * expected);
}

// E along z, H along x and y, in a square cavity.
std::vector<double> square_mode(const Point& x, double t) {
  const double w = pi * std::sqrt(2.0);
  return {std::sin(pi * x[0]) * std::sin(pi * x[1]) * std::cos(w * t),
          -pi / w * std::sin(pi * x[0]) * std::cos(pi * x[1]) * std::sin(w * t),
          pi / w * std::cos(pi * x[0]) * std::sin(pi * x[1]) * std::sin(w * t)};
}

struct Entry {
  int order;
  int cells;
  double error;
};

TEST(Convergence, SquareCavityByTheUpwindFlux) {
  for (const Entry& each : std::vector<Entry>{
           {1, 2, 1.443132e-01}, {1, 4, 3.917436e-02}, {1, 8, 9.998877e-03}, {1, 16, 2.590136e-03},
           {2, 2, 3.007966e-02}, {2, 4, 3.986691e-03}, {2, 8, 5.104217e-04}, {2, 16, 6.393501e-05},
           {3, 2, 4.740402e-03}, {3, 4, 3.004305e-04}, {3, 8, 1.914342e-05}, {3, 16, 1.199040e-06},
           {4, 2, 6.677943e-04}, {4, 4, 2.165962e-05}, {4, 8, 6.746661e-07}, {4, 16, 2.096175e-08},
           {5, 2, 7.993326e-05}, {5, 4, 1.317765e-06}, {5, 8, 2.092077e-08}, {5, 16, 3.240858e-10},
           {6, 2, 8.605460e-06}, {6, 4, 7.110258e-08}, {6, 8, 5.660799e-10}}) {
    SCOPED_TRACE(std::to_string(each.order) + " on " + std::to_string(each.cells));
    const Case cavity =
        testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, each.cells));
    expect_digits(run(cavity, each.order, 1, square_mode).error, each.error);
  }
}

TEST(Convergence, SquareCavityByTheCentralFlux) {
  for (const Entry& each : std::vector<Entry>{{1, 4, 1.003645e-01},
                                              {1, 8, 5.201220e-02},
                                              {1, 16, 2.668006e-02},
                                              {2, 4, 1.218432e-02},
                                              {2, 8, 3.105150e-03},
                                              {2, 16, 8.061485e-04},
                                              {3, 4, 1.444490e-03},
                                              {3, 8, 2.005317e-04},
                                              {3, 16, 2.639555e-05},
                                              {4, 4, 1.167073e-04},
                                              {4, 8, 8.388116e-06},
                                              {4, 16, 5.592722e-07},
                                              {5, 4, 9.014349e-06},
                                              {5, 8, 3.124039e-07},
                                              {5, 16, 1.032736e-08},
                                              {6, 4, 5.096603e-07},
                                              {6, 8, 9.367251e-09}}) {
    SCOPED_TRACE(std::to_string(each.order) + " on " + std::to_string(each.cells));
    const Case cavity =
        testing::cavity(MaxwellMode::transverse_magnetic, 0, testing::box(2, each.cells));
    expect_digits(run(cavity, each.order, 1, square_mode).error, each.error);
  }
}

// A mode of the unit cube.
std::vector<double> cube_mode(const Point& x, double t) {
  const double w = pi * std::sqrt(3.0);
  const std::array<double, 3> amplitude = {1, 1, -2};
  std::array<double, 3> c{};
  std::array<double, 3> s{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    c[axis] = std::cos(pi * x[axis]);
    s[axis] = std::sin(pi * x[axis]);
  }
  const double electric = std::cos(w * t);
  const double magnetic = -std::sin(w * t) / w * pi;
  return {amplitude[0] * c[0] * s[1] * s[2] * electric,
          amplitude[1] * s[0] * c[1] * s[2] * electric,
          amplitude[2] * s[0] * s[1] * c[2] * electric,
          (amplitude[2] - amplitude[1]) * s[0] * c[1] * c[2] * magnetic,
          (amplitude[0] - amplitude[2]) * c[0] * s[1] * c[2] * magnetic,
          (amplitude[1] - amplitude[0]) * c[0] * c[1] * s[2] * magnetic};
}

struct CubeEntry {
  int order;
  int cells;
  double upwind;
  double central;
  double loss;          // of energy, upwind; 0: not known
  double central_loss;  // what the steps in time lose, since the central flux loses nothing
};

TEST(Convergence, CubicCavity) {
  for (const CubeEntry& each :
       std::vector<CubeEntry>{{1, 2, 3.037557e-01, 4.264513e-01, 0, 0},
                              {1, 4, 1.051889e-01, 2.037927e-01, 4.9e-2, 8.4e-4},
                              {2, 2, 9.798451e-02, 1.781899e-01, 0, 0},
                              {2, 4, 1.575513e-02, 3.567137e-02, 1.2e-3, 4.2e-6},
                              {3, 2, 2.411108e-02, 4.512032e-02, 0, 0},
                              {3, 4, 1.635831e-03, 4.144064e-03, 1.9e-5, 4.1e-8},
                              {4, 2, 5.152478e-03, 1.055672e-02, 0, 0},
                              {4, 4, 1.881969e-04, 5.387704e-04, 2.2e-7, 1.1e-9},
                              {5, 2, 9.694921e-04, 2.028514e-03, 0, 0},
                              {5, 4, 1.626380e-05, 4.598351e-05, 1.9e-9, 1.4e-10}}) {
    SCOPED_TRACE(std::to_string(each.order) + " on " + std::to_string(each.cells));
    const BoxOptions box = testing::box(3, each.cells);
    const Outcome upwind = run(testing::plain_maxwell(1, box), each.order, 0.5, cube_mode);
    expect_digits(upwind.error, each.upwind);
    if (each.loss > 0) {
      EXPECT_NEAR(1 - upwind.energy_after / upwind.energy_before, each.loss, 0.04 * each.loss);
    }
    const Outcome central = run(testing::plain_maxwell(0, box), each.order, 0.5, cube_mode);
    expect_digits(central.error, each.central);
    if (each.central_loss > 0) {
      EXPECT_NEAR(1 - central.energy_after / central.energy_before, each.central_loss,
                  0.04 * each.central_loss);
    }
  }
}

TEST(Convergence, CubicCavityOnFinerMeshes) {
  for (const CubeEntry& each : std::vector<CubeEntry>{{1, 8, 2.838578e-02, 5.837076e-02, 0, 0},
                                                      {2, 8, 2.090930e-03, 6.168342e-03, 0, 0},
                                                      {3, 8, 1.043896e-04, 4.235210e-04, 0, 0}}) {
    SCOPED_TRACE(each.order);
    const BoxOptions box = testing::box(3, each.cells);
    expect_digits(run(testing::plain_maxwell(1, box), each.order, 0.5, cube_mode).error,
                  each.upwind);
    expect_digits(run(testing::plain_maxwell(0, box), each.order, 0.5, cube_mode).error,
                  each.central);
  }
}

// Vertices moved at random by 15 % of a cell: other meshes of about half the size, so that orders
// hold to a few tenths.
TEST(Convergence, SquareCavityOnPerturbedMeshes) {
  for (const double alpha : {0.0, 1.0}) {
    for (int order = 1; order <= 5; ++order) {
      SCOPED_TRACE(std::to_string(order) + ", " + std::to_string(alpha));
      std::vector<double> errors;
      for (const int cells : {4, 8}) {
        const Case cavity =
            testing::cavity(MaxwellMode::transverse_magnetic, alpha, testing::box(2, cells, 0.15));
        errors.push_back(run(cavity, order, 1, square_mode).error);
      }
      EXPECT_NEAR(std::log2(errors[0] / errors[1]), alpha == 1 ? order + 1 : order + 0.2,
                  alpha == 1 ? 0.3 : 0.5);
    }
  }
}

TEST(Convergence, CubicCavityInSinglePrecision) {
  SolverOptions options{runtime::Device::host(), Precision::single};
  const Outcome found =
      run(testing::plain_maxwell(1, testing::box(3, 4)), 3, 0.5, cube_mode, options);
  EXPECT_NEAR(found.error, 1.635837e-03, 1e-7);
  EXPECT_EQ(found.steps, 46);
}

// By one kernel a stage where that takes a moment to compile.
SolverOptions on_device(const runtime::Device& device) {
  SolverOptions options{device};
  const bool is_slow = device.info().id.kind == runtime::BackendKind::opencl;
  options.strategy = is_slow ? Strategy::split : Strategy::automatic;
  return options;
}

TEST(Convergence, CavitiesOnEveryDevice) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (!device.info().has_f64 || device.info().id.kind == runtime::BackendKind::host) {
      continue;
    }
    const SolverOptions options = on_device(device);
    for (const Entry& each : std::vector<Entry>{{1, 8, 9.998877e-03},
                                                {2, 4, 3.986691e-03},
                                                {3, 4, 3.004305e-04},
                                                {4, 4, 2.165962e-05}}) {
      SCOPED_TRACE(device.info().name + ", square, order " + std::to_string(each.order));
      const Case cavity =
          testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, each.cells));
      expect_digits(run(cavity, each.order, 1, square_mode, options).error, each.error);
    }
    for (const CubeEntry& each :
         std::vector<CubeEntry>{{1, 4, 1.051889e-01, 2.037927e-01, 4.9e-2, 8.4e-4},
                                {2, 4, 1.575513e-02, 3.567137e-02, 1.2e-3, 4.2e-6},
                                {3, 2, 2.411108e-02, 4.512032e-02, 0, 0},
                                {5, 2, 9.694921e-04, 2.028514e-03, 0, 0}}) {
      SCOPED_TRACE(device.info().name + ", cube, order " + std::to_string(each.order));
      const BoxOptions box = testing::box(3, each.cells);
      const Outcome upwind =
          run(testing::plain_maxwell(1, box), each.order, 0.5, cube_mode, options);
      expect_digits(upwind.error, each.upwind);
      if (each.loss > 0) {
        EXPECT_NEAR(1 - upwind.energy_after / upwind.energy_before, each.loss, 0.04 * each.loss);
      }
    }
  }
}

// On tensor cores, which take order 5; one tf32 a number would be off by more than 1e-4. Where
// there are none it is plain single precision.
TEST(Convergence, CubicCavityBySplitSingles) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(device.info().name);
    SolverOptions options = on_device(device);
    options.precision = Precision::single;
    options.split_singles = true;
    EXPECT_NEAR(
        run(testing::plain_maxwell(1, testing::box(3, 2)), 5, 0.5, cube_mode, options).error,
        9.694921e-04, 2e-6);
  }
}

TEST(Convergence, AdvectionInOneDimension) {
  const Solution wave = [](const Point& x, double t) {
    return std::vector<double>{std::sin(2 * pi * (x[0] - t))};
  };
  AdvectionOptions options;
  options.velocity = FluxVector({1});
  for (const Entry& each : std::vector<Entry>{{1, 4, 1.600790e-01},
                                              {1, 8, 3.279191e-02},
                                              {1, 16, 6.306995e-03},
                                              {1, 32, 1.387079e-03},
                                              {2, 4, 1.597457e-02},
                                              {2, 8, 2.047500e-03},
                                              {2, 16, 2.592648e-04},
                                              {2, 32, 3.253231e-05},
                                              {3, 4, 1.260166e-03},
                                              {3, 8, 9.004623e-05},
                                              {3, 16, 5.868158e-06},
                                              {3, 32, 3.661092e-07},
                                              {4, 4, 1.033910e-04},
                                              {4, 8, 3.243425e-06},
                                              {4, 16, 1.040879e-07},
                                              {4, 32, 3.404393e-09}}) {
    SCOPED_TRACE(std::to_string(each.order) + " on " + std::to_string(each.cells));
    const Case line{"advection", advection(options), testing::box(1, each.cells, 0, true)};
    expect_digits(run(line, each.order, 1, wave).error, each.error);
  }
}

TEST(Convergence, AdvectionInTwoDimensionsKeepsMass) {
  const Solution wave = [](const Point& x, double t) {
    return std::vector<double>{std::sin(2 * pi * (x[0] - t)) * std::sin(2 * pi * (x[1] - 0.5 * t))};
  };
  for (const auto& [flux, each] : std::vector<std::pair<AdvectionFlux, Entry>>{
           {AdvectionFlux::upwind, {2, 4, 2.219345e-02}},
           {AdvectionFlux::upwind, {2, 8, 4.020606e-03}},
           {AdvectionFlux::upwind, {2, 16, 5.617213e-04}},
           {AdvectionFlux::upwind, {3, 4, 5.005656e-03}},
           {AdvectionFlux::upwind, {3, 8, 3.135445e-04}},
           {AdvectionFlux::upwind, {3, 16, 1.960548e-05}},
           {AdvectionFlux::upwind, {4, 4, 6.214618e-04}},
           {AdvectionFlux::upwind, {4, 8, 2.334829e-05}},
           {AdvectionFlux::upwind, {4, 16, 7.663932e-07}},
           {AdvectionFlux::lax_friedrichs, {3, 4, 5.683511e-03}},
           {AdvectionFlux::lax_friedrichs, {3, 8, 2.985878e-04}},
           {AdvectionFlux::lax_friedrichs, {3, 16, 1.789398e-05}}}) {
    SCOPED_TRACE(std::to_string(each.order) + " on " + std::to_string(each.cells));
    AdvectionOptions options;
    options.velocity = {1, 0.5};
    options.flux = flux;
    const Case square{"advection", advection(options), testing::box(2, each.cells, 0, true)};
    const Outcome found = run(square, each.order, 0.5, wave);
    expect_digits(found.error, each.error);
    EXPECT_FALSE(found.has_grown);
    // sums of some thousand numbers around 1 times elements' sizes
    EXPECT_LT(std::abs(found.gain), 1e-15);
  }
}

// A cavity whose right half has four times the permittivity: a mode along x, with magnetic walls
// across y. With sines of k x and 2 k (1 - x), the tangential fields meet at x = 1/2 where
// tan(k/2) = sqrt(2).
std::vector<double> layered_mode(const Point& x, double t) {
  const double k = 2 * std::atan(std::sqrt(2.0));
  const bool is_left = x[0] < 0.5;
  const double right = std::sin(k / 2) / std::sin(k);
  const double e = is_left ? std::sin(k * x[0]) : right * std::sin(2 * k * (1 - x[0]));
  const double slope =
      is_left ? k * std::cos(k * x[0]) : -2 * k * right * std::cos(2 * k * (1 - x[0]));
  return {e * std::cos(k * t), 0, slope * std::sin(k * t) / k};
}

TEST(Convergence, TwoLayersOfDifferentMaterial) {
  for (const double alpha : {0.0, 1.0}) {
    for (int order = 1; order <= 3; ++order) {
      SCOPED_TRACE(std::to_string(order) + ", " + std::to_string(alpha));
      std::vector<double> errors;
      for (const int cells : {4, 8}) {
        MaxwellOptions options;
        options.mode = MaxwellMode::transverse_magnetic;
        options.alpha = alpha;
        options.has_materials = true;
        options.conductors = {"-x", "+x"};
        options.magnetic_conductors = {"-y", "+y"};
        Case cavity{"layers", maxwell(options), testing::box(2, cells)};
        const Mesh mesh = make_box_mesh(cavity.box);
        // the state at the interface is that of the element's own side
        const auto on = std::make_shared<const Discretization>(discretize(mesh, order));
        State start(3, *on);
        State end(3, *on);
        const std::vector<double> x = node_coordinates(mesh, on->element);
        const std::size_t points = on->element_count() * on->node_count();
        for (std::size_t element = 0; element < on->element_count(); ++element) {
          double centre = 0;
          for (std::size_t i = 0; i < 3; ++i) {
            centre += mesh.vertices[static_cast<std::size_t>(mesh.elements[element][i])][0] / 3;
          }
          cavity.data.materials["permittivity"].push_back(centre < 0.5 ? 1 : 4);
          cavity.data.materials["permeability"].push_back(1);
          for (std::size_t node = 0; node < on->node_count(); ++node) {
            const std::size_t point = element * on->node_count() + node;
            const Point at = {x[point] + (centre - x[point]) * 1e-14, x[points + point], 0};
            for (std::size_t field = 0; field < 3; ++field) {
              start.at(field, element, node) = layered_mode(at, 0)[field];
              end.at(field, element, node) = layered_mode(at, 0.7)[field];
            }
          }
        }
        Solver solver(cavity.system, on, cavity.data, {runtime::Device::host()});
        solver.set_state(start);
        const double before = solver.energy();
        solver.run_until(0.7);
        errors.push_back(l2_distance(*on, solver.state(), end));
        // of the central flux only the steps in time lose something
        const double loss = 1 - solver.energy() / before;
        EXPECT_GT(loss, -1e-12);
        if (alpha == 0 && order > 1) {
          EXPECT_LT(loss, 1e-5);
        }
      }
      EXPECT_GT(std::log2(errors[0] / errors[1]), order + (alpha == 1 ? 0.7 : -0.3))
          << errors[0] << " " << errors[1];
    }
  }
}

TEST(Convergence, IsentropicVortex) {
  Case vortex{"euler", euler(), testing::box(2, 12, 0, true)};
  vortex.box.lower = {0, -5, 0};
  vortex.box.upper = {10, 5, 0};
  std::vector<double> errors;
  for (const int cells : {12, 24}) {
    vortex.box.cells = {cells, cells, 0};
    errors.push_back(run(vortex, 3, 0.2, isentropic_vortex).error);
  }
  EXPECT_GT(std::log2(errors[0] / errors[1]), 3.5) << errors[0] << " " << errors[1];
}

}  // namespace
}  // namespace rtcg::dg
