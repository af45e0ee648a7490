#include "rtcg/arrays/solve/conjugate_gradients.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/preconditioners.h"
#include "tests/arrays/solve/matrices.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

// Thousands of short launches: threads that spin while they wait would take the cores from those
// that work, where tests run side by side. Read when the first kernel is loaded.
const int waits_asleep = ::setenv("OMP_WAIT_POLICY", "passive", 0);

using testing::EigenMatrix;
using testing::EigenVector;
using testing::NamedMatrix;
using testing::on_every_device;
using testing::to_device;

/// Norm of b - A x over that of b, in double precision.
double residual_of(const EigenMatrix& matrix, const EigenVector& right, const AnyArray& x) {
  return (right - matrix * testing::to_host(x)).norm() / right.norm();
}

template <class T>
void check_solution(const EigenMatrix& matrix, const SolveOptions& options) {
  const EigenVector right = testing::some_vector(matrix.rows());
  const Solution found = conjugate_gradients(to_device<T>(matrix), to_device<T>(right), options);
  EXPECT_LE(residual_of(matrix, right, found.x), 2.1 * options.tolerance);
  EXPECT_EQ(static_cast<std::int64_t>(found.history.size()), found.iterations + 1);
  EXPECT_LE(found.history.back(), options.tolerance);
  const EigenVector expected = testing::solved_by_eigen(matrix, right);
  // the condition numbers of all of these are below 1e4
  EXPECT_LE((testing::to_host(found.x) - expected).norm(),
            1e4 * options.tolerance * expected.norm());
}

TEST(ConjugateGradients, SolveWhatEigenSolves) {
  on_every_device([] {
    for (const NamedMatrix& each : testing::definite_matrices()) {
      SCOPED_TRACE(each.name);
      check_solution<double>(each.matrix, {.tolerance = 1e-10});
    }
    check_solution<float>(testing::stencil(14), {.tolerance = 1e-4});
  });
}

TEST(ConjugateGradients, TakePreconditioners) {
  on_every_device([] {
    for (const EigenMatrix& matrix : {testing::power_law(200), testing::blocks(40, 5)}) {
      const auto a = to_device<double>(matrix);
      for (const Preconditioner& inverse : {jacobi(a), block_jacobi(a, 7)}) {
        check_solution<double>(matrix, {.tolerance = 1e-10, .preconditioner = inverse});
      }
    }
  });
}

TEST(ConjugateGradients, NeedFewerIterationsWithBlocks) {
  on_every_device([] {
    const EigenMatrix matrix = testing::blocks(40, 5);
    const auto a = to_device<double>(matrix);
    const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
    const auto iterations = [&](const Preconditioner& inverse) {
      return conjugate_gradients(a, b, {.preconditioner = inverse}).iterations;
    };
    const auto plain = iterations({});
    const auto by_diagonal = iterations(jacobi(a));
    const auto by_blocks = iterations(block_jacobi(a, 5));
    EXPECT_LT(iterations(chebyshev_polynomial(a)), plain / 2);
    EXPECT_LT(by_diagonal, plain / 2);
    EXPECT_LT(by_blocks, by_diagonal / 2);
  });
}

// The values of the residuals are those of the method, computed here by Eigen's operations.
TEST(ConjugateGradients, HaveTheResidualsOfTheMethod) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(9);
    const EigenVector right = testing::some_vector(matrix.rows());
    const Solution found = conjugate_gradients(to_device<double>(matrix), to_device<double>(right),
                                               {.tolerance = 1e-6, .check_every = 3});
    EigenVector r = right;
    EigenVector p = r;
    double square = r.squaredNorm();
    ASSERT_GT(found.history.size(), 10U);
    for (std::size_t iteration = 0; iteration < found.history.size(); ++iteration) {
      // rounding grows from iteration to iteration
      EXPECT_NEAR(found.history[iteration], r.norm() / right.norm(),
                  1e-9 * found.history[iteration]);
      const EigenVector image = matrix * p;
      r -= square / p.dot(image) * image;
      const double next = r.squaredNorm();
      p = r + next / square * p;
      square = next;
    }
    EXPECT_GT(found.history[found.history.size() - 2], 1e-6);
  });
}

