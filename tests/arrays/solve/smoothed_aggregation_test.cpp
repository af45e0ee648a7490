#include "rtcg/arrays/solve/smoothed_aggregation.h"

#include <Eigen/Dense>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/solve/preconditioners.h"
#include "tests/arrays/solve/matrices.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::EigenMatrix;
using testing::EigenVector;
using testing::MatrixMaker;
using testing::on_every_device;
using testing::to_device;

/// Differences to the neighbours in a box, of which those along the axes weigh so much. Functions
/// are 0 outside, or free at the ends.
EigenMatrix box(int nx, int ny, int nz, const std::vector<double>& weights = {1, 1, 1},
                bool is_free = false) {
  MatrixMaker result(nx * ny * nz);
  const int lengths[3] = {nx, ny, nz};
  const int strides[3] = {1, nx, nx * ny};
  for (int row = 0; row < nx * ny * nz; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      const int place = row / strides[axis] % lengths[axis];
      const double weight = weights[static_cast<std::size_t>(axis)];
      for (const int step : {-1, 1}) {
        const bool is_inside = place + step >= 0 && place + step < lengths[axis];
        if (is_inside) {
          result.add(row, row + step * strides[axis], -weight);
        }
        if (is_inside || (!is_free && lengths[axis] > 1)) {
          result.add(row, row, weight);
        }
      }
    }
  }
  return result.made();
}

struct Solved {
  std::int64_t iterations = 0;
  std::vector<AggregationLevel> levels{};
};

template <class T = double>
Solved solved(const EigenMatrix& matrix, AggregationOptions options = {}, double tolerance = 1e-8) {
  const auto a = to_device<T>(matrix);
  Solved result;
  options.report = [&](const AggregationLevel& level) { result.levels.push_back(level); };
  const Preconditioner inverse = smoothed_aggregation(a, options);
  // a right-hand side that also has a solution if the matrix is singular
  const EigenVector b = matrix * testing::some_vector(matrix.rows());
  const Solution found = conjugate_gradients(
      a, to_device<T>(b), {.tolerance = tolerance, .preconditioner = inverse, .check_every = 4});
  EXPECT_LE((matrix * testing::to_host(found.x) - b).norm(), 2.1 * tolerance * b.norm());
  result.iterations = found.iterations;
  return result;
}

TEST(SmoothedAggregation, PutsCoupledRowsTogether) {
  for (const auto& [name, matrix] : testing::definite_matrices()) {
    SCOPED_TRACE(name);
    // without the diagonal
    std::vector<std::int32_t> first{0};
    std::vector<std::int32_t> column;
    for (int row = 0; row < matrix.rows(); ++row) {
      for (EigenMatrix::InnerIterator entry(matrix, row); entry; ++entry) {
        if (entry.col() != row) {
          column.push_back(static_cast<std::int32_t>(entry.col()));
        }
      }
      first.push_back(static_cast<std::int32_t>(column.size()));
    }
    const std::vector<std::int32_t> found = detail::aggregates_of(first, column);
    const std::set<std::int32_t> numbers(found.begin(), found.end());
    EXPECT_EQ(*numbers.rbegin() - *numbers.begin() + 1, static_cast<int>(numbers.size()));
    for (std::size_t row = 0; row < found.size(); ++row) {
      const bool is_alone = first[row] == first[row + 1];
      EXPECT_EQ(found[row] < 0, is_alone);
      bool is_with_neighbour = is_alone;
      for (auto e = static_cast<std::size_t>(first[row]); std::cmp_less(e, first[row + 1]); ++e) {
        is_with_neighbour =
            is_with_neighbour || found[static_cast<std::size_t>(column[e])] == found[row];
      }
      EXPECT_TRUE(is_with_neighbour) << "row " << row;
    }
  }
  // a chain of six, and a row of its own
  EXPECT_EQ(detail::aggregates_of({0, 1, 3, 5, 7, 9, 10, 10}, {1, 0, 2, 1, 3, 2, 4, 3, 5, 4}),
            (std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, -1}));
}

TEST(SmoothedAggregation, NeedsAboutAsManyIterationsForMoreRows) {
  on_every_device([] {
    const AggregationOptions small{.coarsest_rows = 30};
    const Solved square = solved(box(16, 16, 1), small);
    const Solved large_square = solved(box(64, 64, 1), small);
    EXPECT_LE(large_square.iterations, square.iterations + 6);
    EXPECT_LE(large_square.iterations, 20);
    EXPECT_GE(large_square.levels.size(), 4U);
    const Solved cube = solved(box(8, 8, 8), small);
    const Solved large_cube = solved(box(20, 20, 20), small);
    EXPECT_LE(large_cube.iterations, cube.iterations + 5);
    EXPECT_LE(large_cube.iterations, 18);
  });
}

