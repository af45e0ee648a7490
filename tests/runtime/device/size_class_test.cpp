#include "rtcg/runtime/device/size_class.h"

#include <random>

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

void check(std::uint64_t size_bytes) {
  const SizeClass found = SizeClass::of(size_bytes);
  ASSERT_GE(found.block_bytes(), size_bytes);
  ASSERT_EQ(SizeClass::of(found.block_bytes()).index(), found.index()) << size_bytes;
  ASSERT_LT(found.index(), SizeClass::count);
  // less than 1/16 is wasted, exactly
  ASSERT_LE((found.block_bytes() - size_bytes) * 16, size_bytes) << size_bytes;
}

TEST(SizeClass, HoldsRandomSizesWithLittleWaste) {
  std::mt19937_64 random(20240917);
  for (int i = 0; i < 2000; ++i) {
    check(((random() % (std::uint64_t{1} << 31)) >> (random() % 32)) + 1);
    check((random() >> (1 + random() % 62)) + 1);
  }
}

TEST(SizeClass, HoldsPowersOfTwoAndTheirNeighbours) {
  check(1);
  for (unsigned exponent = 1; exponent < 63; ++exponent) {
    const std::uint64_t power = std::uint64_t{1} << exponent;
    check(power);
    check(power + 1);
    check(power - 1);
    EXPECT_EQ(SizeClass::of(power).block_bytes(), power);
  }
  check(std::uint64_t{1} << 63);
}

TEST(SizeClass, GrowsWithItsIndex) {
  for (unsigned index = 0; index + 1 < SizeClass::count; ++index) {
    const std::uint64_t bytes = SizeClass::at(index).block_bytes();
    ASSERT_LT(bytes, SizeClass::at(index + 1).block_bytes());
    ASSERT_EQ(SizeClass::of(bytes).index(), index);
    ASSERT_EQ(SizeClass::of(bytes + 1).index(), index + 1);
  }
}

}  // namespace
}  // namespace rtcg::runtime
