#include "rtcg/arrays/scan/cumulative.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_expression.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// Small whole numbers, so that every order of additions gives the same.
template <class T>
std::vector<T> numbers_to_scan(std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  std::minstd_rand random(5);
  for (T& each : result) {
    each = static_cast<T>(static_cast<std::int64_t>(random() % 9));
  }
  return result;
}

/// By the standard library.
template <class T, class Combine>
std::vector<T> running(std::vector<T> values, T neutral, const CumulativeOptions& options,
                       Combine&& combine) {
  std::vector<T> result(values.size());
  if (options.is_reverse) {
    std::reverse(values.begin(), values.end());
  }
  if (options.is_exclusive) {
    std::exclusive_scan(values.begin(), values.end(), result.begin(), neutral, combine);
  } else {
    std::inclusive_scan(values.begin(), values.end(), result.begin(), combine);
  }
  if (options.is_reverse) {
    std::reverse(result.begin(), result.end());
  }
  return result;
}

std::vector<CumulativeOptions> all_forms() {
  return {
      {}, {.is_exclusive = true}, {.is_reverse = true}, {.is_exclusive = true, .is_reverse = true}};
}

template <class T>
void check_sums(std::int64_t count, const CumulativeOptions& options) {
  SCOPED_TRACE(count);
  const std::vector<T> values = numbers_to_scan<T>(count);
  const Array<T> found(cumulative_sum(Array<T>(values), options));
  EXPECT_EQ(found.to_vector(), running(values, T{}, options, std::plus<>{}));
}

TEST(Cumulative, AddsUpAnyNumberOfElements) {
  on_every_device([] {
    for (const CumulativeOptions& options : all_forms()) {
      for (const std::int64_t count : {0, 1, 2, 31}) {
        check_sums<std::int64_t>(count, options);
      }
    }
    for (const std::int64_t count : {32, 33, 255, 256, 257, 65535, 65536, 65537}) {
      check_sums<std::int64_t>(count, {});
    }
    check_sums<float>(100003, all_forms().back());
  });
}

/// Alternating zeros and ones.
void check_sums_of_type(DType dtype, std::int64_t count) {
  SCOPED_TRACE(name(dtype));
  const AnyArray sums = cumulative_sum(cast(indices({count}) % 2, dtype), {.dtype = dtype});
  EXPECT_EQ(sums.dtype(), dtype);
  const Expression expected =
      dtype == DType::boolean ? indices({count}) > 0 : cast((indices({count}) + 1) / 2, DType::i64);
  EXPECT_TRUE(Array<bool>(all(sums == cast(expected, dtype))).item());
}

TEST(Cumulative, TakesEveryTypeOfElement) {
  on_every_device([] {
    for (const DType dtype : {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16,
                              DType::i32, DType::u32, DType::i64, DType::u64, DType::f16,
                              DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128}) {
      check_sums_of_type(dtype, 20);
    }
    for (const DType dtype : {DType::i8, DType::f16, DType::c64}) {
      check_sums_of_type(dtype, 200);
    }
    EXPECT_EQ(cumulative_sum(zeros(DType::u8, {3})).dtype(), DType::u64);
    EXPECT_EQ(cumulative_prod(zeros(DType::boolean, {3})).dtype(), DType::i64);
    EXPECT_EQ(cumulative_max(zeros(DType::u8, {3})).dtype(), DType::u8);
  });
}

template <class T>
void check_extrema(const std::vector<T>& values, T least, T greatest) {
  const Array<T> x(values);
  const CumulativeOptions options{.is_exclusive = true};
  EXPECT_EQ(Array<T>(cumulative_max(x, options)).to_vector(),
            running(values, least, options, [](T a, T b) { return std::max(a, b); }));
  EXPECT_EQ(Array<T>(cumulative_min(x, options)).to_vector(),
            running(values, greatest, options, [](T a, T b) { return std::min(a, b); }));
}

