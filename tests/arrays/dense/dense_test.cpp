// Factorisations by what defines them, and against Eigen.
#include "rtcg/arrays/dense/dense.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/runtime/device/graph.h"
#include "tests/arrays/dense/matrices.h"
#include "tests/arrays/support/gpu.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::array_of;
using testing::expect_near;
using testing::identity_of;
using testing::Matrix;
using testing::matrix_of;
using testing::on_every_device;
using testing::random_matrices;
using testing::tolerance;
using testing::triangle_of;

template <class T>
void check_solving(Eigen::Index n, const DenseOptions& options) {
  const auto matrices = random_matrices<T>(3, n, n);
  const auto right = random_matrices<T>(3, n, 2);
  const Array<T> a = array_of<T>(matrices);
  const AnyArray x = solve(a, array_of<T>(right), options);
  const AnyArray inverse = inv(a, options);
  const std::vector<std::complex<double>> determinants =
      Array<std::complex<double>>(det(a, options).as_type(DType::c128)).to_vector();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto which = static_cast<std::int64_t>(i);
    const Matrix found = matrix_of(x, which);
    expect_near<T>(matrices[i] * found, right[i], matrices[i].norm() * found.norm(), "solve");
    const Matrix inverted = matrix_of(inverse, which);
    expect_near<T>(matrices[i] * inverted, identity_of(n), matrices[i].norm() * inverted.norm(),
                   "inv");
    const std::complex<double> expected = matrices[i].determinant();
    EXPECT_LE(std::abs(determinants[i] - expected),
              tolerance<T>(n) * std::abs(expected) * inverted.norm() * matrices[i].norm());
  }
}

template <class T>
void check_factors(Eigen::Index n, const DenseOptions& options) {
  const auto matrices = random_matrices<T>(2, n, n);
  const LuResult factors = lu(array_of<T>(matrices), options);
  std::vector<Matrix> definite;
  std::vector<Matrix> half;
  for (std::size_t i = 0; i < 2; ++i) {
    const Matrix packed = matrix_of(factors.lu, static_cast<std::int64_t>(i));
    const Matrix lower = triangle_of(packed, false) + identity_of(n);
    EXPECT_LE(lower.cwiseAbs().maxCoeff(), 1.5) << "pivots are large";
    const Matrix upper = triangle_of(packed, true);
    Matrix permuted = matrices[i];
    const std::vector<std::int32_t> pivots =
        Array<std::int32_t>(factors.pivots(static_cast<std::int64_t>(i)).copy()).to_vector();
    for (Eigen::Index row = 0; row < n; ++row) {
      permuted.row(row).swap(permuted.row(pivots[static_cast<std::size_t>(row)]));
    }
    expect_near<T>(lower * upper, permuted, lower.norm() * upper.norm(), "lu");

    definite.push_back(matrices[i] * matrices[i].adjoint() + identity_of(n));
    half.push_back(triangle_of(definite[i], false));  // the upper triangle is not read
    half[i].diagonal() = definite[i].diagonal();
  }
  const AnyArray roots = cholesky(array_of<T>(half), options);
  for (std::size_t i = 0; i < 2; ++i) {
    const Matrix root = matrix_of(roots, static_cast<std::int64_t>(i));
    expect_near<T>(root * root.adjoint(), definite[i], definite[i].norm(), "cholesky");
    EXPECT_EQ(triangle_of(root.transpose(), false).norm(), 0);
  }
}

template <class T>
void check_qr(Eigen::Index rows, Eigen::Index columns, const DenseOptions& options) {
  const auto matrices = random_matrices<T>(2, rows, columns);
  const QrResult factors = qr(array_of<T>(matrices), options);
  for (std::size_t i = 0; i < 2; ++i) {
    const Matrix q = matrix_of(factors.q, static_cast<std::int64_t>(i));
    const Matrix r = matrix_of(factors.r, static_cast<std::int64_t>(i));
    expect_near<T>(q.adjoint() * q, identity_of(std::min(rows, columns)), 1, "columns of q");
    expect_near<T>(q * r, matrices[i], matrices[i].norm(), "qr");
    EXPECT_EQ(triangle_of(r, false).norm(), 0);
  }
}

template <class Body>
void for_all_types(Body&& body) {
  body(float());
  body(double());
  body(std::complex<float>());
  body(std::complex<double>());
}

