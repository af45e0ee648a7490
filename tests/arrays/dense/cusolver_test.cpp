// What cuSOLVER would be asked for, answered by Eigen on the host.
#include "rtcg/arrays/dense/cusolver.h"

#include <complex>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/dense/matrices.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using detail::CusolverApi;
using Long = CusolverApi::Long;
using Complex = std::complex<double>;
using testing::array_of;
using testing::expect_near;
using testing::identity_of;
using testing::Matrix;
using testing::matrix_of;
using testing::random_matrices;
using testing::triangle_of;

struct AskedOfSolver {
  int handles = 0;
  int ended = 0;
  int calls = 0;
  int status = 0;
  void* stream = nullptr;
  static AskedOfSolver& instance() {
    static AskedOfSolver asked;
    return asked;
  }
};

constexpr std::size_t work_bytes = 96;
constexpr std::size_t host_work_bytes = 16;

int answer_size(std::size_t* on_device, std::size_t* on_host) {
  *on_device = work_bytes;
  *on_host = host_work_bytes;
  return 0;
}

int answer(const void* work, std::size_t bytes, const void* host_work, std::size_t host_bytes) {
  EXPECT_NE(work, nullptr);
  EXPECT_NE(host_work, nullptr);
  EXPECT_EQ(bytes, work_bytes);
  EXPECT_EQ(host_bytes, host_work_bytes);
  ++AskedOfSolver::instance().calls;
  return AskedOfSolver::instance().status;
}

/// Numbers of a type of cudaDataType.
struct Numbers {
  int type;
  void* data;

  [[nodiscard]] Complex get(Long i) const {
    switch (type) {
      case 0:
        return static_cast<float*>(data)[i];
      case 1:
        return static_cast<double*>(data)[i];
      case 4:
        return Complex(static_cast<std::complex<float>*>(data)[i]);
      default:
        return static_cast<Complex*>(data)[i];
    }
  }
  void set(Long i, Complex value) const {
    switch (type) {
      case 0:
        static_cast<float*>(data)[i] = static_cast<float>(value.real());
        break;
      case 1:
        static_cast<double*>(data)[i] = value.real();
        break;
      case 4:
        static_cast<std::complex<float>*>(data)[i] = std::complex<float>(value);
        break;
      default:
        static_cast<Complex*>(data)[i] = value;
    }
  }
  [[nodiscard]] Numbers from(Long i) const {
    constexpr Long bytes[] = {4, 8, 0, 0, 8, 16};
    return {type, static_cast<std::byte*>(data) + i * bytes[type]};
  }
};

Numbers numbers(int type, const void* data) {
  return {type, const_cast<void*>(data)};
}

/// Of what work on the stream has written: the fake computes at once.
Matrix read(const Numbers& from, Long rows, Long columns, Long leading) {
  current_stream().synchronize();
  EXPECT_GE(leading, rows);
  Matrix result(rows, columns);
  for (Long j = 0; j < columns; ++j) {
    for (Long i = 0; i < rows; ++i) {
      result(i, j) = from.get(i + j * leading);
    }
  }
  return result;
}

void write(const Numbers& to, const Matrix& a, Long leading) {
  for (Long j = 0; j < a.cols(); ++j) {
    for (Long i = 0; i < a.rows(); ++i) {
      to.set(i + j * leading, a(i, j));
    }
  }
}

int fake_lu(void*, void*, Long m, Long n, int type, void* data, Long lda, Long* pivots, int compute,
            void* work, std::size_t bytes, void* host_work, std::size_t host_bytes, int* info) {
  EXPECT_EQ(type, compute);
  Matrix a = read(numbers(type, data), m, n, lda);
  *info = 0;
  for (Long k = 0; k < n; ++k) {
    Long best = k;
    for (Long i = k; i < m; ++i) {
      best = std::abs(a(i, k)) > std::abs(a(best, k)) ? i : best;
    }
    pivots[k] = best + 1;
    a.row(k).swap(a.row(best));
    if (a(k, k) == 0.0) {
      *info = *info == 0 ? static_cast<int>(k + 1) : *info;
      continue;
    }
    for (Long i = k + 1; i < m; ++i) {
      a(i, k) /= a(k, k);
      for (Long j = k + 1; j < n; ++j) {
        a(i, j) -= a(i, k) * a(k, j);
      }
    }
  }
  write(numbers(type, data), a, lda);
  return answer(work, bytes, host_work, host_bytes);
}