// After the tolerance is reached nothing changes, however far the device has gone.
TEST(ConjugateGradients, GiveTheSameWheneverTheHostLooks) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(12);
    const auto a = to_device<double>(matrix);
    const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
    const Solution first = conjugate_gradients(a, b, {.tolerance = 1e-7, .check_every = 1});
    for (const int every : {2, 7, 20, 1000}) {
      const Solution again = conjugate_gradients(a, b, {.tolerance = 1e-7, .check_every = every});
      EXPECT_EQ(again.iterations, first.iterations);
      EXPECT_EQ(again.x.to_vector<double>(), first.x.to_vector<double>());
      EXPECT_EQ(again.history, first.history);
    }
  });
}

// Batches after the first are graphs, of sparse matrices and where nobody asks to be called.
TEST(ConjugateGradients, RepeatIterationsAsOneGraph) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Device device(watched);
    if (device.info().id.kind == runtime::BackendKind::opencl) {
      return;  // has no graphs
    }
    const runtime::Stream stream(device);
    const StreamScope scope(stream);
    const EigenMatrix matrix = testing::stencil(40);
    const LinearOperator a(to_device<double>(matrix).any());
    const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
    SolveOptions options{.tolerance = 1e-8};
    const Solution plain = conjugate_gradients(a.repeatable(false), b, options);
    ASSERT_GT(plain.iterations, 60);
    static_cast<void>(watched.take_calls());
    for (const int every : {20, 4, 7}) {
      SCOPED_TRACE(every);
      options.check_every = every;
      const Solution found = conjugate_gradients(a, b, options);
      const auto calls = watched.take_calls();
      EXPECT_EQ(found.history, plain.history);
      EXPECT_EQ(found.x.to_vector<double>(), plain.x.to_vector<double>());
      const int graphs = testing::count_of(calls, {"launch_graph"});
      if (every % 2 == 0) {
        EXPECT_GE(graphs, plain.iterations / every - 1);
      } else {
        EXPECT_EQ(graphs, 0);
      }
    }
  });
}

TEST(ConjugateGradients, WaitOnceInTwentyIterations) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Device device(watched);
    const StreamScope scope(device.default_stream());
    const EigenMatrix matrix = testing::stencil(40);
    const auto a = to_device<double>(matrix);
    const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
    const SolveOptions options{.tolerance = 1e-8};
    static_cast<void>(conjugate_gradients(a, b, options));  // compiles
    static_cast<void>(watched.take_calls());
    const Solution found = conjugate_gradients(a, b, options);
    const auto calls = watched.take_calls();
    ASSERT_GT(found.iterations, 60);
    // norm of the right-hand side, true residual, longest row
    const int waits = testing::count_of(
        calls, {"synchronize", "synchronize_device", "synchronize_event", "elapsed_ms"});
    EXPECT_LE(waits, found.iterations / 20 + 5);
    const int launches = testing::count_of(calls, {"launch"});
    const bool has_last_blocks = device.info().id.kind != runtime::BackendKind::opencl;
    if (has_last_blocks) {
      EXPECT_LE(launches, 3 * (found.iterations + 40) + 30);
    }
  });
}

/// The host's processor, which says that it is none: the host looks while the next batch runs.
class PretendedGpu : public testing::WatchedBackend {
 public:
  explicit PretendedGpu(runtime::Device device) : WatchedBackend(device), info_(device.info()) {
    info_.is_cpu = false;
  }
  [[nodiscard]] const runtime::DeviceInfo& info() const override { return info_; }

 private:
  runtime::DeviceInfo info_;
};