/// All types on the host; others compile kernels for a real and a complex one.
template <class Body>
void for_types_of_device(Body&& body) {
  if (current_stream().device().info().id.kind == runtime::BackendKind::host) {
    for_all_types(body);
  } else {
    body(float());
    body(std::complex<double>());
  }
}

const DenseOptions by_generated{.way = DenseWay::generated};
const DenseOptions by_library{.way = DenseWay::library};

TEST(Dense, SolvesSystemsByGeneratedKernels) {
  on_every_device([] {
    for_types_of_device([]<class T>(T) {
      for (const Eigen::Index n : {1, 7, 32}) {
        check_solving<T>(n, by_generated);
      }
    });
  });
}

TEST(Dense, FactorsByGeneratedKernels) {
  on_every_device([] {
    for_types_of_device([]<class T>(T) {
      for (const Eigen::Index n : {1, 3, 16, 32}) {
        check_factors<T>(n, by_generated);
      }
      check_qr<T>(1, 1, by_generated);
      check_qr<T>(9, 4, by_generated);
      check_qr<T>(4, 9, by_generated);
      check_qr<T>(32, 32, by_generated);
    });
  });
}

class DenseByLapack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (describe_dense_library(runtime::Device::host()).rfind("none", 0) == 0) {
      GTEST_SKIP() << describe_dense_library(runtime::Device::host());
    }
  }
  StreamScope scope_{runtime::Device::host().default_stream()};
};

template <class T>
void check_by_library() {
  for (const Eigen::Index n : {1, 5, 60}) {
    check_solving<T>(n, by_library);
    check_factors<T>(n, by_library);
  }
  check_qr<T>(60, 40, by_library);
  check_qr<T>(40, 60, by_library);
}

TEST_F(DenseByLapack, SolvesAndFactors) {
  for_all_types([]<class T>(T) { check_by_library<T>(); });
}

/// Skipped where there is no GPU, but not for a lack of cuSOLVER where there is one.
class DenseByCusolver : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      scope_.emplace(gpu().default_stream());
    }
  }
  std::optional<StreamScope> scope_{};
};

TEST_F(DenseByCusolver, IsThere) {
  EXPECT_NE(describe_dense_library(gpu()).rfind("none", 0), 0U) << describe_dense_library(gpu());
}

TEST_F(DenseByCusolver, SolvesAndFactors) {
  for_all_types([]<class T>(T) { check_by_library<T>(); });
}

TEST_F(DenseByLapack, GivesTheSameQrAsGeneratedKernels) {
  for_all_types([]<class T>(T) {
    const Array<T> a = array_of<T>(random_matrices<T>(4, 12, 9));
    const QrResult ours = qr(a, by_generated);
    const QrResult theirs = qr(a, by_library);
    EXPECT_LT(max(abs(ours.r - theirs.r)).template item<double>(), 10 * tolerance<T>(12));
    EXPECT_LT(max(abs(ours.q - theirs.q)).template item<double>(), 10 * tolerance<T>(12));
  });
}

std::vector<double> reals_of(const AnyArray& values, std::int64_t which) {
  return Array<double>(values(which).as_type(DType::f64)).to_vector();
}

Matrix diagonal_of(const std::vector<double>& values) {
  const auto n = static_cast<Eigen::Index>(values.size());
  Matrix result = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    result(k, k) = values[static_cast<std::size_t>(k)];
  }
  return result;
}

template <class T>
void check_eigenvalues(const std::vector<Eigen::Index>& sizes, const DenseOptions& options = {}) {
  for (const Eigen::Index n : sizes) {
    auto matrices = random_matrices<T>(2, n, n);
    for (Matrix& each : matrices) {
      each = (each + each.adjoint()).eval();
    }
    const Array<T> a = array_of<T>(matrices);
    const EighResult found = eigh(a, options);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto which = static_cast<std::int64_t>(i);
      const Eigen::SelfAdjointEigenSolver<Matrix> expected(matrices[i]);
      const std::vector<double> values = reals_of(found.values, which);
      for (Eigen::Index k = 0; k < n; ++k) {
        EXPECT_NEAR(values[static_cast<std::size_t>(k)], expected.eigenvalues()[k],
                    tolerance<T>(n) * matrices[i].norm());
      }
      const Matrix vectors = matrix_of(found.vectors, which);
      expect_near<T>(matrices[i] * vectors, vectors * diagonal_of(values), matrices[i].norm(),
                     "eigh");
      expect_near<T>(vectors.adjoint() * vectors, identity_of(n), 1, "eigenvectors");
    }
    EXPECT_LE(max(abs(eigvalsh(a, options) - found.values)).template item<double>(),
              tolerance<T>(n) * matrices[0].norm() * 2);
  }
}