TEST(Cumulative, FindsMinimaAndMaxima) {
  on_every_device([] {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> values = numbers_to_scan<float>(300);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] - 4) * (i < 150 ? 1e-40F : 1e30F);
    }
    check_extrema(values, -infinity, infinity);
    check_extrema<double>({-1, -3, 2, -infinity, 1e300, infinity, 0}, -infinity, infinity);
    check_extrema<std::int64_t>({INT64_MIN, -1, 5, 3, INT64_MAX, 0}, INT64_MIN, INT64_MAX);
    check_extrema<std::uint64_t>({5, 3, UINT64_MAX, 0}, 0, UINT64_MAX);
  });
}

TEST(Cumulative, LetsNaNsWin) {
  on_every_device([] {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto check = [&](auto one) {
      using T = decltype(one);
      const Array<T> x(std::vector<T>{1, 3, static_cast<T>(-nan), 5, static_cast<T>(nan), 2});
      for (const AnyArray& found : {cumulative_max(x), cumulative_min(x)}) {
        const std::vector<T> values = Array<T>(found).to_vector();
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(std::isnan(values[i]), i >= 2) << i;
        }
      }
    };
    check(1.0F);
    check(1.0);
  });
}

TEST(Cumulative, GoesAlongAnyAxis) {
  on_every_device([] {
    const Extents shape{3, 40, 5, 7};
    const AnyArray x = evaluate(cast(indices(shape) % 11, DType::i32));
    const std::vector<std::int32_t> values = Array<std::int32_t>(x).to_vector();
    for (int axis = 0; axis < 4; ++axis) {
      SCOPED_TRACE(axis);
      std::size_t step = 1;
      for (int each = axis + 1; each < 4; ++each) {
        step *= static_cast<std::size_t>(shape[each]);
      }
      std::vector<std::int64_t> expected(values.begin(), values.end());
      for (std::size_t i = step; i < expected.size(); ++i) {
        if (i / step % static_cast<std::size_t>(shape[axis]) != 0) {
          expected[i] += expected[i - step];
        }
      }
      EXPECT_EQ(Array<std::int64_t>(cumulative_sum(x, along(axis))).to_vector(), expected);
      EXPECT_EQ(Array<std::int64_t>(cumulative_sum(x, along(axis - 4))).to_vector(), expected);
    }
    const AnyArray wide = evaluate(cast(indices({5000, 3}) % 5, DType::f32));
    EXPECT_EQ(Array<float>(cumulative_sum(wide, along(0))(4999)).to_vector(),
              Array<float>(sum(wide, over(0))).to_vector());
    EXPECT_EQ(cumulative_sum(wide, along(1)).shape(), (Extents{5000, 3}));
  });
}

TEST(Cumulative, TakesViewsAndExpressions) {
  on_every_device([] {
    const Array<float> x(numbers_to_scan<float>(2001));
    const std::vector<float> values = x.to_vector();
    const auto sums_of = [](const std::vector<float>& of) {
      return running(of, 0.0F, {}, std::plus<>{});
    };
    // begins between vectors, goes backwards, steps over elements
    const std::vector<float> later(values.begin() + 1, values.end());
    EXPECT_EQ(Array<float>(cumulative_sum(x(Slice{1, {}}))).to_vector(), sums_of(later));
    const std::vector<float> backward(values.rbegin(), values.rend());
    EXPECT_EQ(Array<float>(cumulative_sum(x.flip({0}))).to_vector(), sums_of(backward));
    const Array<float> few = x(Slice{{}, 63});
    std::vector<float> third;
    for (std::size_t i = 0; i < 63; i += 3) {
      third.push_back(2 * values[i] + 1);
    }
    for (const double number : {1.0, 1.0, 0.5}) {  // one kernel
      const auto expected = sums_of(third);
      const Array<float> found(cumulative_sum(2 * number * few(Slice{{}, {}, 3}) + number));
      EXPECT_EQ(found(20).item(), static_cast<float>(number) * expected[20]);
    }
    // two numbers that are equal at first
    EXPECT_EQ(Array<float>(cumulative_sum(2.5 * few + 2.5))(1).item(),
              2.5F * (values[0] + values[1]) + 5);
    EXPECT_EQ(Array<float>(cumulative_sum(0.5 * few + 3.0))(1).item(),
              0.5F * (values[0] + values[1]) + 6);
    // reductions and places in it
    EXPECT_EQ(
        Array<float>(cumulative_sum(few - min(few) + cast(indices({63}), DType::f32)))(2).item(),
        values[0] + values[1] + values[2] + 3);
    const AnyArray square = evaluate(cast(indices({30, 30}) % 13, DType::f64));
    EXPECT_TRUE(Array<bool>(all(cumulative_sum(square.transposed(), along(0)) ==
                                Expression(cumulative_sum(square, along(1)).transposed())))
                    .item());
    // of two axes
    EXPECT_EQ(cumulative_sum(x.any() + Array<float>(std::vector<float>{1, 2}).any().expand_dims(1),
                             along(-1))
                  .shape(),
              (Extents{2, 2001}));
  });
}