TEST(SmoothedAggregation, FollowsStrongCouplings) {
  on_every_device([] {
    const EigenMatrix matrix = box(48, 48, 1, {1, 0.001, 1});
    const Solved found = solved(matrix, {.coarsest_rows = 30});
    EXPECT_LE(found.iterations, 25);
    const auto a = to_device<double>(matrix);
    const EigenVector b = matrix * testing::some_vector(matrix.rows());
    const Solution by_diagonal = conjugate_gradients(
        a, to_device<double>(b), {.tolerance = 1e-8, .preconditioner = jacobi(a)});
    EXPECT_LE(3 * found.iterations, by_diagonal.iterations);
  });
}

TEST(SmoothedAggregation, SolvesSystemsOfEveryKind) {
  on_every_device([] {
    for (const auto& [name, matrix] : testing::definite_matrices()) {
      SCOPED_TRACE(name);
      for (const int steps : {1, 2, 3}) {
        static_cast<void>(solved(matrix, {.smoothing_steps = steps, .coarsest_rows = 10}));
      }
    }
    // jumps by a factor of a million, next to which constants are not what it maps to almost
    // nothing
    EigenMatrix matrix = box(30, 30, 1);
    EigenVector roots(matrix.rows());
    for (int row = 0; row < roots.size(); ++row) {
      roots[row] = row % 30 < 15 ? 1 : 1e3;
    }
    matrix = EigenMatrix(roots.asDiagonal() * matrix * roots.asDiagonal());
    EXPECT_LE(solved(matrix, {.coarsest_rows = 30}).iterations, 35);
    // by Eigen
    const EigenMatrix known = testing::power_law(300);
    const EigenVector b = testing::some_vector(known.rows());
    const auto a = to_device<double>(known);
    const Solution found =
        conjugate_gradients(a, to_device<double>(b),
                            {.preconditioner = smoothed_aggregation(a, {.coarsest_rows = 10})});
    const EigenVector expected = testing::solved_by_eigen(known, b);
    EXPECT_LE((testing::to_host(found.x) - expected).norm(), 1e-8 * expected.norm());
  });
}

TEST(SmoothedAggregation, SolvesSingularSystemsThatHaveASolution) {
  on_every_device([] {
    EXPECT_LE(solved(box(40, 40, 1, {1, 1, 1}, true), {.coarsest_rows = 30}).iterations, 20);
    EXPECT_LE(solved(box(15, 15, 1, {1, 1, 1}, true)).iterations, 2);  // by the inverse alone
    // a graph in parts, each of them singular
    EigenMatrix parts(900, 900);
    std::vector<Eigen::Triplet<double>> entries;
    const EigenMatrix part = box(15, 15, 1, {1, 1, 1}, true);
    for (int number = 0; number < 4; ++number) {
      for (int row = 0; row < part.rows(); ++row) {
        for (EigenMatrix::InnerIterator entry(part, row); entry; ++entry) {
          entries.emplace_back(225 * number + row, 225 * number + static_cast<int>(entry.col()),
                               entry.value());
        }
      }
    }
    parts.setFromTriplets(entries.begin(), entries.end());
    for (const std::int64_t rows : {2, 30}) {
      EXPECT_LE(solved(parts, {.coarsest_rows = rows}).iterations, 20);
    }
  });
}

TEST(SmoothedAggregation, OfFewRowsOrOfADiagonal) {
  on_every_device([] {
    EXPECT_LE(solved(testing::banded(1, 0)).iterations, 1);
    EXPECT_LE(solved(testing::stencil(10)).iterations, 2);
    MatrixMaker diagonal(1000);
    for (int row = 0; row < 1000; ++row) {
      diagonal.add(row, row, 1 + row % 17);
    }
    const Solved found = solved(diagonal.made());
    EXPECT_LE(found.iterations, 1);
    EXPECT_EQ(found.levels.size(), 1U);
    EXPECT_EQ(found.levels[0].rows, 1000);
    EXPECT_EQ(found.levels[0].entries, 1000);

    const auto nothing = SparseMatrix<double>::from_triplets(0, 0, {}, {}, {});
    const Solution none = conjugate_gradients(nothing, zeros<double>({0}),
                                              {.preconditioner = smoothed_aggregation(nothing)});
    EXPECT_EQ(none.iterations, 0);
    EXPECT_EQ(solved(box(64, 64, 1), {.max_levels = 2}).levels.size(), 2U);
  });
}

