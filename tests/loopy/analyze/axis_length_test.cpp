#include "rtcg/loopy/analyze/axis_length.h"

#include <gtest/gtest.h>

#include "tests/loopy/check/build_kernel.h"

namespace rtcg::loopy {
namespace {

TEST(ConstantLength, CountsFromTheLowestValue) {
  Kernel kernel;
  kernel.domains = {loop("i", 16), loop("j", 3, 10), loop("k", "n"),
                    loop("l", Affine("n"), Affine("n") + 8), loop("m", Affine("k"), Affine("n"))};
  EXPECT_EQ(constant_length(kernel, "i"), 16);
  EXPECT_EQ(constant_length(kernel, "j"), 7);
  EXPECT_EQ(constant_length(kernel, "l"), 8);
  EXPECT_FALSE(constant_length(kernel, "k"));
  kernel.assumptions.add_nonnegative(Affine(100) - Affine("n"));
  EXPECT_EQ(constant_length(kernel, "k"), 100);
  EXPECT_EQ(constant_length(kernel, "m"), 100);
}

TEST(BlockLength, IsThatOfTheLongestIname) {
  Kernel kernel;
  kernel.domains = {loop("i", 16), loop("j", 20), loop("k", "n")};
  kernel.iname_tags = {
      {"i", {AxisKind::block, 0}}, {"j", {AxisKind::block, 0}}, {"k", {AxisKind::block, 1}}};
  EXPECT_EQ(inames_on_axis(kernel, {AxisKind::block, 0}), (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(block_length(kernel, 0), 20);
  EXPECT_FALSE(block_length(kernel, 1));
  EXPECT_EQ(block_length(kernel, 2), 1);
}

}  // namespace
}  // namespace rtcg::loopy