TEST(ConjugateGradients, GiveTheSameWhereTheDeviceRunsAhead) {
  static auto& pretended = *new PretendedGpu(runtime::Device::host());  // never destroyed
  const EigenMatrix matrix = testing::stencil(12);
  const EigenVector right = testing::some_vector(matrix.rows());
  const auto solve_on = [&](runtime::Device device, int every, std::int64_t most) {
    const StreamScope scope(device.default_stream());
    return conjugate_gradients(to_device<double>(matrix), to_device<double>(right),
                               {.tolerance = 1e-7, .max_iterations = most, .check_every = every});
  };
  const Solution expected = solve_on(runtime::Device(pretended), 1, 1000);
  // the kernels of GPUs add up in another order
  const Solution on_host = solve_on(runtime::Device::host(), 1, 1000);
  EXPECT_NEAR(expected.iterations, on_host.iterations, 2);
  const auto x = expected.x.to_vector<double>();
  const auto x_on_host = on_host.x.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(x[i], x_on_host[i], 1e-5);
  }
  for (const int every : {7, 20, 1000}) {
    SCOPED_TRACE(every);
    const Solution found = solve_on(runtime::Device(pretended), every, 1000);
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(found.history, expected.history);
    EXPECT_EQ(found.x.to_vector<double>(), expected.x.to_vector<double>());
    EXPECT_ERROR("arrays.solve.not_converged", solve_on(runtime::Device(pretended), every, 9));
    EXPECT_EQ(solve_on(runtime::Device(pretended), every, expected.iterations).iterations,
              expected.iterations);
  }
}

TEST(ConjugateGradients, GoOnFromAFirstSolution) {
  on_every_device([] {
    const EigenMatrix matrix = testing::stencil(12);
    const auto a = to_device<double>(matrix);
    const EigenVector right = testing::some_vector(matrix.rows());
    const Array<double> b = to_device<double>(right);
    const Solution found = conjugate_gradients(a, b);
    const Solution again = conjugate_gradients(a, b, {.tolerance = 1e-8, .start = found.x});
    EXPECT_EQ(again.iterations, 0);
    const Solution nothing = conjugate_gradients(a, zeros<double>({matrix.rows()}));
    EXPECT_EQ(nothing.iterations, 0);
    EXPECT_EQ(nothing.x.to_vector<double>(),
              std::vector<double>(static_cast<std::size_t>(matrix.rows())));
    EXPECT_EQ(conjugate_gradients(LinearOperator(0, DType::f64, {}), zeros<double>({0})).iterations,
              0);
  });
}

TEST(ConjugateGradients, TakeAnyOperatorAndInnerProduct) {
  on_every_device([] {
    // D^-1 A is self-adjoint in the inner product of D
    const EigenMatrix matrix = testing::stencil(10);
    const auto a = to_device<double>(matrix);
    const std::int64_t count = matrix.rows();
    const Array<double> d = 1 + arange<double>(count) % 3;
    const LinearOperator scaled(count, DType::f64,
                                [&](runtime::StreamRef, const AnyArray& x, const AnyArray& y) {
                                  multiply_into(a, x, y);
                                  y.assign(y / Expression(d));
                                });
    const EigenVector right = testing::some_vector(count);
    const Array<double> b = to_device<double>(right);
    SolveOptions options;
    options.product = [&](runtime::StreamRef, const AnyArray& u, const AnyArray& v,
                          const AnyArray& product) { product.assign(sum(d * u * v)); };
    int reports = 0;
    options.report = [&](const SolveProgress& progress) {
      EXPECT_EQ(progress.iterations, ++reports);
    };
    const Solution found = conjugate_gradients(scaled, Array<double>(b / d), options);
    EXPECT_LT(residual_of(matrix, right, found.x), 1e-9);
    EXPECT_EQ(reports, found.iterations);
    const Solution by_diagonal = conjugate_gradients(
        scaled, Array<double>(b / d),
        {.preconditioner = Preconditioner::of_diagonal(ones<double>({count}).any()),
         .product = options.product});
    EXPECT_EQ(by_diagonal.iterations, found.iterations);
  });
}

