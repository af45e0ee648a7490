#include "rtcg/loopy/transform/buffer_array.h"

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

Kernel accumulated_rows() {
  return make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "c[i] = c[i] + a[i, k]",
                     {.arguments = "c: f32[n]", .default_type = cgen::f32});
}

TEST(BufferArray, AddsUpInARegister) {
  const Kernel buffered = buffer_array(accumulated_rows(), "c");
  EXPECT_EQ(to_string(buffered), R"(kernel loopy_kernel
arguments:
  c: f32[n]
  a: f32[n, m]
  m: i32
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[k]: k >= 0 and k < m}
inames:
  i: for
  k: for
temporaries:
  c_buffer: f32
statements:
  load_c_buffer: c_buffer = c[i]  {inames=i}
  set_c: c_buffer = c_buffer + a[i, k]  {inames=i:k}
  store_c_buffer: c[i] = c_buffer  {inames=i}
recipe:
  buffer_array(c, [])
)");
  expect_same_results(accumulated_rows(), buffered, {{"n", 3}, {"m", 4}});
  expect_recipe(accumulated_rows(), buffered, "buffer_array(c, [])\n");
}

TEST(BufferArray, KeepsAnElementForEachValueOfAnIname) {
  const Kernel split = split_iname(accumulated_rows(), "i", 4);
  const Kernel buffered = buffer_array(split, "c", {"i_inner"});
  EXPECT_EQ(
      domains_of(buffered) + statements_of(buffered),
      R"([i_outer, i_inner]: i_outer >= 0 and 4*i_outer + i_inner < n and i_inner >= 0 and i_inner <= 3
[k]: k >= 0 and k < m
[i_inner_0]: 4*i_outer + i_inner_0 < n and i_inner_0 >= 0 and i_inner_0 <= 3
[i_inner_1]: 4*i_outer + i_inner_1 < n and i_inner_1 >= 0 and i_inner_1 <= 3
c_buffer[i_inner_0] = c[4*i_outer + i_inner_0]
c_buffer[i_inner] = c_buffer[i_inner] + a[4*i_outer + i_inner, k]
c[4*i_outer + i_inner_1] = c_buffer[i_inner_1]
)");
  expect_same_results(split, buffered, {{"n", 6}, {"m", 3}});
}

TEST(BufferArray, BeginsAndEndsWithWhatIsAskedFor) {
  const Kernel plain = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "c[i] = c[i] + 2*a[i, k]",
                                   {.arguments = "c: f32[n]", .default_type = cgen::f32});
  const Kernel buffered =
      buffer_array(accumulated_rows(), "c", {}, {.init = "0", .store = "base + 2*buffer"});
  EXPECT_EQ(statements_of(buffered), R"(c_buffer = 0
c_buffer = c_buffer + a[i, k]
c[i] = c[i] + 2*c_buffer
)");
  expect_same_results(plain, buffered, {{"n", 3}, {"m", 4}});
  expect_recipe(accumulated_rows(), buffered,
                "buffer_array(c, [], init=0, store=base + 2*buffer)\n");
}

TEST(BufferArray, LetsNeighbouringThreadsWriteNeighbours) {
  const Kernel rows = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "c[i, j] = 2*a[i, j]",
                                  {.default_type = cgen::f32});
  const Kernel split =
      split_iname(split_iname(rows, "i", 4, {.outer_tag = "g.0", .inner_tag = "l.0"}), "j", 4);
  const Kernel buffered = buffer_array(split, "c", {"i_inner", "j_inner"},
                                       {.default_tag = "l.auto", .is_filled = false});
  EXPECT_EQ(statements_of(buffered),
            R"(c_buffer[i_inner, j_inner] = 2*a[4*i_outer + i_inner, 4*j_outer + j_inner]
c[4*i_outer + i_inner_0, 4*j_outer + j_inner_0] = c_buffer[i_inner_0, j_inner_0]
)");
  EXPECT_EQ(tag_of(buffered, "j_inner_0").kind, AxisKind::block_auto);
  expect_same_results(rows, buffered, {{"n", 6}, {"m", 7}});
  expect_recipe(rows, buffered,
                "split_iname(i, 4, inner_tag=l.0, outer_tag=g.0)\nsplit_iname(j, 4)\n"
                "buffer_array(c, [i_inner, j_inner], default_tag=l.auto, is_filled=no)\n");
}

