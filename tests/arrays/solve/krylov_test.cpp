#include "rtcg/arrays/solve/krylov.h"

#include <cmath>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/preconditioners.h"
#include "tests/arrays/solve/matrices.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

// Thousands of short launches: threads that spin while they wait would take the cores from those
// that work, where tests run side by side. Read when the first kernel is loaded.
const int waits_asleep_too = ::setenv("OMP_WAIT_POLICY", "passive", 0);

using testing::EigenMatrix;
using testing::EigenVector;
using testing::on_every_device;
using testing::to_device;

using Method = std::function<Solution(const LinearOperator&, const AnyArray&, const SolveOptions&)>;

Solution gmres_of(const LinearOperator& a, const AnyArray& b, const SolveOptions& options) {
  return gmres(a, b, GmresOptions{options, 20});
}

/// @param condition  an upper bound of the condition number
template <class T>
Solution check_method(const Method& method, const EigenMatrix& matrix, const SolveOptions& options,
                      double condition = 1e4) {
  const EigenVector right = testing::some_vector(matrix.rows());
  const Solution found = method(to_device<T>(matrix), to_device<T>(right), options);
  const EigenVector x = testing::to_host(found.x);
  const double residual = (right - matrix * x).norm() / right.norm();
  EXPECT_LE(residual, 2.1 * options.tolerance);
  EXPECT_NEAR(found.residual, residual, 0.1 * options.tolerance);
  EXPECT_EQ(static_cast<std::int64_t>(found.history.size()), found.iterations + 1);
  const EigenVector expected = testing::solved_by_eigen(matrix, right);
  EXPECT_LE((x - expected).norm(), condition * options.tolerance * expected.norm());
  return found;
}

TEST(Bicgstab, SolvesNonsymmetricSystems) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(10, 0.4);
    check_method<double>(bicgstab, matrix, {.tolerance = 1e-9});
    check_method<float>(bicgstab, matrix, {.tolerance = 1e-4});
    check_method<double>(
        bicgstab, matrix,
        {.tolerance = 1e-9, .preconditioner = block_jacobi(to_device<double>(matrix), 10)});
  });
}

TEST(Gmres, SolvesNonsymmetricSystems) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(10, 0.4);
    check_method<double>(gmres_of, matrix, {.tolerance = 1e-9});
    check_method<float>(gmres_of, matrix, {.tolerance = 1e-4});
    check_method<double>(
        gmres_of, matrix,
        {.tolerance = 1e-9, .preconditioner = block_jacobi(to_device<double>(matrix), 10)});
    // a rotation by a quarter, of which the plain method makes nothing until all vectors are there
    testing::MatrixMaker rotation(6);
    for (int row = 0; row < 6; ++row) {
      rotation.add(row, (row + 1) % 6, 1);
    }
    EXPECT_EQ(check_method<double>(gmres_of, rotation.made(), {}).iterations, 6);
  });
}

TEST(Gmres, HasResidualsThatNeverGrow) {
  on_every_device([] {
    const Solution found =
        check_method<double>(gmres_of, testing::stencil(8, 0.7), {.tolerance = 1e-8});
    for (std::size_t i = 1; i < found.history.size(); ++i) {
      EXPECT_LE(found.history[i], found.history[i - 1] * (1 + 1e-9));
    }
    const double wide = static_cast<double>(gmres(to_device<double>(testing::stencil(8, 0.7)),
                                                  to_device<double>(testing::some_vector(64)),
                                                  GmresOptions{{.tolerance = 1e-8}, 100})
                                                .iterations);
    EXPECT_LE(wide, static_cast<double>(found.iterations));
  });
}

TEST(Minres, SolvesDefiniteAndIndefiniteSystems) {
  on_every_device([] {
    check_method<double>(minres, testing::stencil(9), {.tolerance = 1e-9}, 1e5);
    check_method<double>(minres, testing::stencil(9, 0, 3.1), {.tolerance = 1e-9}, 1e5);
    check_method<float>(minres, testing::stencil(9, 0, 0.9), {.tolerance = 1e-3}, 1e5);
    const EigenMatrix matrix = testing::blocks(30, 5);
    const auto a = to_device<double>(matrix);
    const Solution by_blocks = check_method<double>(
        minres, matrix, {.tolerance = 1e-9, .preconditioner = block_jacobi(a, 5)});
    EXPECT_LT(by_blocks.iterations, 40);
  });
}

TEST(Minres, HasResidualsThatNeverGrow) {
  on_every_device([] {
    const Solution found =
        check_method<double>(minres, testing::stencil(9, 0, 0.9), {.tolerance = 1e-8}, 1e5);
    for (std::size_t i = 1; i < found.history.size(); ++i) {
      EXPECT_LE(found.history[i], found.history[i - 1] * (1 + 1e-9));
    }
  });
}

TEST(Chebyshev, SolvesDefiniteSystems) {
  on_every_device([] {
    const Method with_estimate = [](const LinearOperator& a, const AnyArray& b,
                                    const SolveOptions& options) {
      return chebyshev(a, b, ChebyshevSolveOptions{options, {}, {}});
    };
    check_method<double>(with_estimate, testing::stencil(9), {.tolerance = 1e-9});
    check_method<double>(with_estimate, testing::banded(200, 9), {.tolerance = 1e-9});
    const Method with_bounds = [](const LinearOperator& a, const AnyArray& b,
                                  const SolveOptions& options) {
      const double part = std::cos(std::acos(-1.0) / 10);
      return chebyshev(a, b, ChebyshevSolveOptions{options, 4 - 4 * part, 4 + 4 * part});
    };
    check_method<float>(with_bounds, testing::stencil(9), {.tolerance = 1e-4});
  });
}