TEST_F(DenseByLapack, FindsEigenvalues) {
  for_all_types([]<class T>(T) { check_eigenvalues<T>({1, 2, 40}); });
}

TEST_F(DenseByCusolver, FindsEigenvalues) {
  for_all_types([]<class T>(T) { check_eigenvalues<T>({1, 2, 40}); });
}

TEST(Dense, FindsEigenvaluesByGeneratedKernels) {
  on_every_device([] {
    check_eigenvalues<float>({1, 2, 7, 32}, by_generated);
    check_eigenvalues<std::complex<double>>({1, 2, 7, 32}, by_generated);
  });
}

using Shapes = std::vector<std::pair<Eigen::Index, Eigen::Index>>;

template <class T>
void check_singular_values(const Shapes& shapes, const DenseOptions& options = {}) {
  for (const auto& [rows, columns] : shapes) {
    const auto matrices = random_matrices<T>(2, rows, columns);
    const SvdResult found = svd(array_of<T>(matrices), options);
    const Eigen::Index least = std::min(rows, columns);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto which = static_cast<std::int64_t>(i);
      const std::vector<double> values = reals_of(found.values, which);
      EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
      EXPECT_GE(values.back(), 0);
      const Matrix u = matrix_of(found.u, which);
      const Matrix vh = matrix_of(found.vh, which);
      expect_near<T>(u * diagonal_of(values) * vh, matrices[i], matrices[i].norm(), "svd");
      expect_near<T>(u.adjoint() * u, identity_of(least), 1, "u");
      expect_near<T>(vh * vh.adjoint(), identity_of(least), 1, "vh");
    }
  }
}

const Shapes shapes_for_libraries = {{1, 1}, {30, 12}, {12, 30}, {12, 40}, {40, 12}};

TEST_F(DenseByLapack, FindsSingularValues) {
  for_all_types([]<class T>(T) { check_singular_values<T>(shapes_for_libraries); });
}

TEST_F(DenseByCusolver, FindsSingularValues) {
  for_all_types([]<class T>(T) { check_singular_values<T>(shapes_for_libraries); });
}

TEST(Dense, FindsSingularValuesByGeneratedKernels) {
  on_every_device([] {
    const Shapes shapes = {{1, 1}, {3, 2}, {32, 32}, {30, 12}, {12, 30}, {1, 5}};
    check_singular_values<float>(shapes, by_generated);
    check_singular_values<std::complex<double>>(shapes, by_generated);
  });
}

