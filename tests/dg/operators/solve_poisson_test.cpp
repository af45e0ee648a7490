#include "rtcg/dg/operators/solve_poisson.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/block_jacobi.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg {
namespace {

using std::numbers::pi;

// Thousands of short launches: threads that spin while they wait would take the cores from those
// that work, where tests run side by side. Read when the first kernel is loaded.
const int waits_asleep = ::setenv("OMP_WAIT_POLICY", "passive", 0);

std::shared_ptr<const Discretization> poisson_box(const BoxOptions& options, int order) {
  return std::make_shared<const Discretization>(discretize(make_box_mesh(options), order));
}

PoissonOptions zero_outside(int dimension, PoissonMethod method) {
  PoissonOptions options;
  options.dimension = dimension;
  options.method = method;
  for (const std::string& tag : testing::tags(dimension)) {
    options.dirichlet[tag] = 0;
  }
  return options;
}

double sines(const Point& x, int dimension) {
  double value = 1;
  for (int axis = 0; axis < dimension; ++axis) {
    value *= std::sin(pi * x[static_cast<std::size_t>(axis)]);
  }
  return value;
}

double error_of_sines(int dimension, int order, int cells, PoissonMethod method,
                      const PoissonSolverOptions& options) {
  const auto on = poisson_box(testing::box(dimension, cells), order);
  const auto at_nodes = [&](double factor) {
    return interpolate(
        *on, 1, [&](const Point& x) { return std::vector<double>{factor * sines(x, dimension)}; });
  };
  const PoissonSolution found = solve_poisson(zero_outside(dimension, method), on, {},
                                              at_nodes(dimension * pi * pi), options);
  EXPECT_LE(found.residual, options.tolerance);
  EXPECT_GT(found.iterations, 0);
  return l2_distance(*on, found.u, at_nodes(1));
}

PoissonSolverOptions on_host() {
  PoissonSolverOptions options;
  options.solver.device = runtime::Device::host();
  return options;
}

struct PoissonEntry {
  int order;
  std::vector<double> errors;  // on 2, 4, 8 cells
};

TEST(SolvePoisson, InteriorPenaltyHasTheErrorsOfAnIndependentProgram) {
  for (const PoissonEntry& each :
       std::vector<PoissonEntry>{{1, {1.014067e-01, 3.953995e-02, 1.212450e-02}},
                                 {2, {1.805098e-02, 2.245807e-03, 2.494075e-04}},
                                 {3, {3.175390e-03, 1.818563e-04, 1.084116e-05}}}) {
    for (std::size_t i = 0; i < each.errors.size(); ++i) {
      SCOPED_TRACE(each.order);
      EXPECT_NEAR(error_of_sines(2, each.order, 2 << i, PoissonMethod::interior_penalty, on_host()),
                  each.errors[i], 2e-6 * each.errors[i]);
    }
  }
}

TEST(SolvePoisson, ConvergesWithOrderPlusOneByBothMethodsInEveryDimension) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    for (int dimension = 1; dimension <= 3; ++dimension) {
      for (int order = 1; order <= (dimension == 3 ? 1 : 3); ++order) {
        SCOPED_TRACE(std::to_string(dimension) + "-D, order " + std::to_string(order));
        const int cells = dimension == 2 ? 4 : 3;
        const double coarse = error_of_sines(dimension, order, cells, method, on_host());
        const double fine = error_of_sines(dimension, order, 2 * cells, method, on_host());
        EXPECT_GT(std::log2(coarse / fine), order + 0.5);
      }
    }
  }
}

TEST(SolvePoisson, GivesTheSameOnEveryDevice) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (const Precision precision : {Precision::single, Precision::double_}) {
      if (precision == Precision::single || device.info().has_f64) {
        SCOPED_TRACE(device.info().name);
        PoissonSolverOptions options;
        options.solver.device = device;
        options.solver.precision = precision;
        options.tolerance = precision == Precision::single ? 1e-5 : 1e-10;
        EXPECT_NEAR(error_of_sines(2, 2, 4, PoissonMethod::interior_penalty, options), 2.245807e-03,
                    precision == Precision::single ? 1e-5 : 1e-8);
      }
    }
  }
}