int fake_solve(void*, void*, int transposes, Long n, Long columns, int type, const void* lu,
               Long lda, const Long* pivots, int type_b, void* b, Long ldb, int* info) {
  EXPECT_EQ(transposes, 0);
  EXPECT_EQ(type, type_b);
  const Matrix factors = read(numbers(type, lu), n, n, lda);
  Matrix x = read(numbers(type, b), n, columns, ldb);
  for (Long k = 0; k < n; ++k) {
    x.row(k).swap(x.row(pivots[k] - 1));
  }
  for (Long column = 0; column < columns; ++column) {
    for (Long i = 0; i < n; ++i) {
      for (Long k = 0; k < i; ++k) {
        x(i, column) -= factors(i, k) * x(k, column);
      }
    }
    for (Long i = n - 1; i >= 0; --i) {
      for (Long k = i + 1; k < n; ++k) {
        x(i, column) -= factors(i, k) * x(k, column);
      }
      x(i, column) /= factors(i, i);
    }
  }
  write(numbers(type, b), x, ldb);
  *info = 0;
  return AskedOfSolver::instance().status;
}

void factor_cholesky(const Numbers& data, Long n, Long lda, int* info) {
  Matrix a = read(data, n, n, lda);
  *info = 0;
  for (Long k = 0; k < n && *info == 0; ++k) {
    double square = a(k, k).real();
    for (Long j = 0; j < k; ++j) {
      square -= std::norm(a(k, j));
    }
    if (!(square > 0)) {
      *info = static_cast<int>(k + 1);
      break;
    }
    a(k, k) = std::sqrt(square);
    for (Long i = k + 1; i < n; ++i) {
      for (Long j = 0; j < k; ++j) {
        a(i, k) -= a(i, j) * std::conj(a(k, j));
      }
      a(i, k) /= a(k, k);
    }
  }
  write(data, a, lda);
}

int fake_cholesky(void*, void*, int triangle, Long n, int type, void* data, Long lda, int compute,
                  void* work, std::size_t bytes, void* host_work, std::size_t host_bytes,
                  int* info) {
  EXPECT_EQ(triangle, 0);
  EXPECT_EQ(type, compute);
  factor_cholesky(numbers(type, data), n, lda, info);
  return answer(work, bytes, host_work, host_bytes);
}

template <int type>
int fake_cholesky_batch(void*, int triangle, int n, void** matrices, int lda, int* info,
                        int count) {
  EXPECT_EQ(triangle, 0);
  current_stream().synchronize();  // the addresses
  for (int i = 0; i < count; ++i) {
    factor_cholesky(numbers(type, matrices[i]), n, lda, info + i);
  }
  ++AskedOfSolver::instance().calls;
  return AskedOfSolver::instance().status;
}

int fake_qr(void*, void*, Long m, Long n, int type, void* data, Long lda, int type_tau, void* tau,
            int compute, void* work, std::size_t bytes, void* host_work, std::size_t host_bytes,
            int* info) {
  EXPECT_EQ(type, type_tau);
  EXPECT_EQ(type, compute);
  const Eigen::HouseholderQR<Matrix> found(read(numbers(type, data), m, n, lda));
  write(numbers(type, data), found.matrixQR(), lda);
  write(numbers(type, tau), found.hCoeffs(), std::min(m, n));
  *info = 0;
  return answer(work, bytes, host_work, host_bytes);
}

template <int type>
int fake_q(void*, int m, int n, int k, void* data, int lda, const void* tau, void* work,
           int elements, int* info) {
  EXPECT_NE(work, nullptr);
  EXPECT_EQ(elements, 7);
  EXPECT_LE(n, m);
  EXPECT_EQ(k, n);
  const Matrix a = read(numbers(type, data), m, n, lda);
  const Eigen::VectorXcd factors = read(numbers(type, tau), k, 1, k).col(0).conjugate();
  const Matrix all = Eigen::householderSequence(a, factors) * Matrix::Identity(m, n);
  write(numbers(type, data), all, lda);
  *info = 0;
  ++AskedOfSolver::instance().calls;
  return AskedOfSolver::instance().status;
}

