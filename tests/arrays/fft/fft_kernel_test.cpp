// The text of transforms: CUDA's, run on the CPU, and what all languages' has in common.
#include "rtcg/arrays/fft/fft_kernel.h"

#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/fft/fft_plan.h"
#include "rtcg/arrays/fft/twiddles.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/arrays/fft/naive_dft.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays {
namespace {

using detail::FftExtents;
using detail::FftForm;
using detail::FftLaunch;
using testing::naive_dft;
using testing::random_signal;
using testing::relative_error;
using testing::Wide;

runtime::DeviceInfo gpu_with(std::size_t shared_bytes) {
  runtime::DeviceInfo info;
  info.shared_bytes_per_block = shared_bytes;
  return info;
}
constexpr std::size_t usual_bytes = std::size_t{48} << 10;
constexpr std::size_t few_bytes = std::size_t{4} << 10;  // short transforms take several launches

template <class T>
std::vector<std::complex<T>> rounded(const std::vector<std::complex<double>>& values) {
  return {values.begin(), values.end()};
}

template <class T>
std::vector<std::complex<T>> run_on_cpu(const FftLaunch& launch, std::vector<std::complex<T>> in) {
  const FftForm& form = launch.form;
  const std::string text =
      taken_by_nvrtc(print_module(detail::make_fft_module(form), cgen::Dialect::cuda).text);
  const std::int64_t order = launch.before * form.length();
  std::vector<std::complex<T>> out(in.size());
  std::vector<std::complex<T>> factors = rounded<T>(detail::pass_factors(form.radices));
  std::vector<std::complex<T>> fine = rounded<T>(detail::fine_roots(order));
  std::vector<std::complex<T>> coarse = rounded<T>(detail::coarse_roots(order));
  std::int32_t fine_bits = detail::root_bits(order).fine;
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;
  const auto add_number = [&](std::int64_t value) {
    wide.push_back(value);
    narrow.push_back(static_cast<std::int32_t>(value));
  };
  if (form.has_tail) {
    add_number(launch.columns);
  }
  if (!form.reads_rows) {
    add_number(launch.read_step);
  }
  if (!form.writes_rows) {
    add_number(launch.write_step);
  }
  if (form.has_twiddles && form.has_inner) {
    add_number(launch.inner);
  }
  T factor = 1;
  void* pointers[] = {in.data(), out.data(), factors.data(), fine.data(), coarse.data()};
  std::vector<void*> arguments = {&pointers[0], &pointers[1]};
  const auto bytes = [](std::vector<std::complex<T>>& values) {
    return rtcg::testing::BufferRef{values.data(), values.size() * sizeof(std::complex<T>)};
  };
  std::vector<rtcg::testing::BufferRef> buffers = {bytes(in), bytes(out)};
  if (form.radices.size() > 1) {
    arguments.push_back(&pointers[2]);
    buffers.push_back(bytes(factors));
  }
  if (form.has_twiddles) {
    arguments.insert(arguments.end(), {&pointers[3], &pointers[4], &fine_bits});
    buffers.insert(buffers.end(), {bytes(fine), bytes(coarse)});
  }
  for (std::size_t i = 0; i < wide.size(); ++i) {
    arguments.push_back(form.is_wide ? static_cast<void*>(&wide[i]) : &narrow[i]);
  }
  arguments.push_back(&factor);
  rtcg::testing::CudaOnCpu(text).run_checked("compute",
                                             {{static_cast<unsigned>(launch.blocks), 1, 1},
                                              {static_cast<unsigned>(form.threads()), 1, 1},
                                              0},
                                             arguments, buffers);
  return out;
}

template <class T>
void expect_transform(const FftExtents& extents, bool is_inverse, bool is_wide = false) {
  const auto count = static_cast<std::size_t>(extents.count());
  const std::vector<std::complex<T>> x = random_signal<T>(count, 7);
  std::vector<std::complex<T>> values = x;
  const std::vector<FftLaunch> launches =
      detail::plan_fft(extents, sizeof(T) == 4 ? DType::c64 : DType::c128, is_inverse,
                       cgen::Dialect::cuda, gpu_with(few_bytes));
  for (FftLaunch launch : launches) {
    launch.form.is_wide = is_wide;
    values = run_on_cpu(launch, values);
  }
  const auto n = static_cast<std::size_t>(extents.length);
  const auto inner = static_cast<std::size_t>(extents.inner);
  for (std::size_t first = 0; first < count; ++first) {
    if (first / inner % n != 0) {
      continue;
    }
    std::vector<std::complex<T>> column;
    std::vector<std::complex<T>> found;
    for (std::size_t j = 0; j < n; ++j) {
      column.push_back(x[first + j * inner]);
      found.push_back(values[first + j * inner]);
    }
    EXPECT_LT(relative_error(found, naive_dft(column, is_inverse ? 1 : -1)),
              8 * std::numeric_limits<T>::epsilon());
  }
}

TEST(FftKernel, TransformsRowsInOnePass) {
  expect_transform<float>({5, 13, 1}, false);
  expect_transform<double>({3, 16, 1}, true);
}

TEST(FftKernel, TransformsRowsInSeveralPasses) {
  expect_transform<float>({3, 60, 1}, false);
  expect_transform<double>({2, 98, 1}, true);
  expect_transform<float>({1, 256, 1}, false);
}

TEST(FftKernel, TransformsColumns) {
  expect_transform<float>({2, 30, 5}, false);
  expect_transform<double>({1, 24, 16}, true);
}

TEST(FftKernel, TransformsInSeveralLaunches) {
  expect_transform<float>({1, 300, 1}, false);
  expect_transform<double>({1, 512, 1}, true);
}

TEST(FftKernel, TransformsColumnsInSeveralLaunches) {
  expect_transform<float>({1, 78, 3}, false);
  expect_transform<float>({1, 260, 4}, true);
}

TEST(FftKernel, CountsWithSixtyFourBits) {
  expect_transform<float>({2, 30, 5}, false, true);
  expect_transform<float>({1, 300, 1}, false, true);
}

TEST(FftKernel, FitsIntoSharedMemory) {
  for (const DType dtype : {DType::c64, DType::c128}) {
    for (std::int64_t length = 2; length < 100000; length = length * 3 / 2 + 1) {
      if (!detail::has_butterflies(length)) {
        continue;
      }
      for (const std::int64_t inner : {1, 7, 64}) {
        std::int64_t product = 1;
        for (const FftLaunch& launch : detail::plan_fft(
                 {100, length, inner}, dtype, false, cgen::Dialect::cuda, gpu_with(usual_bytes))) {
          EXPECT_LE(detail::shared_bytes(launch.form), 48 << 10);
          EXPECT_LE(launch.form.threads(), 256);
          product *= launch.form.length();
        }
        EXPECT_EQ(product, length);
      }
    }
  }
}

TEST(FftKernel, IsWellFormedInEveryLanguage) {
  for (const cgen::Dialect dialect :
       {cgen::Dialect::c, cgen::Dialect::cuda, cgen::Dialect::opencl}) {
    for (const FftExtents& extents :
         {FftExtents{3, 8, 1}, FftExtents{3, 1430, 1}, FftExtents{2, 8192, 12}}) {
      for (const FftLaunch& launch :
           detail::plan_fft(extents, DType::c128, true, dialect, gpu_with(usual_bytes))) {
        EXPECT_EQ(
            why_not_valid(detail::make_fft_module(launch.form), dialect, detail::verify_options()),
            std::nullopt)
            << launch.form.name();
      }
    }
  }
}

TEST(FftPlan, SplitsLengthsEvenly) {
  EXPECT_EQ(detail::radices_of(512), (std::vector<int>{8, 8, 8}));
  EXPECT_EQ(detail::radices_of(1024), (std::vector<int>{16, 8, 8}));
  EXPECT_EQ(detail::radices_of(7 * 13), (std::vector<int>{13, 7}));
  EXPECT_EQ(detail::launch_radices(std::int64_t{1} << 20, 1024),
            (std::vector<std::int64_t>{1024, 1024}));
  EXPECT_EQ(detail::convolution_length(401), 448);
  EXPECT_FALSE(detail::has_butterflies(17));
  EXPECT_TRUE(detail::has_butterflies(13 * 11 * 7 * 5 * 3 * 2));
}

TEST(Twiddles, AreRoundedOnceAndSymmetric) {
  for (const std::int64_t n : {1, 3, 8, 12, 1000}) {
    for (std::int64_t k = 0; k < n; ++k) {
      const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                                static_cast<long double>(n);
      const std::complex<double> root = detail::root_of_unity(k, n);
      EXPECT_NEAR(root.real(), static_cast<double>(std::cos(angle)), 1.2e-16);
      EXPECT_NEAR(root.imag(), static_cast<double>(std::sin(angle)), 1.2e-16);
      EXPECT_EQ(detail::root_of_unity(n - k, n), std::conj(root) + 0.0);
    }
  }
  EXPECT_EQ(detail::root_of_unity(1, 4), std::complex<double>(0, -1));
  EXPECT_EQ(detail::root_of_unity(4, 8), std::complex<double>(-1, 0));
}

TEST(Twiddles, MultiplyToAllRoots) {
  for (const std::int64_t n : {2, 9, 4410}) {
    const std::vector<std::complex<double>> fine = detail::fine_roots(n);
    const std::vector<std::complex<double>> coarse = detail::coarse_roots(n);
    const detail::RootBits bits = detail::root_bits(n);
    EXPECT_EQ(static_cast<std::int64_t>(fine.size()), bits.fine_count);
    EXPECT_EQ(static_cast<std::int64_t>(coarse.size()), bits.coarse_count);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::complex<double> product =
          fine[static_cast<std::size_t>(k & (bits.fine_count - 1))] *
          coarse[static_cast<std::size_t>(k >> bits.fine)];
      EXPECT_LT(std::abs(product - detail::root_of_unity(k, n)), 4e-16);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
