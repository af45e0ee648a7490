#include "rtcg/arrays/scan/scan_by_key.h"

#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

TEST(ScanByKey, BeginsAnewWhereTheKeyChanges) {
  on_every_device([] {
    const Array<std::int32_t> keys(std::vector<std::int32_t>{1, 1, 2, 2, 1});
    const Array<std::int32_t> values(std::vector<std::int32_t>{10, 20, 30, 40, 50});
    const auto check = [&](const CumulativeOptions& options,
                           const std::vector<std::int64_t>& expected) {
      const AnyArray found = scan_by_key(ScanOp::sum, keys, values, options);
      EXPECT_EQ(Array<std::int64_t>(found).to_vector(), expected);
    };
    check({}, {10, 30, 30, 70, 50});
    check({.is_exclusive = true}, {0, 10, 0, 30, 0});
    check({.is_reverse = true}, {30, 20, 70, 40, 50});
    check({.is_exclusive = true, .is_reverse = true}, {20, 0, 40, 0, 0});
  });
}

TEST(ScanByKey, TakesOperationsAndLongRuns) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<std::uint8_t> keys(std::vector<std::uint8_t>{0, 0, 0, 3, 3});
    const Array<float> values(std::vector<float>{-3, nan, 4, -5, -6});
    const std::vector<float> found =
        Array<float>(scan_by_key(ScanOp::max, keys, values, {.is_exclusive = true})).to_vector();
    EXPECT_EQ(found[0], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(found[1], -3);
    EXPECT_NE(found[2], found[2]);
    EXPECT_EQ(found[4], -5);
    const AnyArray runs = evaluate(floor_divide(indices({3000}), 1000));
    const AnyArray sums = scan_by_key(ScanOp::sum, runs, full(DType::f32, {3000}, 1));
    EXPECT_TRUE(Array<bool>(all(sums == cast(indices({3000}) % 1000 + 1, DType::f32))).item());
    EXPECT_EQ(scan_by_key(ScanOp::min, zeros(DType::i32, {0}), zeros(DType::u8, {0})).count(), 0);
    const AnyArray least =
        scan_by_key(ScanOp::min, keys, zeros(DType::i64, {5}), {.is_exclusive = true});
    EXPECT_EQ(Array<std::int64_t>(least)(0).item(), INT64_MAX);
  });
}

TEST(ScanByKey, RefusesWhatDoesNotBelongTogether) {
  const AnyArray three = zeros(DType::i32, {3});
  EXPECT_ERROR("arrays.scan_by_key.shape_mismatch",
               static_cast<void>(scan_by_key(ScanOp::sum, three, zeros(DType::f32, {4}))));
  EXPECT_ERROR("arrays.expression.dtype",
               static_cast<void>(scan_by_key(ScanOp::sum, three, zeros(DType::c64, {3}))));
}

TEST(Diff, IsTheInverseOfRunningSums) {
  on_every_device([] {
    const AnyArray x = evaluate(cast(indices({4, 30}) * 7 % 10, DType::f32));
    for (const int axis : {0, 1, -1}) {
      const Expression back = diff(cumulative_sum(x, along(axis)), axis);
      const AnyArray rest = axis == 0 ? x(Slice{1, {}}) : x(whole, Slice{1, {}});
      EXPECT_TRUE(Array<bool>(all(back == Expression(rest))).item());
    }
  });
}

}  // namespace
}  // namespace rtcg::arrays
