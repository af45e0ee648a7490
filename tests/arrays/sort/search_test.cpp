#include "rtcg/arrays/sort/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

TEST(Search, FindsTheBoundsOfTheStandardLibrary) {
  on_every_device([] {
    std::vector<std::int32_t> sorted;
    for (std::int32_t i = 0; i < 300; ++i) {
      sorted.push_back(i * i / 40);
    }
    const Array<std::int32_t> a(sorted);
    const Array<std::int32_t> values(arange<std::int32_t>(-3, 2400));
    const auto left = searchsorted(a, values).to_vector();
    const auto right = searchsorted(a, values, SearchSide::right).to_vector();
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto value = static_cast<std::int32_t>(i) - 3;
      ASSERT_EQ(left[i], std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
      ASSERT_EQ(right[i], std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
    }
    EXPECT_EQ(searchsorted(zeros<float>({0}), 2 * ones<float>({2, 2})).to_vector(),
              (std::vector<std::int64_t>(4)));
  });
}

TEST(Search, TakesNaNForTheGreatest) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<float> a(std::vector<float>{1, 2, nan, nan});
    const Array<float> values(std::vector<float>{nan, 2, 9});
    EXPECT_EQ(searchsorted(a, values).to_vector(), (std::vector<std::int64_t>{2, 1, 2}));
    EXPECT_EQ(searchsorted(a, values, SearchSide::right).to_vector(),
              (std::vector<std::int64_t>{4, 2, 2}));
    const Array<double> edges(std::vector<double>{0, 1, 2});
    const Array<float> x(std::vector<float>{-1, 0, 1, 5});
    EXPECT_EQ(digitize(x, edges).to_vector(), (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(digitize(x, edges, true).to_vector(), (std::vector<std::int64_t>{0, 0, 1, 3}));
  });
}

TEST(Search, InterpolatesBetweenPoints) {
  on_every_device([] {
    const Array<float> xs(std::vector<float>{0, 1, 3});
    const Array<float> ys(std::vector<float>{10, 20, 0});
    const Array<float> x(
        std::vector<float>{-5, 0, 0.25F, 1, 2, 3, 9, std::numeric_limits<float>::quiet_NaN()});
    const auto found = interp(x, xs, ys).to_vector<float>();
    EXPECT_EQ(std::vector<float>(found.begin(), found.end() - 1),
              (std::vector<float>{10, 10, 12.5F, 20, 10, 0, 0}));
    EXPECT_NE(found.back(), found.back());
  });
}

TEST(Search, RefusesWhatIsNotSorted) {
  const AnyArray x = zeros(DType::f32, {4});
  EXPECT_ERROR("arrays.search.shape",
               static_cast<void>(searchsorted(zeros(DType::f32, {2, 2}), x)));
  EXPECT_ERROR("arrays.search.shape", static_cast<void>(interp(x, x, zeros(DType::f32, {3}))));
  EXPECT_ERROR("arrays.search.dtype", static_cast<void>(searchsorted(zeros(DType::c64, {3}), x)));
}

}  // namespace
}  // namespace rtcg::arrays