// u = x^2 - 3xy + y, which polynomials of order 2 hold, with u given on two sides and its outward
// derivative on the others
TEST(SolvePoisson, MeetsBoundaryValuesOfBothKinds) {
  const FluxExpr x = coordinate(0);
  const FluxExpr y = coordinate(1);
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    PoissonOptions equation;
    equation.method = method;
    equation.dirichlet = {{"-x", y}, {"+y", x * x - 3 * x + parameter("one")}};
    equation.neumann = {{"+x", 2 * x - 3 * y}, {"-y", 3 * x - 1}};
    SystemData data;
    data.parameters["one"] = 1;
    const auto on = poisson_box(testing::box(2, 3, 0.2), 2);
    const auto minus_two =
        interpolate(*on, 1, [](const Point&) { return std::vector<double>{-2}; });
    const State exact = interpolate(*on, 1, [](const Point& p) {
      return std::vector<double>{p[0] * p[0] - 3 * p[0] * p[1] + p[1]};
    });
    PoissonSolverOptions options = on_host();
    options.tolerance = 1e-13;
    EXPECT_LT(l2_distance(*on, solve_poisson(equation, on, data, minus_two, options).u, exact),
              1e-11);
  }
}

// Mass matrix times minus the Laplacian.
Matrix matrix_of(const PoissonOptions& equation, const Discretization& on) {
  const System system = poisson(equation);
  const std::size_t nodes = on.node_count();
  const std::size_t points = on.element_count() * nodes;
  Matrix result{points, points, std::vector<double>(points * points)};
  for (std::size_t column = 0; column < points; ++column) {
    State unit(1, on);
    unit.values[column] = 1;
    const State laplacian = reference_laplacian(system, on, {}, unit);
    for (std::size_t row = 0; row < points; ++row) {
      for (std::size_t j = 0; j < nodes; ++j) {
        result(row, column) -= on.factors.jacobian[row / nodes] * on.element.mass(row % nodes, j) *
                               laplacian.values[row / nodes * nodes + j];
      }
    }
  }
  return result;
}

// Whether all pivots of a symmetric matrix are positive.
bool is_definite(Matrix matrix) {
  for (std::size_t k = 0; k < matrix.rows; ++k) {
    if (!(matrix(k, k) > 0)) {
      return false;
    }
    for (std::size_t i = k + 1; i < matrix.rows; ++i) {
      const double factor = matrix(i, k) / matrix(k, k);
      for (std::size_t j = k + 1; j < matrix.rows; ++j) {
        matrix(i, j) -= factor * matrix(k, j);
      }
    }
  }
  return true;
}

TEST(Poisson, IsSymmetricAndDefinite) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    for (int order = 1; order <= 2; ++order) {
      const auto on = poisson_box(testing::box(2, 2, 0.2), order);
      PoissonOptions equation = zero_outside(2, method);
      if (order == 1) {
        equation.diffusion = FluxVector({2, 1, 1, 3}, "");
      }
      const Matrix matrix = matrix_of(equation, *on);
      double largest = 0;
      double asymmetry = 0;
      for (std::size_t i = 0; i < matrix.rows; ++i) {
        for (std::size_t j = 0; j < matrix.rows; ++j) {
          largest = std::max(largest, std::abs(matrix(i, j)));
          asymmetry = std::max(asymmetry, std::abs(matrix(i, j) - matrix(j, i)));
        }
      }
      EXPECT_LT(asymmetry, 1e-14 * largest);
      EXPECT_TRUE(is_definite(matrix));
    }
  }
}

// How many eigenvalues of a symmetric matrix are below a number: as many as there are negative
// pivots of what is left when it is taken from the diagonal.
int count_eigenvalues_below(Matrix matrix, double limit) {
  for (std::size_t k = 0; k < matrix.rows; ++k) {
    matrix(k, k) -= limit;
  }
  int count = 0;
  for (std::size_t k = 0; k < matrix.rows; ++k) {
    count += matrix(k, k) < 0 ? 1 : 0;
    for (std::size_t i = k + 1; i < matrix.rows; ++i) {
      const double factor = matrix(i, k) / matrix(k, k);
      for (std::size_t j = k + 1; j < matrix.rows; ++j) {
        matrix(i, j) -= factor * matrix(k, j);
      }
    }
  }
  return count;
}