TEST(SmoothedAggregation, OfFloatsAndOtherFormatsSolves) {
  on_every_device([] {
    EXPECT_LE(solved<float>(box(40, 40, 1), {.coarsest_rows = 30}, 1e-4).iterations, 12);
    const EigenMatrix matrix = box(40, 40, 1);
    const EigenVector b = testing::some_vector(matrix.rows());
    const AnyArray on_device = to_device<double>(b);
    std::vector<std::int64_t> iterations;
    for (const SparseFormat format : {SparseFormat::csr, SparseFormat::dia, SparseFormat::sell}) {
      const auto a = to_device<double>(matrix).in_format(format);
      const Solution found = conjugate_gradients(
          a, on_device, {.preconditioner = smoothed_aggregation(a, {.coarsest_rows = 30})});
      EXPECT_LE((matrix * testing::to_host(found.x) - b).norm(), 3e-10 * b.norm());
      iterations.push_back(found.iterations);
    }
    EXPECT_NEAR(static_cast<double>(iterations[0]), static_cast<double>(iterations[1]), 1);
    EXPECT_NEAR(static_cast<double>(iterations[0]), static_cast<double>(iterations[2]), 1);
  });
}

TEST(SmoothedAggregation, IsSymmetricAndPositive) {
  on_every_device([] {
    const EigenMatrix matrix = box(9, 9, 1, {1, 0.3, 1});
    const auto a = to_device<double>(matrix);
    for (const int steps : {1, 2, 3}) {
      SCOPED_TRACE(steps);
      const Preconditioner inverse =
          smoothed_aggregation(a, {.smoothing_steps = steps, .coarsest_rows = 5});
      EXPECT_TRUE(inverse.is_repeatable());
      Eigen::MatrixXd applied(matrix.rows(), matrix.rows());
      for (Eigen::Index column = 0; column < matrix.rows(); ++column) {
        const EigenVector unit = EigenVector::Unit(matrix.rows(), column);
        const AnyArray z = zeros<double>({matrix.rows()});
        inverse.inverse()->apply(current_stream(), to_device<double>(unit), z);
        applied.col(column) = testing::to_host(z);
      }
      EXPECT_LE((applied - applied.transpose()).norm(), 1e-12 * applied.norm());
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(applied);
      EXPECT_GT(spectrum.eigenvalues()[0], 0);
    }
  });
}

TEST(SmoothedAggregation, SaysWhyThereIsNone) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto refused = [](const EigenMatrix& matrix, const AggregationOptions& options = {}) {
    static_cast<void>(smoothed_aggregation(to_device<double>(matrix), options));
  };
  const std::vector<std::int32_t> row = {0, 0, 1};
  const std::vector<std::int32_t> column = {0, 1, 0};
  EXPECT_ERROR("arrays.solve.zero_diagonal",
               static_cast<void>(smoothed_aggregation(
                   SparseMatrix<double>::from_triplets(2, 2, row, column, {1.0, 2.0, 2.0}))));
  EXPECT_ERROR("arrays.solve.not_definite", refused(EigenMatrix(-testing::stencil(3))));
  // found by the inverse of the coarsest matrix, by Lanczos, and by a function of an aggregate
  EXPECT_ERROR("arrays.solve.not_definite", refused(testing::stencil(8, 0, 2)));
  EXPECT_ERROR("arrays.solve.not_definite",
               refused(testing::stencil(20, 0, 2), {.coarsest_rows = 10}));
  EXPECT_ERROR("arrays.solve.not_symmetric", refused(testing::stencil(8, 0.5)));
  EXPECT_ERROR("arrays.solve.bad_options", refused(testing::stencil(8), {.strength = 1}));
  EXPECT_ERROR("arrays.solve.bad_options", refused(testing::stencil(8), {.smoothing_steps = 0}));
  EXPECT_ERROR("arrays.solve.bad_options", refused(testing::stencil(8), {.coarsest_rows = 5000}));
  EXPECT_ERROR("arrays.solve.bad_options", refused(testing::stencil(8), {.max_levels = 0}));
  EXPECT_ERROR("arrays.solve.shape_mismatch",
               static_cast<void>(
                   smoothed_aggregation(SparseMatrix<double>::from_triplets(2, 3, {}, {}, {}))));
  EXPECT_ERROR("arrays.solve.dtype",
               static_cast<void>(smoothed_aggregation(
                   SparseMatrix<std::int32_t>::from_triplets(2, 2, {}, {}, {}))));
}

}  // namespace
}  // namespace rtcg::arrays
