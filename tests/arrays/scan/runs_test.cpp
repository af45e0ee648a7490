#include "rtcg/arrays/scan/runs.h"

#include <algorithm>
#include <iterator>
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

template <class T>
std::vector<T> first_of(const AnyArray& array, std::int64_t count) {
  return Array<T>(array(Slice{0, count})).to_vector();
}

TEST(Runs, AreThoseOfTheStandardLibrary) {
  on_every_device([] {
    std::mt19937 random(7);
    for (const std::int64_t count : {0, 2, 300}) {
      SCOPED_TRACE(count);
      std::vector<std::int32_t> keys;
      std::vector<std::int64_t> sums;
      std::vector<std::int64_t> lengths;
      std::vector<std::int32_t> expected;
      for (std::int64_t i = 0; i < count; ++i) {
        keys.push_back(i != 0 && random() % 4 != 0 ? keys.back()
                                                   : static_cast<std::int32_t>(random() % 5));
        if (i == 0 || keys[static_cast<std::size_t>(i)] != expected.back()) {
          expected.push_back(keys.back());
          lengths.push_back(0);
          sums.push_back(0);
        }
        ++lengths.back();
        sums.back() += i;
      }
      const Array<std::int32_t> x(keys);
      const auto runs = static_cast<std::int64_t>(expected.size());
      EXPECT_EQ(Array<std::int32_t>(unique(x).trimmed()).to_vector(), expected);
      const CountedPairs coded = run_length_encode(x);
      ASSERT_EQ(coded.count.item(), runs);
      EXPECT_EQ(first_of<std::int32_t>(coded.keys, runs), expected);
      EXPECT_EQ(first_of<std::int64_t>(coded.values, runs), lengths);
      const CountedPairs summed = reduce_by_key(ScanOp::sum, x, cast(indices({count}), DType::i32));
      ASSERT_EQ(summed.count.item(), runs);
      EXPECT_EQ(first_of<std::int32_t>(summed.keys, runs), expected);
      EXPECT_EQ(first_of<std::int64_t>(summed.values, runs), sums);
    }
  });
}

TEST(Runs, OfAnyLengthAndAlignment) {
  on_every_device([] {
    std::mt19937 random(3);
    for (const std::int64_t count : {1, 4095, 8193, (1 << 17) - 3}) {
      std::vector<std::int16_t> keys;
      for (std::int64_t i = 0; i < count + 1; ++i) {
        keys.push_back(random() % 3 == 0 ? static_cast<std::int16_t>(random())
                                         : static_cast<std::int16_t>(i / 5000));
      }
      const Array<std::int16_t> all(keys);
      for (const std::int64_t first : {0, 1}) {
        SCOPED_TRACE(std::to_string(count) + " from " + std::to_string(first));
        std::vector<std::int16_t> expected;
        std::unique_copy(keys.begin() + first, keys.begin() + first + count,
                         std::back_inserter(expected));
        EXPECT_EQ(
            Array<std::int16_t>(unique(all(Slice{first, first + count})).trimmed()).to_vector(),
            expected);
      }
    }
  });
}

template <class Key, class T>
void check_totals(ScanOp op, std::int64_t count, std::int64_t longest) {
  std::mt19937 random(static_cast<unsigned>(count + longest));
  std::vector<Key> keys;
  std::vector<T> values;
  std::vector<Key> expected_keys;
  std::vector<T> expected;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool goes_on = i != 0 && static_cast<std::int64_t>(random() % 1000) * longest > 1000;
    keys.push_back(goes_on ? keys.back() : static_cast<Key>(i == 0 ? 3 : keys.back() + 1));
    // whole numbers, so that sums are exact in any order; none is greater than 0
    values.push_back(static_cast<T>(std::is_unsigned_v<T> ? 1 + random() % 5
                                                          : -1 - static_cast<int>(random() % 5)));
    if (!goes_on) {
      expected_keys.push_back(keys.back());
      expected.push_back(values.back());
      continue;
    }
    T& last = expected.back();
    const T value = values.back();
    last = op == ScanOp::sum   ? static_cast<T>(last + value)
           : op == ScanOp::min ? std::min(last, value)
                               : std::max(last, value);
  }
  const CountedPairs found =
      reduce_by_key(op, Array<Key>(keys), Array<T>(values), {.dtype = dtype_of_type<T>});
  const auto runs = static_cast<std::int64_t>(expected.size());
  ASSERT_EQ(found.count.item(), runs);
  ASSERT_EQ(first_of<Key>(found.keys, runs), expected_keys);
  ASSERT_EQ(first_of<T>(found.values, runs), expected);
}

TEST(Runs, AreCombinedByEveryOperation) {
  on_every_device([] {
    for (const std::int64_t count : {1, 2047, 2048, 2049}) {
      for (const std::int64_t longest : {1, 4, 100000}) {
        SCOPED_TRACE(std::to_string(count) + ", " + std::to_string(longest));
        check_totals<std::int32_t, std::int32_t>(ScanOp::sum, count, longest);
      }
    }
    check_totals<std::int64_t, double>(ScanOp::max, 5000, 10);
    check_totals<float, float>(ScanOp::sum, 5000, 10);
    check_totals<std::uint8_t, std::int64_t>(ScanOp::max, 200, 10);
    check_totals<std::int16_t, std::uint64_t>(ScanOp::min, 5000, 10);
    check_totals<double, std::int32_t>(ScanOp::min, 5000, 10);
    check_totals<double, std::int8_t>(ScanOp::max, 5000, 10);
  });
}

TEST(Runs, TakeTheFirstValueAndKnowNaN) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<float> keys(std::vector<float>{-0.0F, 0.0F, nan, nan, 2});
    const CountedPairs first = unique_by_key(keys, arange<std::int16_t>(5));
    EXPECT_EQ(first.count.item(), 3);
    EXPECT_EQ(first_of<std::int16_t>(first.values, 3), (std::vector<std::int16_t>{0, 2, 4}));
    const Array<std::int32_t> every(std::vector<std::int32_t>{1, 2, 2, 3, 3, 3});
    EXPECT_EQ(Array<std::int32_t>(unique(every(Slice{{}, {}, -2})).trimmed()).to_vector(),
              (std::vector<std::int32_t>{3, 2}));
    const Array<float> values(std::vector<float>{4, -1, nan, 3, 5});
    const CountedPairs least = reduce_by_key(ScanOp::min, keys, values);
    EXPECT_EQ(first_of<float>(least.values, 3)[0], -1);
    EXPECT_EQ(first_of<float>(least.values, 3)[2], 5);
  });
}

TEST(Runs, RefuseSeveralAxes) {
  const AnyArray square = zeros(DType::i32, {2, 2});
  EXPECT_ERROR("arrays.runs.shape", static_cast<void>(unique(square)));
  EXPECT_ERROR("arrays.runs.shape",
               static_cast<void>(unique_by_key(square.ravel(), zeros(DType::f32, {3}))));
  EXPECT_ERROR("arrays.expression.vector",
               static_cast<void>(unique(zeros(vector_of(DType::f32, 2), {3}))));
}

}  // namespace
}  // namespace rtcg::arrays
