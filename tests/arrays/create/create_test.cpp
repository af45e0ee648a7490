#include "rtcg/arrays/create/create.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using Ints = std::vector<std::int32_t>;
using testing::on_every_device;

Ints created_ints(const AnyArray& array) {
  return Array<std::int32_t>(array).to_vector();
}

TEST(Create, MakesRamps) {
  on_every_device([] {
    EXPECT_EQ(arange<std::int32_t>(2, 11, 3).to_vector(), (Ints{2, 5, 8}));
    EXPECT_EQ(arange<std::int32_t>(3, 0, -1).to_vector(), (Ints{3, 2, 1}));
    EXPECT_EQ(arange<std::int32_t>(3, 0).to_vector(), Ints{});
    EXPECT_EQ(arange<float>(0, 1, .25).to_vector(), (std::vector<float>{0, .25, .5, .75}));
    EXPECT_EQ(linspace<double>(0, 1, 5).to_vector(), (std::vector<double>{0, .25, .5, .75, 1}));
    EXPECT_EQ(linspace<double>(0, 1, 4, false).to_vector(), (std::vector<double>{0, .25, .5, .75}));
    EXPECT_EQ(linspace<double>(2, 3, 1).to_vector(), std::vector<double>{2});
    EXPECT_EQ(linspace<double>(0, .1, 7).to_vector().back(), .1);
  });
  EXPECT_ERROR("arrays.arange.zero_step", arange<float>(0, 1, 0));
  EXPECT_ERROR("arrays.arange.zero_step", arange<float>(0, 1, 0.0));
  EXPECT_ERROR("arrays.arange.endless", arange<float>(0, std::numeric_limits<double>::infinity()));
  EXPECT_ERROR("arrays.arange.endless", arange<double>(0, std::nan("")));
}

TEST(Create, KeepsIntegersOfRampsExact) {
  constexpr std::int64_t odd = (std::int64_t{1} << 60) + 1;  // no double holds it
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  using Longs = std::vector<std::int64_t>;
  on_every_device([] {
    EXPECT_EQ(arange<std::int64_t>(odd, odd + 3).to_vector(), (Longs{odd, odd + 1, odd + 2}));
    EXPECT_EQ(arange<std::int64_t>(most, least, least).to_vector(), (Longs{most, -1}));
    EXPECT_EQ(arange<std::int64_t>(least, least + 5, 2).to_vector(),
              (Longs{least, least + 2, least + 4}));
    EXPECT_EQ(arange<std::uint64_t>(~0ULL - 2, ~0ULL).to_vector(),
              (std::vector<std::uint64_t>{~0ULL - 2, ~0ULL - 1}));
    EXPECT_EQ(created_ints(arange(DType::i32, 0, 5, 2)), (Ints{0, 2, 4}));
    EXPECT_EQ(arange<float>(3, 0, -1).to_vector(), (std::vector<float>{3, 2, 1}));
    EXPECT_EQ(arange<std::int32_t>(0, 2.5).to_vector(), (Ints{0, 1, 2}));
  });
  EXPECT_ERROR("arrays.extents.too_large", arange<std::int64_t>(least, most));
}

TEST(Create, FillsArrays) {
  on_every_device([] {
    EXPECT_EQ(full<std::int32_t>({2, 2}, 7).to_vector(), (Ints{7, 7, 7, 7}));
    EXPECT_EQ(ones<std::uint8_t>({2}).to_vector(), (std::vector<std::uint8_t>{1, 1}));
    EXPECT_EQ(full<std::uint64_t>({1}, ~0ULL).item(), ~0ULL);
    EXPECT_EQ(full<std::int64_t>({1}, std::numeric_limits<std::int64_t>::min()).item(),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(full<std::complex<float>>({1}, {1, 2}).item(), std::complex<float>(1, 2));
    EXPECT_EQ(zeros<float>({2, 3}, current_stream(), Order::f).strides(), (Extents{1, 2}));
  });
}

TEST(Create, TakesShapeTypeAndOrderOfOthers) {
  const auto x = zeros<std::int32_t>({2, 3}, current_stream(), Order::f);
  EXPECT_EQ(ones_like(x).layout(), x.layout());
  EXPECT_EQ(created_ints(full_like(x, 3)), (Ints{3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(created_ints(zeros_like(x(0))), (Ints{0, 0, 0}));
}

TEST(Concatenate, JoinsAlongAnAxis) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(4).reshape({2, 2});
    EXPECT_EQ(created_ints(concatenate({x, x + 10}, 1)), (Ints{0, 1, 10, 11, 2, 3, 12, 13}));
    EXPECT_EQ(concatenate({x, zeros<float>({1, 2})}).dtype(), DType::f64);
    EXPECT_EQ(created_ints(stack({x(0), x(1)}, -1)), (Ints{0, 2, 1, 3}));
  });
  EXPECT_ERROR("arrays.concatenate.nothing", concatenate({}));
  EXPECT_ERROR("arrays.concatenate.shape_mismatch",
               concatenate({zeros<float>({2, 2}), zeros<float>({2, 3})}));
  EXPECT_ERROR("arrays.concatenate.shape_mismatch",
               concatenate({zeros<float>({2, 2}), zeros<float>({2})}, 1));
}

TEST(Create, RearrangesArrays) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(6);
    EXPECT_EQ(created_ints(split(x, 3)[1]), (Ints{2, 3}));
    EXPECT_EQ(created_ints(tile(x(Slice{0, 2}), {2, 2})), (Ints{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(created_ints(tile(x.reshape({2, 3}), {2})),
              (Ints{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
    EXPECT_EQ(created_ints(roll(x, -8)), (Ints{2, 3, 4, 5, 0, 1}));
    EXPECT_EQ(created_ints(roll(x.reshape({2, 3}), 1, 1)), (Ints{2, 0, 1, 5, 3, 4}));
    EXPECT_EQ(created_ints(pad(x(Slice{0, 2}), {1}, {2}, 9)), (Ints{9, 0, 1, 9, 9}));
  });
  EXPECT_ERROR("arrays.split.unequal_parts", split(arange<float>(5), 2));
  EXPECT_ERROR("arrays.pad.wrong_count", pad(arange<float>(5), {1, 1}, {1}));
  EXPECT_ERROR("arrays.pad.negative_count", pad(arange<float>(5), {1}, {-1}));
}

}  // namespace
}  // namespace rtcg::arrays
