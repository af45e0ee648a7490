// Products with sparse matrices as parts of expressions.
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_expression.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/arrays/sparse/kinds.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::count_of;
using testing::on_every_device;
using testing::on_every_watched_device;
using testing::WatchedBackend;
using testing::Whole;

constexpr int side = 9;

const Whole& laplacian() {
  static const Whole matrix =
      testing::stencil_kind("stencil of 5", side, side, 1, [](int dx, int dy, int) {
        return std::abs(dx) + std::abs(dy) <= 1;
      }).matrix;
  return matrix;
}

template <class T>
SparseMatrix<T> on_device(const Whole& matrix) {
  return SparseMatrix<T>::from_eigen(
      Eigen::SparseMatrix<T, Eigen::RowMajor>(matrix.template cast<T>()));
}

Eigen::VectorXd some_whole_numbers(Eigen::Index count, int seed) {
  Eigen::VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    result[i] = static_cast<double>((i * seed + 3) % 7 - 3);
  }
  return result;
}

template <class T>
Array<T> array_of(const Eigen::VectorXd& vector) {
  return Array<T>(std::vector<T>(vector.begin(), vector.end()));
}

std::vector<double> host_vector(const Eigen::VectorXd& vector) {
  return {vector.begin(), vector.end()};
}

/// Formats with a thread for each row.
constexpr SparseFormat formats_of_expressions[] = {
    SparseFormat::csr,  SparseFormat::coo, SparseFormat::csc, SparseFormat::ell,
    SparseFormat::sell, SparseFormat::dia, SparseFormat::bsr, SparseFormat::packets};

TEST(SparseProducts, InExpressionsAreEigens) {
  const Whole& matrix = laplacian();
  const Eigen::VectorXd x = some_whole_numbers(matrix.cols(), 3);
  const Eigen::VectorXd b = some_whole_numbers(matrix.rows(), 5);
  const Eigen::VectorXd image = matrix * x;
  on_every_device([&] {
    const auto in_rows = on_device<double>(matrix);
    const Array<double> p = array_of<double>(x);
    const Array<double> right = array_of<double>(b);
    for (const SparseFormat format : formats_of_expressions) {
      SCOPED_TRACE(name(format));
      const auto a = in_rows.in_format(format, {.block = 3, .most_stored = 100});
      EXPECT_EQ((right - a * p).to_vector<double>(), host_vector(b - image));
      EXPECT_EQ(dot(p, a * p).item<double>(), x.dot(image));
      EXPECT_EQ((right + a * (p + 1)).to_vector<double>(),
                host_vector(b + matrix * (x.array() + 1).matrix()));
      if (format != SparseFormat::csr && format != SparseFormat::dia) {
        continue;  // the others differ in how a row is read
      }
      EXPECT_EQ((2 * (a * p) + a * right).to_vector<double>(), host_vector(2 * image + matrix * b));
      EXPECT_EQ(max(abs(a * p)).item<double>(), image.cwiseAbs().maxCoeff());
      // of a product, and of a reduction
      EXPECT_EQ((right + a * (a * p)).to_vector<double>(), host_vector(b + matrix * image));
      EXPECT_EQ((right + a * (p * sum(p))).to_vector<double>(),
                host_vector(b + matrix * (x * x.sum())));
      // rows in another order, and several of them
      const Array<double> backwards(right(Slice{matrix.rows() - 1, {}, -1}));
      EXPECT_EQ((backwards + a * p).to_vector<double>(), host_vector(b.reverse() + image));
      const Array<double> two = stack({right, right});
      const std::vector<double> sums = (two + a * p).to_vector<double>();
      EXPECT_EQ(std::vector<double>(sums.begin() + matrix.rows(), sums.end()),
                host_vector(b + image));
      EXPECT_EQ(sum(two * (a * p), over(1)).to_vector<double>(),
                std::vector<double>(2, b.dot(image)));
      // places of elements beside
      EXPECT_EQ(sum(indices({matrix.rows()}) * (a * p)).item<double>(),
                image.dot(Eigen::VectorXd::LinSpaced(matrix.rows(), 0,
                                                     static_cast<double>(matrix.rows() - 1))));
    }
  });
}