// order^2 over the mesh size, as the flux language's penalty() has it, is too little at order 1: by
// how much, an independent program says, too.
TEST(Poisson, IsIndefiniteWithTooSmallAPenalty) {
  const PoissonOptions enough = zero_outside(2, PoissonMethod::interior_penalty);
  PoissonOptions too_little = enough;
  too_little.penalty = 0.25;
  for (const auto& [cells, largest] : std::vector<std::pair<int, double>>{{2, 0.059}, {8, 0.095}}) {
    const auto on = poisson_box(testing::box(2, cells), 1);
    EXPECT_TRUE(is_definite(matrix_of(enough, *on)));
    const Matrix matrix = matrix_of(too_little, *on);
    EXPECT_FALSE(is_definite(matrix));
    EXPECT_GE(count_eigenvalues_below(matrix, -largest + 0.001), 1);
    EXPECT_EQ(count_eigenvalues_below(matrix, -largest - 0.001), 0);
  }
}

PoissonSolverOptions with_block_jacobi() {
  PoissonSolverOptions options = on_host();
  options.preconditioner = PoissonPreconditioner::block_jacobi;
  return options;
}

// A diffusion that changes a thousandfold from element to element.
SystemData patchwork(const Discretization& on) {
  SystemData data;
  for (std::size_t i = 0; i < on.element_count(); ++i) {
    data.materials["k"].push_back(i % 3 == 0 ? 1000 : 1);
  }
  return data;
}

TEST(SolvePoisson, BlockJacobiTakesFewerIterationsToTheSameSolution) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    for (const bool has_patches : {false, true}) {
      SCOPED_TRACE(has_patches);
      const auto on = poisson_box(testing::box(2, 3, 0.2), 2);
      PoissonOptions equation = zero_outside(2, method);
      SystemData data;
      if (has_patches) {
        equation.diffusion = {material("k")};
        data = patchwork(*on);
      }
      const State f = interpolate(
          *on, 1, [](const Point& x) { return std::vector<double>{sines(x, 2) + x[0]}; });
      const PoissonSolution plain = solve_poisson(equation, on, data, f, on_host());
      const PoissonSolution found = solve_poisson(equation, on, data, f, with_block_jacobi());
      EXPECT_LT(found.iterations, (has_patches ? 0.2 : 0.8) * plain.iterations) << plain.iterations;
      EXPECT_LT(testing::relative_difference(found.u, plain.u), 1e-8);
    }
  }
}

// In the product of the mass matrix the preconditioner is symmetric and positive definite, which
// the method of conjugate gradients needs; and it is the inverse of the blocks on the diagonal.
TEST(InverseBlocks, AreSymmetricAndInvertTheDiagonal) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    const auto on = poisson_box(testing::box(2, 2, 0.2), 2);
    const System system = poisson(zero_outside(2, method));
    const std::size_t nodes = on->node_count();
    const auto minus_laplacian = [&](const std::vector<double>& values) {
      State u(1, *on);
      u.values = values;
      State result = reference_laplacian(system, *on, {}, u);
      for (double& value : result.values) {
        value = -value;
      }
      return result.values;
    };
    const std::vector<double> inverses =
        detail::inverse_blocks(*on, method == PoissonMethod::local_dg ? 2 : 1, minus_laplacian);
    const Matrix whole = matrix_of(zero_outside(2, method), *on);
    for (std::size_t element = 0; element < on->element_count(); ++element) {
      const double* inverse = &inverses[element * nodes * nodes];
      Matrix weighted{nodes, nodes, std::vector<double>(nodes * nodes)};
      for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t j = 0; j < nodes; ++j) {
          double product = 0;  // of the block and its inverse, which is the mass matrix
          for (std::size_t k = 0; k < nodes; ++k) {
            weighted(i, j) += on->element.mass(i, k) * inverse[k * nodes + j];
            product += whole(element * nodes + i, element * nodes + k) * inverse[k * nodes + j];
          }
          EXPECT_NEAR(product, on->factors.jacobian[element] * on->element.mass(i, j), 1e-12);
        }
      }
      for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_NEAR(weighted(i, j), weighted(j, i), 1e-13);
        }
      }
      EXPECT_TRUE(is_definite(weighted));
    }
  }
}

