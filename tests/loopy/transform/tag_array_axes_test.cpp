#include "rtcg/loopy/transform/tag_array_axes.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel copy() {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[i, j]",
                     {.arguments = "a, b: f32[n, m]"});
}
Kernel cube() {
  return make_kernel(
      "{[i, j, k]: 0 <= i < 4 and 0 <= j < 5 and 0 <= k < 6}",
      "<f32> t[4, 5, 6]\nt[i, j, k] = a[i, j, k]\nb[i, j, k] = t[3 - i, 4 - j, 5 - k]",
      {.default_type = cgen::f32});
}
std::string strides_of(const Kernel& kernel, std::string_view array) {
  const Argument* argument = find_argument(kernel, array);
  std::string text;
  for (const Expr& each : argument != nullptr ? argument->strides_elements
                                              : find_temporary(kernel, array)->strides_elements) {
    text += (text.empty() ? "" : ":") + to_string(each);
  }
  return text;
}

TEST(TagArrayAxes, LaysArraysOut) {
  const Kernel turned = tag_array_axes(copy(), {"a"}, "F");
  EXPECT_EQ(to_string(turned), R"(kernel loopy_kernel
arguments:
  a: f32[n, m]  {strides=[1, n]}
  b: f32[n, m]
  m: i32
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j < m}
inames:
  i: for
  j: for
statements:
  set_b: b[i, j] = a[i, j]  {inames=i:j}
recipe:
  tag_array_axes([a], F)
)");
  expect_recipe(copy(), turned, "tag_array_axes([a], F)\n");
}

TEST(TagArrayAxes, TakesNestingsAndStrides) {
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "C"), "t"), "");
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "N2,N1,N0"), "t"), "");
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "F"), "t"), "1:4:20");
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "N0, N1, N2"), "t"), "1:4:20");
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "N1,N2,N0"), "t"), "6:24:1");
  EXPECT_EQ(strides_of(tag_array_axes(cube(), {"t"}, "stride:64,stride:8,stride:1"), "t"),
            "64:8:1");
  const Kernel both = tag_array_axes(copy(), {"a", "b"}, "stride:2*m, stride:2");
  EXPECT_EQ(strides_of(both, "a"), "2*m:2");
  EXPECT_EQ(strides_of(both, "b"), "2*m:2");
  EXPECT_EQ(statements_of(both), statements_of(copy()));
  expect_recipe(copy(), both, "tag_array_axes([a, b], \"stride:2*m, stride:2\")\n");
}

TEST(TagArrayAxes, RefusesUnknownArray) {
  EXPECT_ERROR("loopy.tag_array_axes.unknown_array", tag_array_axes(copy(), {"a", "q"}, "F"));
  EXPECT_EQ(why_not([&] { return tag_array_axes(copy(), {"q"}, "F"); }),
            "kernel 'loopy_kernel' has no array 'q' of known shape");
  EXPECT_EQ(why_not([&] { return tag_array_axes(copy(), {"a", "b"}, "F"); }), std::nullopt);
}

TEST(TagArrayAxes, RefusesBadLayouts) {
  for (const char* layout : {"", "D", "N0", "N0,N2", "N1,N1", "N1,", ",N1", "N1,M0", "N1,N0x",
                             "stride:1", "stride:1,N0", "stride:1,stride:(", "1,2"}) {
    EXPECT_ERROR("loopy.tag_array_axes.bad_layout", tag_array_axes(copy(), {"a"}, layout));
  }
  EXPECT_EQ(why_not([&] { return tag_array_axes(copy(), {"a"}, "N0"); }),
            "'N0' is not a layout for the 2 axes of 'a': write C, F, N1,N0, stride:32,stride:1, or "
            "vec for one axis of 2 to 4 elements");
}

TEST(AddPadding, LeavesGapsBetweenRows) {
  const Kernel padded = add_padding(cube(), "t", 1, 1);
  EXPECT_EQ(strides_of(padded, "t"), "35:7:1");
  expect_recipe(cube(), padded, "add_padding(t, 1, 1)\n");
  EXPECT_EQ(strides_of(add_padding(cube(), "t", 0, 2), "t"), "32:6:1");
  EXPECT_EQ(strides_of(add_padding(cube(), "t", 2, 1), "t"), "60:12:2");
  EXPECT_EQ(strides_of(add_padding(cube(), "t", 0, 0), "t"), "");
}

TEST(AddPadding, KeepsGapsAndOrder) {
  EXPECT_EQ(strides_of(add_padding(tag_array_axes(cube(), {"t"}, "F"), "t", 1, 1), "t"), "1:5:25");
  const Kernel gaps = tag_array_axes(cube(), {"t"}, "stride:64,stride:8,stride:1");
  EXPECT_EQ(strides_of(add_padding(gaps, "t", 1, 1), "t"), "69:9:1");
  EXPECT_EQ(strides_of(add_padding(copy(), "a", 0, 3), "a"), "m + 3:1");
  EXPECT_EQ(strides_of(add_padding(tag_array_axes(copy(), {"a"}, "F"), "a", 1, 3), "a"), "1:n + 3");
}

TEST(AddPadding, RefusesUnknownArray) {
  EXPECT_ERROR("loopy.add_padding.unknown_array", add_padding(copy(), "q", 0, 1));
  EXPECT_EQ(why_not([&] { return add_padding(copy(), "q", 0, 1); }),
            "kernel 'loopy_kernel' has no array 'q' of known shape");
  EXPECT_EQ(why_not([&] { return add_padding(copy(), "a", 0, 1); }), std::nullopt);
}

TEST(AddPadding, RefusesUnknownAxis) {
  EXPECT_ERROR("loopy.add_padding.bad_axis", add_padding(copy(), "a", 2, 1));
}

TEST(AddPadding, RefusesNegativeCounts) {
  EXPECT_ERROR("loopy.add_padding.bad_count", add_padding(copy(), "a", 0, -1));
}

TEST(AddPadding, RefusesStridesWithoutAnOrder) {
  EXPECT_ERROR("loopy.add_padding.unknown_order",
               add_padding(tag_array_axes(copy(), {"a"}, "stride:2*m,stride:2"), "a", 0, 1));
}

}  // namespace
}  // namespace rtcg::loopy