TEST(SparseProducts, WithADenseMatrixArePartsOfExpressions) {
  const Whole& matrix = laplacian();
  on_every_device([&] {
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> x(matrix.cols(), 3);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      x(i / 3, i % 3) = static_cast<double>(i * 5 % 11 - 5);
    }
    const Array<double> wide(std::vector<double>(x.data(), x.data() + x.size()),
                             Extents{matrix.cols(), 3});
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> expected =
        x - matrix * x;
    for (const SparseFormat format : formats_of_expressions) {
      const auto a = on_device<double>(matrix).in_format(format, {.block = 3, .most_stored = 100});
      EXPECT_EQ((wide - a * wide).to_vector<double>(),
                std::vector<double>(expected.data(), expected.data() + expected.size()))
          << name(format);
      const Array<double> by_columns = wide.copy(Order::f);
      EXPECT_EQ((by_columns - a * by_columns).to_vector<double>(),
                std::vector<double>(expected.data(), expected.data() + expected.size()))
          << name(format);
    }
  });
}

TEST(SparseProducts, OfRowsThatAreAlikeAreOneKernelWithTheRest) {
  const Whole& matrix = laplacian();
  on_every_watched_device([&](WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const Array<float> p = array_of<float>(some_whole_numbers(matrix.cols(), 3));
    const Array<float> b = array_of<float>(some_whole_numbers(matrix.cols(), 5));
    const Array<float> r = zeros<float>({matrix.rows()});
    const AnyArray total = zeros<float>({});
    for (const SparseFormat format : formats_of_expressions) {
      SCOPED_TRACE(name(format));
      const auto a = on_device<float>(matrix).in_format(format, {.block = 3, .most_stored = 100});
      const auto launches = [&](const std::function<void()>& work) {
        work();  // compiles
        static_cast<void>(watched.take_calls());
        work();
        return count_of(watched.take_calls(), {"launch"});
      };
      EXPECT_EQ(launches([&] { r.assign(b - a * p); }), 1);
      EXPECT_EQ(launches([&] { total.assign(dot(p, a * p)); }), 1);
      EXPECT_EQ(launches([&] { r.assign(a * p); }), 1);
    }
    // the product of other rows has a kernel of its own
    const auto uneven = on_device<float>(testing::twenty_kinds()[15].matrix);
    const Array<float> ones_of_it = ones<float>({uneven.columns()});
    EXPECT_EQ(Array<float>(ones_of_it - uneven * ones_of_it).to_vector(),
              Array<float>(1 - Expression(Array<float>(uneven * ones_of_it))).to_vector());
  });
}

TEST(SparseProducts, AreReadBeforeTheirOperandsAreWritten) {
  const Whole& matrix = laplacian();
  const Eigen::VectorXd start = some_whole_numbers(matrix.cols(), 3);
  on_every_device([&] {
    for (const SparseFormat format : {SparseFormat::csr, SparseFormat::dia}) {
      const auto a = on_device<double>(matrix).in_format(format);
      const Array<double> x = array_of<double>(start);
      x.assign(a * x);
      EXPECT_EQ(x.to_vector(), host_vector(matrix * start));
      x.assign(array_of<double>(start));
      x.assign(x - a * x);
      EXPECT_EQ(x.to_vector(), host_vector(start - matrix * start));
      for (int i = 0; i < 4; ++i) {  // planned, then prepared
        const Array<double> y = zeros<double>({matrix.rows()});
        const Expression rest = 1 - a * x;
        y.assign(rest);
        y.assign(rest);
        y.assign(rest);
        EXPECT_EQ(y.to_vector(),
                  host_vector((1 - (matrix * (start - matrix * start)).array()).matrix()));
      }
    }
  });
}