TEST(Cumulative, GivesTheSameBitsEachTime) {
  on_every_device([] {
    const AnyArray x = evaluate(sin(cast(indices({70000}), DType::f32)));
    const std::vector<float> first = Array<float>(cumulative_sum(x)).to_vector();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Array<float>(cumulative_sum(x)).to_vector(), first);
    }
    double sum = 0;
    const std::vector<float> values = Array<float>(x).to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i];
      ASSERT_NEAR(first[i], sum, 1e-3) << i;
    }
  });
}

TEST(Cumulative, IsOneKernelWithoutWaiting) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const AnyArray a = zeros(DType::i32, {1000});
    const AnyArray b = ones(DType::i32, {1000});
    static_cast<void>(cumulative_sum(2 * a + b));
    static_cast<void>(watched.take_calls());
    static_cast<void>(cumulative_sum(2 * b + a));
    const auto calls = watched.take_calls();
    EXPECT_EQ(testing::count_of(calls, {"launch"}), 1);
    EXPECT_EQ(testing::count_of(calls, {"synchronize", "synchronize_event", "synchronize_device",
                                        "copy_with_host", "load"}),
              0);
  });
}

TEST(Cumulative, OfColumnsOfAnyWidthIsOneKernel) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const auto last_sum = [&](std::int64_t columns) {
      const Array<float> x = ones<float>({2000, columns});
      static_cast<void>(watched.take_calls());
      const Array<float> sums(cumulative_sum(x(whole, 3)));
      const auto calls = watched.take_calls();
      EXPECT_EQ(sums(1999).item(), 2000);
      return testing::count_of(calls, {"load"});
    };
    static_cast<void>(last_sum(8));
    EXPECT_EQ(last_sum(12), 0);
  });
}

TEST(Cumulative, ShowsItsKernelAndPlan) {
  on_every_device([] {
    const Array<float> x = zeros<float>({6, 5000});
    const LoopExpression loops =
        cumulative_as_loop_kernel(ScanOp::sum, 2.5 * x, {.axis = 1, .is_reverse = true});
    const std::string text = to_string(loops.kernel);
    EXPECT_NE(text.find("out[i0, n1 - 1 - i1] = scan(sum, j, x0*in0[i0, n1 - 1 - j])"),
              std::string::npos)
        << text;
    EXPECT_EQ(loops.sizes, (loopy::IntegerValues{{"n0", 6}, {"n1", 5000}}));
    const LoopPlan plan = plan_cumulative(ScanOp::sum, x, along(1));
    EXPECT_EQ(plan.source, LoopPlan::Source::model);
    EXPECT_FALSE(plan.slicing.empty());
    EXPECT_EQ(plan_cumulative(ScanOp::sum, zeros<float>({3})).source, LoopPlan::Source::plain);
  });
}