/// Equal eigenvalues, zeros, and numbers whose squares are out of range.
TEST(Dense, FindsSpectraOfSpecialMatricesByGeneratedKernels) {
  on_every_device([] {
    // of rank 1: a column times its transpose, and the same of huge and tiny numbers
    for (const float factor : {1.0F, 1e30F, 1e-30F}) {
      const Array<float> x(std::vector<float>{1, 2, 2, 4});
      const AnyArray a = evaluate(factor * x(whole, newaxis) * x);
      const std::vector<float> values = eigvalsh(a, by_generated).to_vector<float>();
      EXPECT_NEAR(values[3] / factor, 25, 1e-5);
      EXPECT_NEAR(values[0] / factor, 0, 1e-5);
      const SvdResult found = svd(a, by_generated);
      EXPECT_NEAR(found.values.to_vector<float>()[0] / factor, 25, 1e-5);
      EXPECT_NEAR(found.values.to_vector<float>()[1] / factor, 0, 1e-5);
      const AnyArray unit = evaluate(where(arange<int>(4)(whole, newaxis) == arange<int>(4), 1, 0));
      for (const AnyArray& basis : {found.u.swap_axes(0, 1), found.vh}) {
        const AnyArray products =
            evaluate(sum(basis(whole, newaxis) * basis(newaxis, whole), over(2)));
        EXPECT_LT(max(abs(products - unit)).item<double>(), 1e-5);
      }
    }
    const SvdResult none = svd(zeros<float>({5, 3}), by_generated);
    EXPECT_EQ(none.values.to_vector<float>(), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(sum(none.u * none.u).item<float>(), 3);
    EXPECT_EQ(eigvalsh(zeros<float>({2, 2}), by_generated).to_vector<float>(),
              (std::vector<float>{0, 0}));
    // only the lower triangle counts
    const Array<float> lower(std::vector<float>{2, 100, 1, 2}, {2, 2});
    const std::vector<float> values = eigvalsh(lower, by_generated).to_vector<float>();
    EXPECT_NEAR(values[0], 1, 1e-6);
    EXPECT_NEAR(values[1], 3, 1e-6);
    const Array<float> odd(std::vector<float>{1, 0, NAN, 1, 2, 0, 0, 2}, {2, 2, 2});
    EXPECT_ERROR("arrays.dense.no_convergence", eigh(odd, by_generated));
    const AnyArray info = zeros<int>({2});
    static_cast<void>(svd(odd, {.way = DenseWay::generated, .info = info}));
    EXPECT_EQ(info.to_vector<int>(), (std::vector<int>{1, 0}));
  });
}

TEST(Dense, HasTheShapesOfNumPy) {
  on_every_device([] {
    const AnyArray a = evaluate(
        cast(where(arange<int>(3)(whole, newaxis) == arange<int>(3), 2.0, 0.5), DType::f64));
    EXPECT_EQ(solve(a, ones<double>({3})).shape(), (Extents{3}));
    EXPECT_EQ(solve(a, ones<double>({3, 4})).shape(), (Extents{3, 4}));
    const AnyArray batch = a.broadcast_to({2, 5, 3, 3});
    EXPECT_EQ(solve(batch, ones<double>({3})).shape(), (Extents{2, 5, 3}));
    EXPECT_EQ(solve(batch, ones<float>({5, 3, 4})).shape(), (Extents{2, 5, 3, 4}));
    EXPECT_EQ(solve(a, ones<double>({7, 3, 1})).shape(), (Extents{7, 3, 1}));
    EXPECT_EQ(inv(batch).shape(), (Extents{2, 5, 3, 3}));
    EXPECT_EQ(det(batch).shape(), (Extents{2, 5}));
    EXPECT_EQ(det(a).shape(), Extents{});
    EXPECT_NEAR(det(a).item<double>(), 6.75, 1e-14);
    EXPECT_EQ(lu(batch).pivots.shape(), (Extents{2, 5, 3}));
    EXPECT_EQ(qr(ones<float>({2, 5, 3})).r.shape(), (Extents{2, 3, 3}));
    EXPECT_EQ(inv(zeros<float>({0, 3, 3})).shape(), (Extents{0, 3, 3}));
    EXPECT_EQ(det(zeros<float>({2, 0, 0})).to_vector<float>(), (std::vector<float>{1, 1}));
    // views and integers
    EXPECT_NEAR(det(a.transposed().flip({0, 1})).item<double>(), 6.75, 1e-14);
    EXPECT_EQ(inv(Array<int>(std::vector<int>{2, 0, 0, 4}, {2, 2})).to_vector<double>(),
              (std::vector<double>{0.5, 0, 0, 0.25}));
  });
}

TEST(Dense, ReportsSingularMatrices) {
  on_every_device([] {
    const Array<float> a(std::vector<float>{1, 2, 3, 4, 1, 2, 2, 4, 0, 0, 0, 0}, {3, 2, 2});
    EXPECT_ERROR("arrays.dense.singular", solve(a, ones<float>({2})));
    EXPECT_ERROR("arrays.dense.singular", inv(a(1)));
    EXPECT_ERROR("arrays.dense.singular", lu(a(2)));
    EXPECT_EQ(det(a).to_vector<float>()[1], 0);
    EXPECT_EQ(det(a).to_vector<float>()[2], 0);
    const AnyArray info = zeros<int>({3});
    const AnyArray x = solve(a, ones<float>({2}), {.info = info});
    EXPECT_EQ(info.to_vector<int>(), (std::vector<int>{0, 2, 1}));
    EXPECT_NEAR(x(0, 0).item<float>(), -1, 1e-5);
    const Array<float> nan(std::vector<float>{NAN}, {1, 1});
    EXPECT_ERROR("arrays.dense.singular", inv(nan));
    EXPECT_ERROR("arrays.dense.not_positive_definite",
                 cholesky(Array<float>(std::vector<float>{1, 2, 2, 1}, {2, 2})));
    const AnyArray state = zeros<int>({});
    static_cast<void>(
        cholesky(Array<float>(std::vector<float>{1, 2, 2, 1}, {2, 2}), {.info = state}));
    EXPECT_EQ(state.item<int>(), 2);
  });
}

void check_reports() {
  const Array<double> a(std::vector<double>{1, 2, 2, 4}, {2, 2});
  EXPECT_ERROR("arrays.dense.singular", solve(a, ones<double>({2}), by_library));
  EXPECT_ERROR("arrays.dense.not_positive_definite",
               cholesky(Array<double>(std::vector<double>{1, 2, 2, 1}, {2, 2}), by_library));
  EXPECT_EQ(det(a, by_library).item<double>(), 0);
  const AnyArray info = zeros<int>({});
  static_cast<void>(lu(a, {.way = DenseWay::library, .info = info}));
  EXPECT_EQ(info.item<int>(), 2);
}

TEST_F(DenseByLapack, ReportsSingularMatrices) {
  check_reports();
  EXPECT_ERROR("arrays.dense.no_convergence",
               svd(Array<double>(std::vector<double>{NAN, 1, 1, 1}, {2, 2})));
}

TEST_F(DenseByCusolver, ReportsSingularMatrices) {
  check_reports();
}

TEST(Dense, IsPartOfGraphsWithAnArrayForStates) {
  for (const runtime::Device device : runtime::judged_devices()) {
    if (device.info().id.kind == runtime::BackendKind::opencl) {
      continue;  // no graphs
    }
    const runtime::Stream stream(device);
    const StreamScope scope(stream);
    const Array<double> a = array_of<double>(random_matrices<double>(5, 6, 6));
    const Array<double> b = ones<double>({5, 6, 1});
    const Array<double> out = zeros<double>({5, 6, 1});
    const AnyArray info = zeros<int>({5});
    const auto work = [&] { out.assign(out + solve(a, b, {.info = info})); };
    work();
    const std::vector<double> once = out.to_vector();
    out.assign(0);
    const runtime::Graph graph = runtime::capture(stream, work);
    graph.launch(stream);
    EXPECT_EQ(out.to_vector(), once);
  }
}

TEST(Dense, RefusesWhatItCannotDo) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Array<float> a = ones<float>({3, 4});
  EXPECT_ERROR("arrays.dense.shape", inv(a));
  EXPECT_ERROR("arrays.dense.shape", qr(ones<float>({3})));
  EXPECT_ERROR("arrays.dense.shape", solve(ones<float>({3, 3}), ones<float>({4})));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch",
               solve(ones<float>({2, 3, 3}), ones<float>({5, 3, 1})));
  EXPECT_ERROR("arrays.dense.dtype", inv(zeros(vector_of(DType::f32, 2), {3, 3})));
  EXPECT_ERROR("arrays.dense.info", inv(ones<float>({2, 3, 3}), {.info = zeros<int>({3})}));
  EXPECT_ERROR("arrays.dense.info", inv(ones<float>({2, 3, 3}), {.info = zeros<float>({2})}));
  EXPECT_ERROR("arrays.dense.too_large", inv(ones<float>({33, 33}), by_generated));
  EXPECT_ERROR("arrays.dense.too_large", svd(ones<float>({3, 33}), by_generated));
}

TEST(Dense, RefusesALibraryThatIsNotThere) {
  for (const runtime::Device device : runtime::judged_devices()) {
    if (device.info().id.kind != runtime::BackendKind::opencl) {
      continue;
    }
    const StreamScope scope(device.default_stream());
    EXPECT_ERROR("arrays.dense.no_library", inv(ones<float>({33, 33})));
    EXPECT_ERROR("arrays.dense.no_library", svd(ones<float>({3, 33})));
    EXPECT_EQ(describe_dense_library(device).rfind("none: LAPACK computes on the host", 0), 0U);
  }
}

}  // namespace
}  // namespace rtcg::arrays