TEST(ColorsOf, KeepsElementsOfOneColorApart) {
  const Discretization on = discretize(make_box_mesh(testing::box(3, 3)), 1);
  for (const int distance : {1, 2}) {
    const std::vector<std::size_t> colors = detail::colors_of(on.connectivity, distance);
    std::size_t most = 0;
    for (std::size_t element = 0; element < on.element_count(); ++element) {
      most = std::max(most, colors[element]);
      for (std::size_t face = 0; face < 4; ++face) {
        const FaceLink& near = on.connectivity.link(element, face);
        if (near.is_boundary()) {
          continue;
        }
        EXPECT_NE(colors[static_cast<std::size_t>(near.element)], colors[element]);
        for (std::size_t next = 0; distance == 2 && next < 4; ++next) {
          const FaceLink& far = on.connectivity.link(static_cast<std::size_t>(near.element), next);
          EXPECT_TRUE(far.is_boundary() || static_cast<std::size_t>(far.element) == element ||
                      colors[static_cast<std::size_t>(far.element)] != colors[element]);
        }
      }
    }
    EXPECT_LE(most, distance == 1 ? 4U : 16U);
  }
}

// A tensor that is no multiple of 1: -div(K grad u) of a product of sines.
TEST(SolvePoisson, SolvesWithDiffusionTensors) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    std::vector<double> errors;
    for (const int cells : {2, 4}) {
      const auto on = poisson_box(testing::box(2, cells), 3);
      PoissonOptions equation = zero_outside(2, method);
      equation.diffusion = FluxVector({2, 1, 1, 3}, "");
      const State f = interpolate(*on, 1, [](const Point& x) {
        return std::vector<double>{
            pi * pi * (5 * sines(x, 2) - 2 * std::cos(pi * x[0]) * std::cos(pi * x[1]))};
      });
      const State exact =
          interpolate(*on, 1, [](const Point& x) { return std::vector<double>{sines(x, 2)}; });
      errors.push_back(l2_distance(*on, solve_poisson(equation, on, {}, f, on_host()).u, exact));
    }
    EXPECT_GT(std::log2(errors[0] / errors[1]), 3.5) << errors[0] << " " << errors[1];
  }
}

// Two layers, of which the second conducts four times as well, and each nine times as well along
// the other axis: u is straight in both, so that it is found up to rounding.
TEST(SolvePoisson, SolvesWithADiffusionOfEachElement) {
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    const auto on = poisson_box(testing::box(2, 4), 1);
    const auto bent = [](const Point& x) { return x[0] < 0.5 ? 4 * x[0] : 2 + (x[0] - 0.5); };
    PoissonOptions equation;
    equation.method = method;
    equation.diffusion = {material("k"), 9 * material("k")};
    equation.dirichlet = {{"-x", 0}};
    equation.neumann = {{"+x", 4}, {"-y", 0}, {"+y", 0}};
    SystemData data;
    for (const auto& vertices : on->mesh.elements) {
      double centre = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        centre += on->mesh.vertices[static_cast<std::size_t>(vertices[i])][0] / 3;
      }
      data.materials["k"].push_back(centre < 0.5 ? 1 : 4);
    }
    const State expected =
        interpolate(*on, 1, [&](const Point& x) { return std::vector<double>{bent(x)}; });
    for (const PoissonSolverOptions& options : {on_host(), with_block_jacobi()}) {
      const PoissonSolution found = solve_poisson(equation, on, data, State(1, *on), options);
      EXPECT_LT(testing::relative_difference(found.u, expected), 1e-8);
    }
  }
}

TEST(Poisson, WantsADiffusionForTheDimension) {
  PoissonOptions equation = zero_outside(3, PoissonMethod::interior_penalty);
  equation.diffusion = {1, 2};
  EXPECT_ERROR("dg.poisson.diffusion_count", poisson(equation));
}

TEST(SolvePoisson, RefusesWhatHasNoAnswer) {
  const auto on = poisson_box(testing::box(2, 2), 1);
  PoissonOptions free;
  for (const std::string& tag : testing::tags(2)) {
    free.neumann[tag] = 0;
  }
  EXPECT_ERROR("dg.solve_poisson.no_dirichlet",
               solve_poisson(free, on, {}, State(1, *on), on_host()));
  const PoissonOptions equation = zero_outside(2, PoissonMethod::interior_penalty);
  EXPECT_ERROR("dg.check_state.shape", solve_poisson(equation, on, {}, State(2, *on), on_host()));
  State f(1, *on);
  f.values[3] = 1;
  PoissonSolverOptions options = on_host();
  options.max_iterations = 2;
  EXPECT_ERROR("dg.solve_poisson.not_converged", solve_poisson(equation, on, {}, f, options));
  PoissonOptions too_weak = equation;
  too_weak.penalty = -1;
  EXPECT_ERROR("dg.solve_poisson.not_definite",
               solve_poisson(too_weak, on, {}, f, with_block_jacobi()));
}