TEST(Cumulative, FollowsWisdom) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::string path =
      ::testing::TempDir() + "/cumulative_wisdom_" + std::to_string(::getpid()) + ".jsonl";
  const Array<float> x = ones<float>({16, 3000});
  const CumulativeOptions options{.axis = 1, .wisdom_path = path};
  const LoopPlan tuned = tune_cumulative(ScanOp::sum, x, options, 0.3);
  EXPECT_EQ(tuned.source, LoopPlan::Source::wisdom);
  // lengths nearby follow too, others do not
  const LoopPlan near = plan_cumulative(ScanOp::sum, ones<float>({20, 2100}), options);
  EXPECT_EQ(near.source, LoopPlan::Source::wisdom);
  EXPECT_EQ(near.slicing, tuned.slicing);
  EXPECT_EQ(plan_cumulative(ScanOp::sum, ones<float>({16, 100}), options).source,
            LoopPlan::Source::model);
  EXPECT_EQ(Array<float>(cumulative_sum(x, options))(15, 2999).item(), 3000);
  std::remove(path.c_str());
}

/// The kernel's CUDA text for a GPU, run on the CPU in several orders of blocks and threads.
void check_cuda_text(const LoopExpression& loops, const std::string& slicing,
                     const std::vector<float>& values, const std::vector<float>& expected) {
  SCOPED_TRACE(slicing);
  const auto data = [](const std::vector<float>& numbers) {
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
    return loopy::ArrayData{cgen::ScalarKind::f32, {bytes, bytes + numbers.size() * sizeof(float)}};
  };
  const loopy::Kernel sliced = apply(loops.kernel, loopy::parse_slicing(slicing));
  const loopy::ArgumentData found =
      loopy::CudaTextOnCpu(loopy::checked_kernel(sliced))
          .run(loops.sizes,
               {{"in0", data(values)}, {"out", data(std::vector<float>(values.size()))}});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found.at("out").element(i), expected[i]) << i;
  }
}

TEST(Cumulative, IsTheSameInCudaText) {
  const StreamScope on_host(runtime::Device::host().default_stream());
  std::vector<float> values = numbers_to_scan<float>(1100);
  values[300] = 70;
  values[900] = -std::numeric_limits<float>::infinity();
  const CumulativeOptions backward{.is_exclusive = true, .is_reverse = true};
  const LoopExpression maxima =
      cumulative_as_loop_kernel(ScanOp::max, Array<float>(values), backward);
  const auto expected = running(values, -std::numeric_limits<float>::infinity(), backward,
                                [](float a, float b) { return std::max(a, b); });
  for (const char* slicing : {"i0: g.0 l.0*64 unr*2 vec*4; look_back i0", "i0: g.0 l.0*128 unr*2",
                              "i0: for l.0*64 vec*4"}) {
    check_cuda_text(maxima, slicing, values, expected);
  }
  values[900] = 3;
  const LoopExpression total = cumulative_as_loop_kernel(ScanOp::sum, Array<float>(values));
  check_cuda_text(total, "i0: g.0 l.0*64 vec*4; look_back i0", values,
                  running(values, 0.0F, {}, std::plus<>{}));
  const LoopExpression columns =
      cumulative_as_loop_kernel(ScanOp::sum, Array<float>(values, {11, 100}), along(0));
  std::vector<float> sums = values;
  for (std::size_t i = 100; i < sums.size(); ++i) {
    sums[i] += sums[i - 100];
  }
  check_cuda_text(columns, "i1: g.0 l.0*64", values, sums);
}

TEST(Cumulative, RefusesWhatHasNoMeaning) {
  const Array<float> x = zeros<float>({3, 4});
  EXPECT_ERROR("arrays.cumulative.axis", static_cast<void>(cumulative_sum(x)));
  EXPECT_ERROR("arrays.cumulative.axis", static_cast<void>(cumulative_sum(Expression(2))));
  EXPECT_ERROR("arrays.layout.bad_axis", static_cast<void>(cumulative_sum(x, along(2))));
  EXPECT_ERROR("arrays.expression.dtype",
               static_cast<void>(cumulative_max(zeros(DType::c64, {3}))));
}

}  // namespace
}  // namespace rtcg::arrays