struct Tridiagonal {
  std::int64_t length;
  [[nodiscard]] std::int64_t count() const { return length; }
  [[nodiscard]] static DType dtype() { return DType::f64; }
  static void apply(runtime::StreamRef, const AnyArray& x, const AnyArray& y) {
    y.assign(3 * x);
    const std::int64_t n = x.count();
    y(Slice{1, n}) = y(Slice{1, n}) - Expression(x(Slice{0, n - 1}));
    y(Slice{0, n - 1}) = y(Slice{0, n - 1}) - Expression(x(Slice{1, n}));
  }
};

TEST(ConjugateGradients, TakeATypeOfTheUser) {
  static_assert(LinearMap<Tridiagonal>);
  on_every_device([] {
    const Array<double> b = arange<double>(50);
    const Solution found = conjugate_gradients(Tridiagonal{50}, b);
    AnyArray image = zeros_like(b.any());
    Tridiagonal::apply(current_stream(), found.x, image);
    EXPECT_LT(norm(image - Expression(b)).item<double>(), 1e-8 * norm(b).item<double>());
  });
}

TEST(ConjugateGradients, TellWhyThereIsNoSolution) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const EigenMatrix matrix = testing::stencil(12);
  const auto a = to_device<double>(matrix);
  const Array<double> b = to_device<double>(testing::some_vector(matrix.rows()));
  try {
    static_cast<void>(conjugate_gradients(a, b, {.max_iterations = 7}));
    FAIL();
  } catch (const NotConverged& error) {
    EXPECT_EQ(error.code(), "arrays.solve.not_converged");
    EXPECT_EQ(error.history().size(), 8U);
  }
  EXPECT_ERROR("arrays.solve.not_converged",
               conjugate_gradients(to_device<float>(matrix), b.as<float>(), {.tolerance = 1e-12}));
  const auto indefinite = to_device<double>(testing::stencil(12, 0, 3));
  EXPECT_ERROR("arrays.solve.not_definite", conjugate_gradients(indefinite, b));
  const Array<double> minus = -1 * ones<double>({b.count()});
  EXPECT_ERROR(
      "arrays.solve.not_definite",
      conjugate_gradients(a, b, {.preconditioner = Preconditioner::of_diagonal(minus.any())}));
  Array<double> bad = b.copy();
  bad(3) = NAN;
  EXPECT_ERROR("arrays.solve.not_finite", conjugate_gradients(a, bad));
  EXPECT_ERROR("arrays.solve.bad_options", conjugate_gradients(a, b, {.tolerance = 0}));
  EXPECT_ERROR("arrays.solve.bad_options", conjugate_gradients(a, b, {.max_iterations = -1}));
  EXPECT_ERROR("arrays.solve.bad_options", conjugate_gradients(a, b, {.check_every = 0}));
  EXPECT_ERROR("arrays.solve.shape_mismatch", conjugate_gradients(a, zeros<double>({5})));
  EXPECT_ERROR("arrays.solve.dtype", conjugate_gradients(a, b.as<float>()));
  EXPECT_ERROR("arrays.solve.shape_mismatch",
               conjugate_gradients(a, b, {.preconditioner = LinearOperator(5, DType::f64, {})}));
  EXPECT_ERROR("arrays.solve.dtype", LinearOperator(5, DType::i32, {}));
  EXPECT_ERROR("arrays.solve.shape_mismatch", LinearOperator(-5, DType::f32, {}));
  EXPECT_ERROR("arrays.solve.shape_mismatch",
               LinearOperator(SparseMatrix<double>::from_triplets(2, 3, {}, {}, {})));
}

}  // namespace
}  // namespace rtcg::arrays