int real_of_type(int type) {
  return type % 4;
}

void find_eigenvalues(const Numbers& data, const Numbers& values, int job, Long n, Long lda,
                      int* info) {
  const Matrix given = read(data, n, n, lda);
  EXPECT_EQ(values.type, real_of_type(data.type));
  const Eigen::SelfAdjointEigenSolver<Matrix> found(given);  // reads the lower triangle
  write(values, found.eigenvalues().cast<Complex>(), n);
  write(data, job == 1 ? found.eigenvectors() : Matrix::Constant(n, n, 7), lda);
  *info = 0;
}

int fake_eigh(void*, void*, int job, int triangle, Long n, int type, void* data, Long lda,
              int type_values, void* values, int compute, void* work, std::size_t bytes,
              void* host_work, std::size_t host_bytes, int* info) {
  EXPECT_EQ(triangle, 0);
  EXPECT_EQ(type, compute);
  find_eigenvalues(numbers(type, data), numbers(type_values, values), job, n, lda, info);
  return answer(work, bytes, host_work, host_bytes);
}

int fake_eigh_batch(void*, void*, int job, int triangle, Long n, int type, void* data, Long lda,
                    int type_values, void* values, int, void* work, std::size_t bytes,
                    void* host_work, std::size_t host_bytes, int* info, Long count) {
  EXPECT_EQ(triangle, 0);
  for (Long i = 0; i < count; ++i) {
    find_eigenvalues(numbers(type, data).from(i * n * lda),
                     numbers(type_values, values).from(i * n), job, n, lda, info + i);
  }
  return answer(work, bytes, host_work, host_bytes);
}

int fake_svd(void*, void*, signed char job_u, signed char job_vt, Long m, Long n, int type,
             void* data, Long lda, int type_values, void* values, int type_u, void* u, Long ldu,
             int type_vt, void* vt, Long ldvt, int compute, void* work, std::size_t bytes,
             void* host_work, std::size_t host_bytes, int* info) {
  EXPECT_EQ(job_u, 'S');
  EXPECT_EQ(job_vt, 'S');
  EXPECT_GE(m, n) << "cuSOLVER has no other";
  EXPECT_EQ(type_values, real_of_type(type));
  EXPECT_TRUE(type_u == type && type_vt == type && compute == type);
  const Eigen::JacobiSVD<Matrix> found(read(numbers(type, data), m, n, lda),
                                       Eigen::ComputeThinU | Eigen::ComputeThinV);
  write(numbers(type_values, values), found.singularValues().cast<Complex>(), n);
  write(numbers(type, u), found.matrixU(), ldu);
  write(numbers(type, vt), found.matrixV().adjoint(), ldvt);
  *info = 0;
  return answer(work, bytes, host_work, host_bytes);
}

template <int type>
int fake_small_svd(void*, int job, int m, int n, void* data, int lda, void* values, void* u,
                   int ldu, void* v, int ldv, void* work, int elements, int* info, void* options,
                   int count) {
  EXPECT_EQ(job, 1);
  EXPECT_GE(m, n);
  EXPECT_LE(m, 32) << "cuSOLVER takes no more";
  EXPECT_NE(work, nullptr);
  EXPECT_NE(options, nullptr);
  EXPECT_EQ(elements, 7);
  for (int i = 0; i < count; ++i) {
    const Matrix a = read(numbers(type, data).from(Long{i} * lda * n), m, n, lda);
    const Eigen::JacobiSVD<Matrix> found(a, Eigen::ComputeFullU | Eigen::ComputeFullV);
    write(numbers(real_of_type(type), values).from(Long{i} * n),
          found.singularValues().cast<Complex>(), n);
    write(numbers(type, u).from(Long{i} * ldu * m), found.matrixU(), ldu);
    write(numbers(type, v).from(Long{i} * ldv * n), found.matrixV(), ldv);
    info[i] = 0;
  }
  ++AskedOfSolver::instance().calls;
  return AskedOfSolver::instance().status;
}