// Of numbers that are none, the first residual counted as small enough.
TEST(Defect14, PoissonsEquationNeedsNumbers) {
  const auto on = poisson_box(testing::box(2, 2), 1);
  const PoissonOptions equation = zero_outside(2, PoissonMethod::interior_penalty);
  EXPECT_ERROR("dg.solver.no_discretization",
               solve_poisson(equation, nullptr, {}, State(), on_host()));
  State f(1, *on);
  f.values[3] = NAN;
  EXPECT_ERROR("dg.solve_poisson.not_finite", solve_poisson(equation, on, {}, f, on_host()));
  f.values.resize(2);
  EXPECT_ERROR("dg.check_state.shape", solve_poisson(equation, on, {}, f, on_host()));
  for (const double tolerance : {0.0, -1.0, std::nan("")}) {
    PoissonSolverOptions options = on_host();
    options.tolerance = tolerance;
    EXPECT_ERROR("dg.solve_poisson.bad_tolerance",
                 solve_poisson(equation, on, {}, State(1, *on), options));
  }
}

TEST(SolvePoisson, NothingInNothingOut) {
  const auto on = poisson_box(testing::box(2, 2), 1);
  const PoissonSolution found = solve_poisson(zero_outside(2, PoissonMethod::interior_penalty), on,
                                              {}, State(1, *on), on_host());
  EXPECT_EQ(found.iterations, 0);
  EXPECT_EQ(testing::largest(found.u), 0);
}

// ---- ranks --------------------------------------------------------------------------------------

struct RanksCase {
  BoxOptions box;
  int order = 2;
  PoissonMethod method = PoissonMethod::interior_penalty;
  PoissonPreconditioner preconditioner = PoissonPreconditioner::none;
  Precision precision = Precision::double_;
  Strategy strategy = Strategy::automatic;
  bool has_patches = false;
};

// Values on the boundary that are not 0, elements of several sizes.
void expect_bits_of_one_rank(const RanksCase& each, const distributed::testing::DeviceSet& set,
                             int ranks, const DistributeOptions& parts = {}) {
  SCOPED_TRACE(set.name + " on " + std::to_string(ranks));
  const Mesh mesh = make_box_mesh(each.box);
  const int dimension = each.box.dimension;
  PoissonOptions equation = zero_outside(dimension, each.method);
  equation.dirichlet["-x"] = coordinate(0) + 0.25;
  SystemData data;
  if (each.has_patches) {
    equation.diffusion = {material("k")};
    for (std::size_t i = 0; i < mesh.element_count(); ++i) {
      data.materials["k"].push_back(i % 3 == 0 ? 10 : 1);
    }
  }
  PoissonSolverOptions options;
  options.preconditioner = each.preconditioner;
  options.solver.precision = each.precision;
  options.solver.strategy = each.strategy;
  options.tolerance = each.precision == Precision::single ? 1e-3 : 1e-8;
  const auto solve = [&](const std::shared_ptr<const Discretization>& on,
                         const runtime::Device& device) {
    const State f = interpolate(*on, 1, [&](const Point& x) {
      return std::vector<double>{1 + x[0] * x[0] - 3 * x[dimension > 1 ? 1 : 0]};
    });
    PoissonSolverOptions own = options;
    own.solver.device = device;
    return solve_poisson(equation, on, data_of_rank(data, *on), f, own);
  };
  const PoissonSolution expected =
      solve(std::make_shared<const Discretization>(discretize(mesh, each.order)), set.devices[0]);
  EXPECT_GT(expected.iterations, 3);
  const auto work = [&](const distributed::Group& group) {
    const auto on = distribute(mesh, each.order, group, parts);
    const PoissonSolution found = solve(on, group.device());
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(found.residual, expected.residual);
    EXPECT_EQ(found.u.elements, on->element_count());
    const State whole = gathered_state(*on, found.u);
    if (group.is_first()) {
      EXPECT_EQ(whole.values, expected.u.values);
    }
  };
  // on hosts by turns: whether they exchange the traces, or devices wait for them
  if (set.name == "host" && ranks % 2 == 1) {
    distributed::run_ranks(distributed::testing::host_devices_apart(ranks), work,
                           {.waiting = distributed::Waiting::devices});
  } else {
    distributed::testing::run_both_ways(set.of_ranks(ranks), work);
  }
}

