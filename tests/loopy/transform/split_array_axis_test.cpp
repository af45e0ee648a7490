#include "rtcg/loopy/transform/split_array_axis.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel doubled_array() {
  return make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]",
                     {.arguments = "a, b: f32[n]", .default_type = cgen::f32});
}

TEST(SplitArrayAxis, MakesTwoAxes) {
  const Kernel split = split_array_axis(doubled_array(), "a", 0, 16);
  EXPECT_EQ(to_string(split), R"(kernel loopy_kernel
arguments:
  a: f32[(n + 15) // 16, 16]
  b: f32[n]
  n: i32
domains:
  {[i]: i >= 0 and i < n}
inames:
  i: for
statements:
  set_b: b[i] = 2*a[i // 16, i % 16]  {inames=i}
recipe:
  split_array_axis(a, 0, 16)
)");
  expect_recipe(doubled_array(), split, "split_array_axis(a, 0, 16)\n");
}

TEST(SplitArrayAxis, NeedsNoRoundingInTiles) {
  const Kernel tiled = split_iname(doubled_array(), "i", 16);
  EXPECT_EQ(statements_of(split_array_axis(tiled, "a", 0, 16)),
            "b[16*i_outer + i_inner] = 2*a[i_outer, i_inner]\n");
  EXPECT_EQ(statements_of(split_array_axis(tiled, "a", 0, 4)),
            "b[16*i_outer + i_inner] = "
            "2*a[(16*i_outer + i_inner) // 4, (16*i_outer + i_inner) % 4]\n");
}

TEST(SplitArrayAxis, SplitsMiddleAxesOfTemporariesThatAreWritten) {
  const Kernel before = make_kernel("{[i, j, k, l]: 0 <= i, k < 4 and 0 <= j, l < 10}",
                                    "<f32> t[4, 10]\nt[k, l] = a[k, l]\nb[i, j] = t[3 - i, 9 - j]",
                                    {.default_type = cgen::f32});
  const Kernel split = split_array_axis(before, "t", 1, 4);
  EXPECT_EQ(statements_of(split),
            "t[k, l // 4, l % 4] = a[k, l]\n"
            "b[i, j] = t[3 - i, (9 - j) // 4, (9 - j) % 4]\n");
  expect_recipe(before, split, "split_array_axis(t, 1, 4)\n");
  EXPECT_EQ(find_temporary(split, "t")->shape, (std::vector<Expr>{4, 3, 4}));
  expect_same_results(before, split, {});
}

TEST(SplitArrayAxis, RefusesUnknownArray) {
  EXPECT_ERROR("loopy.split_array_axis.unknown_array",
               split_array_axis(doubled_array(), "q", 0, 16));
  EXPECT_ERROR("loopy.split_array_axis.unknown_array",
               split_array_axis(doubled_array(), "n", 0, 16));
  EXPECT_EQ(why_not([&] { return split_array_axis(doubled_array(), "q", 0, 16); }),
            "kernel 'loopy_kernel' has no array 'q' of known shape");
  EXPECT_EQ(why_not([&] { return split_array_axis(doubled_array(), "a", 0, 16); }), std::nullopt);
}

TEST(SplitArrayAxis, RefusesUnknownAxis) {
  EXPECT_ERROR("loopy.split_array_axis.bad_axis", split_array_axis(doubled_array(), "a", 1, 16));
}

TEST(SplitArrayAxis, RefusesBadLength) {
  EXPECT_ERROR("loopy.split_array_axis.bad_length", split_array_axis(doubled_array(), "a", 0, 0));
}

TEST(SplitArrayAxis, RefusesAccessByPlace) {
  const Kernel linear = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[[2*i]]",
                                    {.arguments = "a: f32[2*n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.split_array_axis.linear_access", split_array_axis(linear, "a", 0, 2));
}

}  // namespace
}  // namespace rtcg::loopy