int answer_elements(int* elements) {
  *elements = 7;
  return 0;
}

template <int type>
void add_functions_of_type(CusolverApi& api) {
  constexpr std::size_t place = type < 4 ? type : type - 2;
  api.q[place] = fake_q<type>;
  api.q_size[place] = [](void*, int, int, int, const void*, int, const void*, int* elements) {
    return answer_elements(elements);
  };
  api.cholesky_batch[place] = fake_cholesky_batch<type>;
  api.small_svd[place] = fake_small_svd<type>;
  api.small_svd_size[place] = [](void*, int, int, int, const void*, int, const void*, const void*,
                                 int, const void*, int, int* elements, void*,
                                 int) { return answer_elements(elements); };
}

CusolverApi made_fake() {
  using Asked = AskedOfSolver;
  CusolverApi api;
  api.create = [](void** handle) {
    ++Asked::instance().handles;
    *handle = &Asked::instance();
    return 0;
  };
  api.destroy = [](void*) {
    ++Asked::instance().ended;
    return 0;
  };
  api.set_stream = [](void*, void* stream) {
    Asked::instance().stream = stream;
    return 0;
  };
  api.create_options = [](void** options) {
    *options = &Asked::instance();
    return 0;
  };
  api.create_small_svd_options = api.create_options;
  api.destroy_small_svd_options = [](void*) { return 0; };
  api.lu_size = [](void*, void*, Long, Long, int, const void*, Long, int, std::size_t* on_device,
                   std::size_t* on_host) { return answer_size(on_device, on_host); };
  api.lu = fake_lu;
  api.solve = fake_solve;
  api.cholesky_size = [](void*, void*, int, Long, int, const void*, Long, int,
                         std::size_t* on_device,
                         std::size_t* on_host) { return answer_size(on_device, on_host); };
  api.cholesky = fake_cholesky;
  api.qr_size = [](void*, void*, Long, Long, int, const void*, Long, int, const void*, int,
                   std::size_t* on_device,
                   std::size_t* on_host) { return answer_size(on_device, on_host); };
  api.qr = fake_qr;
  api.eigh_size = [](void*, void*, int, int, Long, int, const void*, Long, int, const void*, int,
                     std::size_t* on_device,
                     std::size_t* on_host) { return answer_size(on_device, on_host); };
  api.eigh = fake_eigh;
  api.eigh_batch_size = [](void*, void*, int, int, Long, int, const void*, Long, int, const void*,
                           int, std::size_t* on_device, std::size_t* on_host,
                           Long) { return answer_size(on_device, on_host); };
  api.eigh_batch = fake_eigh_batch;
  api.svd_size = [](void*, void*, signed char, signed char, Long, Long, int, const void*, Long, int,
                    const void*, int, const void*, Long, int, const void*, Long, int,
                    std::size_t* on_device,
                    std::size_t* on_host) { return answer_size(on_device, on_host); };
  api.svd = fake_svd;
  add_functions_of_type<0>(api);
  add_functions_of_type<1>(api);
  add_functions_of_type<4>(api);
  add_functions_of_type<5>(api);
  api.library = "fake";
  return api;
}

const CusolverApi& fake_solver() {
  static const CusolverApi& api = *new CusolverApi(made_fake());
  return api;
}

AnyArray fortran(const AnyArray& a) {
  return a.swap_axes(1, 2).copy();
}

class CusolverOnHost : public ::testing::Test {
 protected:
  runtime::Stream stream_{runtime::Device::host()};
  StreamScope scope_{stream_};

  static const CusolverApi& fake() {
    AskedOfSolver::instance().calls = 0;
    return fake_solver();
  }
  template <class Body>
  static void for_types(const Body& body) {
    body(float());
    body(double());
    body(std::complex<float>());
    body(std::complex<double>());
  }
};