distributed::testing::DeviceSet host_set() {
  return {"host", {runtime::Device::host()}};
}

TEST(SolvePoissonOverRanks, HasTheBitsOfOneRankForOneToThirteenRanks) {
  const RanksCase each{.box = testing::box(2, 4, 0.2)};
  for (int ranks = 1; ranks <= 13; ++ranks) {
    expect_bits_of_one_rank(each, host_set(), ranks);
  }
}

TEST(SolvePoissonOverRanks, HasTheBitsOfOneRankForEveryMethod) {
  int ranks = 2;
  for (const PoissonMethod method : {PoissonMethod::interior_penalty, PoissonMethod::local_dg}) {
    for (const PoissonPreconditioner preconditioner :
         {PoissonPreconditioner::none, PoissonPreconditioner::block_jacobi}) {
      for (const Strategy strategy : {Strategy::fused, Strategy::split}) {
        expect_bits_of_one_rank({.box = testing::box(2, 3, 0.2),
                                 .method = method,
                                 .preconditioner = preconditioner,
                                 .strategy = strategy,
                                 .has_patches = true},
                                host_set(), ranks);
        ranks = ranks == 5 ? 2 : ranks + 1;
      }
    }
  }
}

TEST(SolvePoissonOverRanks, HasTheBitsOfOneRankInOneAndThreeDimensions) {
  expect_bits_of_one_rank({.box = testing::box(1, 9), .order = 3}, host_set(), 4);
  expect_bits_of_one_rank({.box = testing::box(3, 2, 0.2), .order = 2}, host_set(), 3);
  expect_bits_of_one_rank({.box = testing::box(3, 2), .order = 1, .precision = Precision::single},
                          host_set(), 2);
}

// Elements of ranks in turns; one element; ranks without elements, also the first; more elements
// than grains.
TEST(SolvePoissonOverRanks, HasTheBitsOfOneRankForUnevenParts) {
  const RanksCase each{.box = testing::box(2, 3),
                       .preconditioner = PoissonPreconditioner::block_jacobi};
  for (const std::vector<int>& rank_of : testing::uneven_parts(testing::box_elements(each.box))) {
    expect_bits_of_one_rank(each, host_set(), 4, {.rank_of = rank_of});
  }
  expect_bits_of_one_rank({.box = testing::box(1, 4)}, host_set(), 7);
  expect_bits_of_one_rank(
      {.box = testing::box(1, 5000), .order = 1, .precision = Precision::single}, host_set(), 3);
}

TEST(SolvePoissonOverRanks, HasTheBitsOfOneRankOnEveryDevice) {
  distributed::testing::expect_required_gpus();
  for (const distributed::testing::DeviceSet& set : distributed::testing::device_sets()) {
    if (set.name == "host" || set.name == "all kinds") {  // those round differently
      continue;
    }
    for (const int ranks : {2, 3}) {
      expect_bits_of_one_rank(
          {.box = testing::box(2, 3, 0.2), .preconditioner = PoissonPreconditioner::block_jacobi},
          set, ranks);
      expect_bits_of_one_rank({.box = testing::box(3, 2)}, set, ranks);
    }
  }
}

// Of all ranks, with the element's place in the whole mesh.
TEST(SolvePoissonOverRanks, NamesWhatIsNotDefinite) {
  const Mesh mesh = make_box_mesh(testing::box(2, 2));
  PoissonOptions equation = zero_outside(2, PoissonMethod::interior_penalty);
  equation.diffusion = {material("k")};
  SystemData data;
  data.materials["k"] = std::vector<double>(mesh.element_count(), 1);
  data.materials["k"].back() = -1;
  EXPECT_ERROR(
      "dg.solve_poisson.not_definite",
      distributed::run_ranks(
          distributed::testing::host_devices_apart(2), [&](const distributed::Group& group) {
            const auto on = distribute(mesh, 1, group);
            PoissonSolverOptions options = with_block_jacobi();
            options.solver.device = group.device();
            static_cast<void>(
                solve_poisson(equation, on, data_of_rank(data, *on), State(1, *on), options));
          }));
}

}  // namespace
}  // namespace rtcg::dg
