#include "rtcg/arrays/solve/incomplete_factors.h"

#include <Eigen/Dense>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/solve/krylov.h"
#include "tests/arrays/solve/matrices.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::EigenMatrix;
using testing::EigenVector;
using testing::on_every_device;
using testing::to_device;

std::vector<std::int32_t> colours_of(const EigenMatrix& a) {
  return detail::colours_of_rows(
      std::vector<std::int32_t>(a.outerIndexPtr(), a.outerIndexPtr() + a.rows() + 1),
      std::vector<std::int32_t>(a.innerIndexPtr(), a.innerIndexPtr() + a.nonZeros()));
}

/// L U x of Saad's algorithm, dense, in the order of the colours: the definition itself.
Eigen::MatrixXd product_of_factors(const EigenMatrix& a) {
  const std::vector<std::int32_t> colours = colours_of(a);
  std::vector<int> order;
  for (int colour = 0; static_cast<Eigen::Index>(order.size()) < a.rows(); ++colour) {
    for (int row = 0; row < a.rows(); ++row) {
      if (colours[static_cast<std::size_t>(row)] == colour) {
        order.push_back(row);
      }
    }
  }
  const Eigen::MatrixXd dense(a);
  const Eigen::Index n = a.rows();
  Eigen::MatrixXd f(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      f(i, j) = dense(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
    }
  }
  const Eigen::MatrixXd pattern = f;
  for (Eigen::Index i = 1; i < n; ++i) {
    for (Eigen::Index k = 0; k < i; ++k) {
      if (pattern(i, k) != 0) {
        f(i, k) /= f(k, k);
        for (Eigen::Index j = k + 1; j < n; ++j) {
          f(i, j) -= pattern(i, j) != 0 ? f(i, k) * f(k, j) : 0;
        }
      }
    }
  }
  const Eigen::MatrixXd lower = f.triangularView<Eigen::UnitLower>();
  const Eigen::MatrixXd upper = f.triangularView<Eigen::Upper>();
  const Eigen::MatrixXd product = lower * upper;
  Eigen::MatrixXd result(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      result(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]) =
          product(i, j);
    }
  }
  return result;
}

TEST(IncompleteFactors, ColourCoupledRowsDifferently) {
  for (const auto& [name, matrix] : testing::definite_matrices()) {
    const std::vector<std::int32_t> colours = colours_of(matrix);
    for (int row = 0; row < matrix.rows(); ++row) {
      for (EigenMatrix::InnerIterator entry(matrix, row); entry; ++entry) {
        if (entry.col() != row) {
          EXPECT_NE(colours[static_cast<std::size_t>(row)],
                    colours[static_cast<std::size_t>(entry.col())])
              << name;
        }
      }
    }
  }
  const std::vector<std::int32_t> of_stencil = colours_of(testing::stencil(9));
  EXPECT_EQ(*std::max_element(of_stencil.begin(), of_stencil.end()), 1);
  // coupled from one side only
  EXPECT_EQ(detail::colours_of_rows({0, 1, 1}, {1}), (std::vector<std::int32_t>{0, 1}));
}

TEST(IncompleteFactors, SolveWhatTheirProductMultiplies) {
  on_every_device([] {
    for (const EigenMatrix& matrix :
         {testing::stencil(9, 0.3), testing::banded(60, 4), testing::power_law(80)}) {
      const EigenVector x = testing::some_vector(matrix.rows());
      const EigenVector right = product_of_factors(matrix) * x;
      const Preconditioner inverse = incomplete_lu(to_device<double>(matrix).any());
      const AnyArray z = zeros<double>({matrix.rows()});
      inverse.inverse()->apply(current_stream(), to_device<double>(right), z);
      EXPECT_LT((testing::to_host(z) - x).norm(), 1e-10 * x.norm());
    }
  });
}

TEST(IncompleteFactors, SaveIterations) {
  on_every_device([] {
    for (const auto& [name, matrix] : testing::definite_matrices()) {
      SCOPED_TRACE(name);
      const auto a = to_device<double>(matrix);
      const EigenVector b = testing::some_vector(matrix.rows());
      const Solution plain = conjugate_gradients(a, to_device<double>(b), {.check_every = 5});
      const Solution found = conjugate_gradients(
          a, to_device<double>(b), {.preconditioner = incomplete_cholesky(a), .check_every = 5});
      EXPECT_LE(found.iterations, plain.iterations);
      EXPECT_LT((matrix * testing::to_host(found.x) - b).norm(), 1e-9 * b.norm());
    }
    const EigenMatrix windy = testing::stencil(20, 0.5);
    const auto a = to_device<double>(windy);
    const EigenVector b = testing::some_vector(windy.rows());
    const Solution plain = bicgstab(a, to_device<double>(b));
    const Solution found = bicgstab(a, to_device<double>(b), {.preconditioner = incomplete_lu(a)});
    EXPECT_LT(found.iterations, plain.iterations);
  });
}

TEST(IncompleteFactors, OfFloatsAndOtherFormatsSolve) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(15);
    const auto a = to_device<float>(matrix).in_format(SparseFormat::dia);
    const EigenVector b = testing::some_vector(matrix.rows());
    const Solution found = conjugate_gradients(
        a, to_device<float>(b),
        {.tolerance = 1e-5, .preconditioner = incomplete_cholesky(a), .check_every = 5});
    EXPECT_LT((matrix * testing::to_host(found.x) - b).norm(), 1e-4 * b.norm());
  });
}

TEST(IncompleteFactors, SayWhyThereAreNone) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::vector<std::int32_t> row = {0, 0, 1};
  const std::vector<std::int32_t> column = {0, 1, 0};
  const auto no_pivot = SparseMatrix<double>::from_triplets(2, 2, row, column, {1.0, 2.0, 3.0});
  EXPECT_ERROR("arrays.solve.zero_pivot", static_cast<void>(incomplete_lu(no_pivot)));
  EXPECT_ERROR("arrays.solve.not_symmetric", static_cast<void>(incomplete_cholesky(no_pivot)));
  EXPECT_ERROR(
      "arrays.solve.not_definite",
      static_cast<void>(incomplete_cholesky(to_device<double>(EigenMatrix(-testing::stencil(3))))));
  EXPECT_ERROR(
      "arrays.solve.shape_mismatch",
      static_cast<void>(incomplete_lu(SparseMatrix<double>::from_triplets(2, 3, {}, {}, {}))));
  EXPECT_ERROR("arrays.solve.dtype",
               static_cast<void>(
                   incomplete_lu(SparseMatrix<std::int32_t>::from_triplets(2, 2, {}, {}, {}))));
}

}  // namespace
}  // namespace rtcg::arrays