TEST(ExtremeEigenvalues, AreThoseOfTheStencil) {
  on_every_device([] {
    const int side = 20;
    const double part = std::cos(std::acos(-1.0) / (side + 1));
    for (const DType dtype : {DType::f32, DType::f64}) {
      const EigenMatrix matrix = testing::stencil(side);
      const LinearOperator a = dtype == DType::f32 ? LinearOperator(to_device<float>(matrix))
                                                   : LinearOperator(to_device<double>(matrix));
      const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-8;
      const ExtremeEigenvalues found = extreme_eigenvalues(a, {.tolerance = tolerance});
      EXPECT_TRUE(found.has_converged);
      EXPECT_NEAR(found.smallest, 4 - 4 * part, 100 * tolerance);
      EXPECT_NEAR(found.largest, 4 + 4 * part, 100 * tolerance);
    }
    const ExtremeEigenvalues few =
        extreme_eigenvalues(to_device<double>(testing::stencil(side)), {.max_steps = 5});
    EXPECT_FALSE(few.has_converged);
    EXPECT_GT(few.smallest, 4 - 4 * part);
    EXPECT_LT(few.largest, 4 + 4 * part);
    const ExtremeEigenvalues one =
        extreme_eigenvalues(to_device<double>(testing::banded(1, 0)), {});
    EXPECT_EQ(one.steps, 1);
    EXPECT_TRUE(one.has_converged);
  });
}

TEST(ExtremesOfTridiagonal, AreFoundByBisection) {
  const auto [low, high] = detail::extremes_of_tridiagonal({2, 2, 2}, {1, 1});
  EXPECT_NEAR(low, 2 - std::sqrt(2), 1e-14);
  EXPECT_NEAR(high, 2 + std::sqrt(2), 1e-14);
  EXPECT_EQ(detail::extremes_of_tridiagonal({-3}, {}), std::pair(-3.0, -3.0));
}

TEST(Krylov, TellWhatTheyCannotSolve) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const EigenMatrix matrix = testing::stencil(12, 0.5);
  const auto a = to_device<double>(matrix);
  const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
  for (const Method& method : {Method(bicgstab), Method(minres), Method(gmres_of)}) {
    EXPECT_ERROR("arrays.solve.not_converged", method(a, b, {.max_iterations = 3}));
    EXPECT_ERROR("arrays.solve.shape_mismatch", method(a, zeros<double>({5}).any(), {}));
    Array<double> bad = b.copy();
    bad(3) = NAN;
    EXPECT_ERROR("arrays.solve.not_finite", method(a, bad, {}));
    EXPECT_EQ(method(a, zeros_like(b).any(), {}).iterations, 0);
    EXPECT_EQ(method(LinearOperator(0, DType::f64, {}), zeros<double>({0}).any(), {}).iterations,
              0);
  }
  EXPECT_ERROR("arrays.solve.bad_options", gmres(a, b, GmresOptions{{}, 0}));
  const Array<double> minus = -1 * ones<double>({b.count()});
  EXPECT_ERROR("arrays.solve.not_definite",
               minres(a, b, {.preconditioner = Preconditioner::of_diagonal(minus.any())}));
  EXPECT_ERROR("arrays.solve.bad_options", extreme_eigenvalues(a, {.tolerance = 0}));
  EXPECT_ERROR("arrays.solve.shape_mismatch",
               extreme_eigenvalues(LinearOperator(0, DType::f64, {})));
}

TEST(Preconditioners, RefuseWhatHasNoInverse) {
  const StreamScope scope(runtime::Device::host().default_stream());
  testing::MatrixMaker maker(4);
  for (int row = 0; row < 4; ++row) {
    maker.add(row, row, row == 2 ? 0 : 1);
  }
  const auto a = to_device<double>(maker.made());
  EXPECT_ERROR("arrays.solve.zero_diagonal", jacobi(a));
  EXPECT_ERROR("arrays.solve.singular_block", block_jacobi(a, 2));
  EXPECT_ERROR("arrays.solve.bad_options", block_jacobi(a, 0));
  EXPECT_ERROR("arrays.solve.bad_options", block_jacobi(a, 65));
  EXPECT_ERROR("arrays.solve.shape_mismatch",
               jacobi(SparseMatrix<double>::from_triplets(2, 3, {}, {}, {})));
  EXPECT_ERROR("arrays.solve.dtype",
               jacobi(SparseMatrix<std::int32_t>::from_triplets(2, 2, {}, {}, {})));
  const LinearOperator negative(4, DType::f64,
                                [](runtime::StreamRef, const AnyArray& x, const AnyArray& y) {
                                  y.assign(-2 * Expression(x));
                                });
  EXPECT_ERROR("arrays.solve.not_definite", chebyshev_polynomial(negative));
  EXPECT_ERROR("arrays.solve.bad_options", chebyshev_polynomial(a, {.degree = 0}));
  EXPECT_ERROR("arrays.solve.bad_options", chebyshev_polynomial(a, {.smallest = 2, .largest = 1}));
  const Array<double> b = ones<double>({4});
  EXPECT_ERROR("arrays.solve.bad_options",
               chebyshev(a, b,
                         ChebyshevSolveOptions{
                             {.preconditioner = Preconditioner::of_diagonal(b.any())}, {}, {}}));
}

}  // namespace
}  // namespace rtcg::arrays