TEST(BufferArray, LeavesStatementsOutsideOfTheLoopsAroundTheCopy) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < m}",
      "for i\n<> s = c[i, 0]\nfor j\ns = s + a[i, j]\nc[i, j] = s\nend\nd[i] = c[i, 1]\nend",
      {.arguments = "c: f32[n, m]; a: f32[n, m]; d: f32[n]", .sequential_dependencies = true});
  const Kernel split = split_iname(kernel, "j", 4);
  const Kernel buffered = buffer_array(split, "c", {"j_inner"}, {.is_filled = false});
  expect_same_results(kernel, buffered, {{"n", 3}, {"m", 9}});
  const Kernel reduced = make_kernel("{[i]: 0 <= i < n}", "c[i] = 1\nd = sum(i, c[i])",
                                     {.arguments = "d: f32", .default_type = cgen::f32});
  expect_same_results(reduced, buffer_array(reduced, "c"), {{"n", 5}});
  const std::string text = statements_of(buffered);
  EXPECT_NE(text.find("s = c[i, 0]"), std::string::npos) << text;
  EXPECT_NE(text.find("d[i] = c[i, 1]"), std::string::npos) << text;
}

TEST(BufferArray, RefusesToWriteBackWhatIsNotWritten) {
  const auto unfilled = [](const Kernel& kernel) {
    return buffer_array(kernel, "c", {}, {.is_filled = false});
  };
  EXPECT_ERROR("loopy.buffer_array.not_all_written", unfilled(accumulated_rows()));
  const Kernel guarded =
      make_kernel("{[i]: 0 <= i < n}", "c[i] = a[i] {if=a[i] > 0}", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.buffer_array.not_all_written", unfilled(guarded));
  const Kernel repeated = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "c[i] = a[i, k]",
                                      {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.buffer_array.not_all_written", unfilled(repeated));
  EXPECT_ERROR("loopy.iname_tag.unknown",
               buffer_array(accumulated_rows(), "c", {}, {.default_tag = "x.0"}));
}

TEST(BufferArray, SeesThroughRules) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "old(x) := c[x]\nc[i] = old(i) + a[i, k]",
                  {.arguments = "c: f32[n]", .default_type = cgen::f32});
  expect_same_results(kernel, buffer_array(kernel, "c", {}, {.temporary_name = "sum_of_row"}),
                      {{"n", 3}, {"m", 4}});
}

TEST(BufferArray, RefusesWhatIsNotWritten) {
  EXPECT_ERROR("loopy.buffer_array.unknown_array", buffer_array(accumulated_rows(), "q"));
  EXPECT_ERROR("loopy.buffer_array.not_written", buffer_array(accumulated_rows(), "a"));
  EXPECT_TRUE(why_not([&] { return buffer_array(accumulated_rows(), "a"); }).has_value());
  EXPECT_EQ(why_not([&] { return buffer_array(accumulated_rows(), "c"); }), std::nullopt);
}

TEST(BufferArray, RefusesAccessesToDifferentElements) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n - 1 and 0 <= k < m}", "c[i] = c[i + 1] + a[i, k]",
                  {.arguments = "c: f32[n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.buffer_array.different_accesses", buffer_array(kernel, "c"));
}

TEST(BufferArray, RefusesInamesThatCannotBeBuffered) {
  EXPECT_ERROR("loopy.buffer_array.bad_inames", buffer_array(accumulated_rows(), "c", {"k"}));
  EXPECT_ERROR("loopy.footprint.unbounded_sweep", buffer_array(accumulated_rows(), "c", {"i"}));
  const Kernel reduced = make_kernel("{[i, k]: 0 <= i < n and 0 <= k <= i}",
                                     "for i\nc[i] = 1\nd[i] = sum(k, c[k])\nend",
                                     {.arguments = "d: f32[n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.buffer_array.different_accesses", buffer_array(reduced, "c"));
}

TEST(BufferArray, RefusesNamesAndTextsThatAreNone) {
  EXPECT_ERROR("loopy.buffer_array.name_taken",
               buffer_array(accumulated_rows(), "c", {}, {.temporary_name = "a"}));
  EXPECT_ERROR("loopy.parse_expr.syntax",
               buffer_array(accumulated_rows(), "c", {}, {.init = "0 +"}));
}

TEST(BufferArray, RefusesToTurnTheOtherLoops) {
  // loading d[j] within j alone would put j outside of i
  const Kernel kernel =
      make_kernel("{[i, j]: 1 <= i < 9 and 0 <= j < 9}",
                  "for i, j\nu[i, j] = 0.5*u[i - 1, j + 1]\nd[j] = d[j] + a[i, j]\nend",
                  {.arguments = "a: f32[9, 9]; d: f32[9]; u: f32[9, 10]"});
  EXPECT_ERROR("loopy.buffer_array.reorders_loops", buffer_array(kernel, "d", {}));
}

}  // namespace
}  // namespace rtcg::loopy
