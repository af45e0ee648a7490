#include "rtcg/loopy/interpret/mipmap.h"

#include <gtest/gtest.h>

namespace rtcg::loopy {
namespace {

ArrayData data_of(cgen::ScalarKind kind, std::size_t bytes_of_number,
                  const std::vector<double>& values, int numbers_an_element = 1) {
  ArrayData data{kind, std::vector<std::byte>(values.size() * bytes_of_number), numbers_an_element};
  for (std::size_t i = 0; i < values.size(); ++i) {
    data.set_element(i, values[i]);
  }
  return data;
}

std::vector<double> numbers_of(const ArrayData& data) {
  std::vector<double> result;
  for (std::size_t i = 0; i < data.count(); ++i) {
    result.push_back(data.element(i));
  }
  return result;
}

TEST(MakeMipmap, HasMeansOfTheLevelBefore) {
  const auto levels = make_mipmap(
      data_of(cgen::ScalarKind::f32, 4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
      {3, 5}, 3);
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].shape, (std::vector<std::int64_t>{3, 5}));
  // the last row and column of odd lengths are left out
  EXPECT_EQ(levels[1].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(numbers_of(levels[1].data), (std::vector<double>{4, 6}));
  // an axis of one element stays
  EXPECT_EQ(levels[2].shape, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(numbers_of(levels[2].data), (std::vector<double>{5}));
}

TEST(MakeMipmap, ComputesInTheTypeOfTheElements) {
  EXPECT_EQ(numbers_of(make_mipmap(data_of(cgen::ScalarKind::u8, 1, {255, 254}), {2}, 2)[1].data),
            (std::vector<double>{254}));
  EXPECT_EQ(numbers_of(make_mipmap(data_of(cgen::ScalarKind::i32, 4, {-1, 0}), {2}, 2)[1].data),
            (std::vector<double>{0}));
  // 2^24 + 1 is not a number of f32
  EXPECT_EQ(
      numbers_of(make_mipmap(data_of(cgen::ScalarKind::f32, 4, {16777216, 1}), {2}, 2)[1].data),
      (std::vector<double>{8388608}));
  EXPECT_EQ(
      numbers_of(make_mipmap(data_of(cgen::ScalarKind::f64, 8, {16777216, 1}), {2}, 2)[1].data),
      (std::vector<double>{8388608.5}));
}

TEST(MakeMipmap, TakesPartsOfComplexNumbersApart) {
  const auto levels =
      make_mipmap(data_of(cgen::ScalarKind::f32, 4, {1, 10, 3, 30, 5, 50, 7, 70}, 2), {4}, 3);
  EXPECT_EQ(numbers_of(levels[1].data), (std::vector<double>{2, 20, 6, 60}));
  EXPECT_EQ(numbers_of(levels[2].data), (std::vector<double>{4, 40}));
}

}  // namespace
}  // namespace rtcg::loopy