TEST(SparseProducts, AreScannedAfterTheyHaveRun) {
  const Whole& matrix = laplacian();
  const Eigen::VectorXd image = matrix * some_whole_numbers(matrix.cols(), 3);
  std::vector<double> expected = host_vector(image);
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  on_every_device([&] {
    const auto a = on_device<double>(matrix);
    const Array<double> x = array_of<double>(some_whole_numbers(matrix.cols(), 3));
    EXPECT_EQ(Array<double>(cumulative_sum(a * x)).to_vector(), expected);
  });
}

TEST(SparseProducts, AreRefusedInKernelsThatHaveNoPlaceForThem) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto a = on_device<double>(laplacian());
  const Array<double> x = zeros<double>({a.columns()});
  EXPECT_ERROR("arrays.as_loop_kernel.no_loop", static_cast<void>(as_loop_kernel(x - a * x)));
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(a * zeros<double>({3})));
  EXPECT_ERROR("arrays.sparse.dtype", static_cast<void>(a * zeros<float>({a.columns()})));
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(a * Expression(2.0)));
}

/// A map of one target, as CUDA text.
std::string cuda_text_of_map(const detail::Tape& tape, detail::KernelForm& form) {
  form.dialect = cgen::Dialect::cuda;
  form.axes = 1;
  form.targets.push_back(detail::form_of(tape.steps[tape.roots[0]].dtype, {1}));
  for (const AnyArray& leaf : tape.leaves) {
    form.leaves.push_back(detail::form_of(leaf.dtype(), leaf.strides()));
  }
  for (const detail::TapeNumber& number : tape.numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = tape.steps;
  form.products = tape.products;
  form.roots = tape.roots;
  return taken_by_nvrtc(cgen::print_module(make_map_module(form), cgen::Dialect::cuda).text);
}

TEST(CudaTextOfSparseProducts, MultipliesARowInAThread) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Whole& matrix = laplacian();
  const Eigen::VectorXd x = some_whole_numbers(matrix.cols(), 3);
  const Eigen::VectorXd b = some_whole_numbers(matrix.rows(), 5);
  const Array<double> p = array_of<double>(x);
  const Array<double> right = array_of<double>(b);
  for (const SparseFormat format : formats_of_expressions) {
    SCOPED_TRACE(name(format));
    const auto a = on_device<double>(matrix).in_format(format, {.block = 3, .most_stored = 100});
    const auto n = static_cast<std::int32_t>(matrix.rows());
    const detail::Tape tape = detail::make_tape({(right - a * p).node()}, {n}, {});
    detail::KernelForm form;
    const std::string text = cuda_text_of_map(tape, form);
    std::vector<double> found(static_cast<std::size_t>(n));
    double* target = found.data();
    std::int32_t length = n;
    std::vector<void*> arguments = {&length, &target};
    std::vector<std::uint64_t> addresses;
    std::vector<std::int64_t> numbers;
    std::vector<rtcg::testing::BufferRef> memory = {{found.data(), found.size() * 8}};
    for (const AnyArray& leaf : tape.leaves) {
      addresses.push_back(leaf.address());
      memory.push_back(
          {reinterpret_cast<void*>(leaf.storage()->address()), leaf.storage()->size_bytes()});
    }
    for (const detail::TapeNumber& number : tape.numbers) {
      numbers.push_back(static_cast<std::int64_t>(number.value.bits));
    }
    for (std::uint64_t& address : addresses) {
      arguments.push_back(&address);
    }
    for (std::int64_t& number : numbers) {
      arguments.push_back(&number);
    }
    arguments.push_back(&length);
    runtime::Device::host().synchronize();
    rtcg::testing::CudaOnCpu(text).run_checked(detail::kernel_name, {{1, 1, 1}, {256, 1, 1}, 0},
                                               arguments, memory);
    EXPECT_EQ(found, host_vector(b - matrix * x)) << text;
  }
}

}  // namespace
}  // namespace rtcg::arrays