TEST_F(CusolverOnHost, SolvesSystems) {
  for_types([&]<class T>(T) {
    const auto matrices = random_matrices<T>(3, 6, 6);
    const auto right = random_matrices<T>(3, 6, 2);
    const AnyArray lu = fortran(array_of<T>(matrices));
    const AnyArray x = fortran(array_of<T>(right));
    const AnyArray pivots = zeros<std::int64_t>({3, 6});
    const AnyArray info = ones<std::int32_t>({3});
    detail::cusolver_lu(fake(), stream_, lu, pivots, info);
    EXPECT_EQ(AskedOfSolver::instance().calls, 3);
    EXPECT_EQ(AskedOfSolver::instance().stream, current_stream().native_handle());
    detail::cusolver_solve(fake(), stream_, lu, pivots, x);
    EXPECT_EQ(info.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 0, 0}));
    const AnyArray found = fortran(x);
    for (std::size_t i = 0; i < 3; ++i) {
      const Matrix solution = matrix_of(found, static_cast<std::int64_t>(i));
      expect_near<T>(matrices[i] * solution, right[i], matrices[i].norm() * solution.norm(),
                     "solve");
    }
  });
}

TEST_F(CusolverOnHost, FactorsByCholeskyInOneCall) {
  for_types([&]<class T>(T) {
    for (const std::size_t count : {1, 3}) {
      auto matrices = random_matrices<T>(count, 5, 5);
      for (Matrix& each : matrices) {
        each = (each * each.adjoint() + identity_of(5)).eval();
      }
      const AnyArray factors = fortran(array_of<T>(matrices));
      const AnyArray info = ones<std::int32_t>({static_cast<std::int64_t>(count)});
      detail::cusolver_cholesky(fake(), stream_, factors, info);
      EXPECT_EQ(AskedOfSolver::instance().calls, 1);
      const AnyArray found = fortran(factors);
      for (std::size_t i = 0; i < count; ++i) {
        const Matrix packed = matrix_of(found, static_cast<std::int64_t>(i));
        Matrix root = triangle_of(packed, false);
        root.diagonal() = packed.diagonal();
        expect_near<T>(root * root.adjoint(), matrices[i], matrices[i].norm(), "cholesky");
      }
      EXPECT_EQ(info.to_vector<std::int32_t>(), std::vector<std::int32_t>(count, 0));
    }
  });
}

TEST_F(CusolverOnHost, FactorsByReflections) {
  for_types([&]<class T>(T) {
    for (const auto& [rows, columns] : {std::pair(7, 4), std::pair(4, 7)}) {
      const std::int64_t least = std::min(rows, columns);
      const auto matrices = random_matrices<T>(2, rows, columns);
      const AnyArray factors = fortran(array_of<T>(matrices));
      const AnyArray tau = zeros(factors.dtype(), {2, least});
      detail::cusolver_qr(fake(), stream_, factors, tau);
      const AnyArray q = factors(whole, Slice{0, least}).copy();
      detail::cusolver_q(fake_solver(), stream_, q, tau);
      EXPECT_EQ(AskedOfSolver::instance().calls, 4);
      const AnyArray found_q = fortran(q);
      const AnyArray packed = fortran(factors);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto which = static_cast<std::int64_t>(i);
        const Matrix r = triangle_of(matrix_of(packed, which), true).topRows(least);
        expect_near<T>(matrix_of(found_q, which) * r, matrices[i], matrices[i].norm(), "qr");
      }
    }
  });
}

Matrix diagonal_of(const AnyArray& values, std::int64_t which) {
  const std::int64_t n = values.shape()[1];
  Matrix result = Matrix::Zero(n, n);
  const std::vector<Complex> all = testing::numbers_of(values);
  for (std::int64_t k = 0; k < n; ++k) {
    result(k, k) = all[static_cast<std::size_t>(which * n + k)];
  }
  return result;
}

