#include "rtcg/arrays/sort/histogram.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// The number of the bin among the edges by comparing with each of them; -1 outside.
std::int64_t bin_among(double x, const std::vector<double>& edges) {
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const bool is_last = i + 2 == edges.size();
    if (x >= edges[i] && (x < edges[i + 1] || (is_last && x == edges[i + 1]))) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

std::vector<std::int64_t> counts_among(const std::vector<float>& values,
                                       const std::vector<double>& edges) {
  std::vector<std::int64_t> counts(edges.size() - 1);
  for (const float each : values) {
    const std::int64_t bin = bin_among(each, edges);
    if (bin >= 0) {
      ++counts[static_cast<std::size_t>(bin)];
    }
  }
  return counts;
}

TEST(Histogram, CountsAsEdgesSay) {
  on_every_device([] {
    std::mt19937 random(3);
    for (const std::size_t count : {0U, 3000U}) {
      SCOPED_TRACE(count);
      std::vector<float> values(count);
      for (float& each : values) {
        each = static_cast<float>(random() % 101) / 10 - 3;  // often on an edge
      }
      const Array<float> x(values);
      for (const std::int64_t bins : {1, 37}) {
        const Histogram found = histogram(x, {.bins = bins});
        const auto edges = found.edges.to_vector<double>();
        EXPECT_EQ(found.counts.to_vector<std::int64_t>(), counts_among(values, edges));
        EXPECT_EQ(edges.size(), static_cast<std::size_t>(bins) + 1);
      }
      const Histogram part = histogram(x, {.bins = 7, .range = {{-1.0, 2.5}}});
      EXPECT_EQ(part.counts.to_vector<std::int64_t>(),
                counts_among(values, part.edges.to_vector<double>()));
      const std::vector<double> uneven = {-2, 0, 0.5, 4, 7.25};
      EXPECT_EQ(histogram(x, Array<double>(uneven)).counts.to_vector<std::int64_t>(),
                counts_among(values, uneven));
    }
  });
}

TEST(Histogram, LeavesOutNaNAndWidensAPoint) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<float> x(std::vector<float>{1, nan, 2, 9});
    EXPECT_EQ(histogram(x, {.bins = 2, .range = {{1.0, 3.0}}}).counts.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(
        histogram(x, Array<float>(std::vector<float>{0, 5, 10})).counts.to_vector<std::int64_t>(),
        (std::vector<std::int64_t>{2, 1}));
    const Histogram point = histogram(full(DType::i32, {5}, 3), {.bins = 2});
    EXPECT_EQ(point.edges.to_vector<double>(), (std::vector<double>{2.5, 3, 3.5}));
    EXPECT_EQ(point.counts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 5}));
  });
}

TEST(Histogram, AddsWeights) {
  on_every_device([] {
    const Array<std::int32_t> x(std::vector<std::int32_t>{0, 2, 2, 5});
    const Array<float> w(std::vector<float>{0.5F, 1, 2, 4});
    EXPECT_EQ(bincount(x, {.weights = w}).to_vector<float>(),
              (std::vector<float>{0.5F, 0, 3, 0, 0, 4}));
    EXPECT_EQ(histogram(x, {.bins = 2, .weights = w}).counts.to_vector<float>(),
              (std::vector<float>{3.5F, 4}));
  });
}

TEST(Histogram, AddsWeightsInOneOrderUnlessItIsToBeFast) {
  on_every_device([] {
    const std::int64_t count = 50000;
    std::mt19937_64 random(7);
    std::vector<std::int32_t> numbers(count);
    std::vector<float> weights(count);
    std::vector<double> sums(64);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int32_t>(random() % 70) - 3;  // some are in no bin
      weights[i] = static_cast<float>(random() % 1000) / 7.0F - 50;
      if (numbers[i] >= 0 && numbers[i] < 64) {
        sums[static_cast<std::size_t>(numbers[i])] += weights[i];
      }
    }
    const Array<std::int32_t> x(numbers);
    const Array<float> w(weights);
    const std::vector<float> first = bincount(x, {.length = 64, .weights = w}).to_vector<float>();
    const std::vector<float> fast =
        bincount(x, {.length = 64, .weights = w, .is_fast = true}).to_vector<float>();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      // about 700 terms up to 93 of a bin: roundings of their sum in f32
      EXPECT_NEAR(first[i], sums[i], 0.05) << i;
      EXPECT_NEAR(fast[i], sums[i], 0.05) << i;
    }
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(bincount(x, {.length = 64, .weights = w}).to_vector<float>(), first);
    }
    const Array<double> wide(evaluate(cast(w, DType::f64)));
    const std::vector<double> exact =
        histogram(x, {.bins = 64, .range = {{0.0, 64.0}}, .weights = wide})
            .counts.to_vector<double>();
    for (std::size_t i = 0; i + 1 < sums.size(); ++i) {  // the last bin has its upper edge, too
      EXPECT_NEAR(exact[i], sums[i], 1e-9) << i;
    }
    EXPECT_EQ(bincount(Array<std::int32_t>(std::vector<std::int32_t>{}),
                       {.length = 3, .weights = Array<float>(std::vector<float>{})})
                  .to_vector<float>(),
              (std::vector<float>{0, 0, 0}));
  });
}

TEST(Bincount, CountsNumbersInReach) {
  on_every_device([] {
    const Array<std::int64_t> x(std::vector<std::int64_t>{3, -1, 0, 3, 7});
    EXPECT_EQ(bincount(x).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{1, 0, 0, 2, 0, 0, 0, 1}));
    EXPECT_EQ(bincount(x, {.length = 4}).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{1, 0, 0, 2}));
    EXPECT_EQ(bincount(zeros(DType::u8, {0})).count(), 0);
    // more numbers than blocks have copies of
    const AnyArray many = bincount(cast(indices({3000}) * 5, DType::u32), {.length = 20000});
    EXPECT_EQ(Expression(sum(many)).item<std::int64_t>(), 3000);
    EXPECT_EQ(many(14995).item<std::int64_t>(), 1);
  });
}

TEST(Histogram2d, CountsPoints) {
  on_every_device([] {
    const Array<float> x(std::vector<float>{0.5F, 1.5F, 1.5F, 3, 9});
    const Array<float> y(std::vector<float>{0.5F, 0.5F, 2, 2, 0});
    const Array<float> x_edges(std::vector<float>{0, 1, 3});
    const Array<float> y_edges(std::vector<float>{0, 1, 2});
    EXPECT_EQ(histogram2d(x, y, x_edges, y_edges).counts.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{1, 0, 1, 2}));
  });
}

TEST(Histogram, RefusesWhatCannotBeCounted) {
  const AnyArray x = zeros(DType::f32, {4});
  EXPECT_ERROR("arrays.histogram.dtype", static_cast<void>(bincount(x)));
  EXPECT_ERROR("arrays.histogram.dtype", static_cast<void>(histogram(zeros(DType::c64, {4}))));
  EXPECT_ERROR("arrays.histogram.bins", static_cast<void>(histogram(x, {.bins = 0})));
  EXPECT_ERROR("arrays.histogram.bins",
               static_cast<void>(bincount(zeros(DType::u8, {4}), {.length = -1})));
  EXPECT_ERROR("arrays.histogram.range", static_cast<void>(histogram(x, {.range = {{2.0, 1.0}}})));
  EXPECT_ERROR("arrays.histogram.shape",
               static_cast<void>(histogram(x, {.weights = zeros(DType::f32, {3})})));
}

}  // namespace
}  // namespace rtcg::arrays