TEST_F(CusolverOnHost, FindsEigenvaluesInOneCallWhereTheLibraryHasBatches) {
  static const CusolverApi older = [] {  // handles refer to it
    CusolverApi api = fake_solver();
    api.eigh_batch = nullptr;
    return api;
  }();
  for_types([&]<class T>(T) {
    auto matrices = random_matrices<T>(3, 5, 5);
    for (Matrix& each : matrices) {
      each = (each + each.adjoint()).eval();
    }
    const AnyArray a = array_of<T>(matrices);
    for (const CusolverApi* api : {&fake_solver(), &older}) {
      const AnyArray vectors = fortran(a);
      const AnyArray values = zeros(real_of(a.dtype()), {3, 5});
      const AnyArray info = ones<std::int32_t>({3});
      static_cast<void>(fake());
      detail::cusolver_eigh(*api, stream_, vectors, values, true, info);
      EXPECT_EQ(AskedOfSolver::instance().calls, api == &older ? 3 : 1);
      const AnyArray found = fortran(vectors);
      for (std::size_t i = 0; i < 3; ++i) {
        const auto which = static_cast<std::int64_t>(i);
        const Matrix v = matrix_of(found, which);
        expect_near<T>(matrices[i] * v, v * diagonal_of(values, which), matrices[i].norm(), "eigh");
      }
    }
  });
}

TEST_F(CusolverOnHost, FindsSingularValuesOfTallAndWideMatrices) {
  for_types([&]<class T>(T) {
    struct Case {
      std::size_t count;
      std::int64_t rows;
      std::int64_t columns;
      int calls;
    };
    for (const Case& each : {Case{1, 6, 3, 1}, Case{1, 3, 6, 1}, Case{3, 6, 3, 1}, Case{3, 3, 6, 1},
                             Case{2, 34, 4, 2}, Case{2, 4, 34, 2}}) {
      const auto matrices = random_matrices<T>(each.count, each.rows, each.columns);
      const AnyArray a = array_of<T>(matrices);
      const AnyArray info = ones<std::int32_t>({static_cast<std::int64_t>(each.count)});
      const detail::CusolverSvd found = detail::cusolver_svd(fake(), stream_, a, info);
      EXPECT_EQ(AskedOfSolver::instance().calls, each.calls);
      for (std::size_t i = 0; i < each.count; ++i) {
        const auto which = static_cast<std::int64_t>(i);
        expect_near<T>(matrix_of(found.u, which) * diagonal_of(found.values, which) *
                           matrix_of(found.vh, which),
                       matrices[i], matrices[i].norm(), "svd");
        EXPECT_EQ(matrix_of(a, which), matrices[i]) << "was changed";
      }
    }
  });
}

TEST_F(CusolverOnHost, HasAHandleForEachOfTheStreamsUsedLast) {
  const AnyArray a = ones<double>({1, 1, 1});
  const AnyArray info = zeros<std::int32_t>({1});
  const auto run = [&](runtime::StreamRef stream) {
    stream.synchronize();
    detail::cusolver_cholesky(fake_solver(), stream, a, info);
  };
  run(stream_);
  const int before = AskedOfSolver::instance().handles;
  run(stream_);
  EXPECT_EQ(AskedOfSolver::instance().handles, before);
  std::vector<runtime::Stream> others;
  for (int i = 0; i < 20; ++i) {
    others.emplace_back(runtime::Device::host());
    run(others.back());
  }
  // ended streams of other tests may have had the same places in memory
  EXPECT_GE(AskedOfSolver::instance().handles, before + 4);
  EXPECT_LE(AskedOfSolver::instance().handles - AskedOfSolver::instance().ended, 16);
}

TEST_F(CusolverOnHost, ReportsWhatTheLibraryRefuses) {
  const AnyArray a = ones<double>({1, 2, 2});
  AskedOfSolver::instance().status = 3;
  EXPECT_ERROR("arrays.dense.call_failed",
               detail::cusolver_cholesky(fake(), stream_, a, zeros<std::int32_t>({1})));
  AskedOfSolver::instance().status = 0;
}

TEST(Cusolver, SaysWhyItIsNotThere) {
  if (CusolverApi::find() == nullptr) {
    EXPECT_FALSE(CusolverApi::why_none().empty());
  } else {
    EXPECT_FALSE(CusolverApi::find()->library.empty());
  }
}

}  // namespace
}  // namespace rtcg::arrays
