#include "rtcg/loopy/transform/rename_iname.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/prioritize_loops.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel two_loops() {
  return make_kernel("{[i, j]: 0 <= i, j < n}", "b[i] = a[i]\nc[j] = b[j] + 1",
                     {.default_type = cgen::f32});
}

TEST(RenameIname, GivesANewName) {
  const Kernel before = prioritize_loops(
      tag_inames(make_kernel("{[i]: 0 <= i < n} {[k]: 0 <= k <= i}", "b[i] = sum(k, a[i, k])",
                             {.arguments = "a: f32[n, n]", .default_type = cgen::f32}),
                 "i:g.0"),
      {"i", "k"});
  const Kernel renamed = rename_iname(rename_iname(before, "i", "row"), "k", "column");
  EXPECT_EQ(domains_of(renamed),
            "[row]: row >= 0 and row < n\n[column]: column >= 0 and column <= row\n");
  EXPECT_EQ(statements_of(renamed), "b[row] = sum(column, a[row, column])\n");
  EXPECT_EQ(tag_of(renamed, "row"), (InameTag{AxisKind::grid, 0}));
  EXPECT_EQ(renamed.iname_tags.size(), 1U);
  EXPECT_EQ(renamed.loop_priorities, (std::vector<std::vector<std::string>>{{"row", "column"}}));
  EXPECT_EQ(renamed.instructions.front().within_inames, (NameSet{"row"}));
  expect_same_results(before, renamed, {{"n", 4}});
  EXPECT_EQ(why_not_rename_iname(before, "i", "row"), std::nullopt);
}

TEST(RenameIname, UnitesLoops) {
  const Kernel before = tag_inames(two_loops(), "i:g.0, j:l.0");
  const Kernel united = rename_iname(before, "i", "j");
  EXPECT_EQ(domains_of(united), "[j]: j >= 0 and j < n\n");
  EXPECT_EQ(statements_of(united), "b[j] = a[j]\nc[j] = b[j] + 1\n");
  EXPECT_EQ(united.iname_tags.size(), 1U);
  EXPECT_EQ(tag_of(united, "j"), (InameTag{AxisKind::block, 0}));
  expect_same_results(before, united, {{"n", 5}});
  expect_recipe(two_loops(), united, "tag_inames(i:g.0, j:l.0)\nrename_iname(i, j)\n");
}

TEST(RenameIname, UnitesReductions) {
  const Kernel before =
      make_kernel("{[i, k, l]: 0 <= i, k, l < n}", "b[i] = sum(k, a[i, k])\nc[i] = sum(l, a[l, i])",
                  {.default_type = cgen::f32});
  const Kernel united = rename_iname(before, "l", "k");
  EXPECT_EQ(statements_of(united), "b[i] = sum(k, a[i, k])\nc[i] = sum(k, a[k, i])\n");
  expect_recipe(before, united, "rename_iname(l, k)\n");
}

TEST(RenameIname, UnitesInamesOfOneTriangle) {
  const Kernel before =
      make_kernel("{[p, i, j]: 0 <= p < n and p <= i < n and p <= j < n}",
                  "b[p, i] = a[p, i]\nc[p, j] = a[p, j]", {.arguments = "a, b, c: f32[n, n]"});
  const Kernel united = rename_iname(before, "i", "j");
  EXPECT_EQ(domains_of(united), "[p, j]: p >= 0 and p < n and p <= j and j < n\n");
  expect_same_results(before, united, {{"n", 4}});
}

TEST(RenameIname, UnitesWithTheOuterLoopOfOthers) {
  const Kernel before =
      make_kernel("{[i]: 0 <= i < n} {[j, r]: 0 <= j < n and 0 <= r <= j}",
                  "b[i] = 1.0\nc[j, r] = 2.0", {.arguments = "b: f32[n]; c: f32[n, n]"});
  const Kernel united = rename_iname(before, "i", "j");
  EXPECT_EQ(domains_of(united), "[j, r]: j >= 0 and j < n and r >= 0 and r <= j\n");
  expect_same_results(before, united, {{"n", 4}});
  // this way the bounds of r would be lost
  EXPECT_ERROR("loopy.rename_iname.different_bounds", rename_iname(before, "j", "i"));
}

TEST(RenameIname, RefusesDifferentBounds) {
  const Kernel other = make_kernel("{[i, j]: 0 <= i < n and 1 <= j < n}", "b[i] = 1\nc[j] = 2",
                                   {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.rename_iname.different_bounds", rename_iname(other, "i", "j"));
  EXPECT_EQ(why_not_rename_iname(other, "i", "j"),
            "'i' cannot become 'j': they do not take the same values");
  const Kernel triangle =
      make_kernel("{[p, i, j]: 0 <= p, j < n and p <= i < n and j + p < 2*n}",
                  "b[p, i] = 1.0\nc[p, j] = 2.0", {.arguments = "b, c: f32[n, n]"});
  EXPECT_ERROR("loopy.rename_iname.different_bounds", rename_iname(triangle, "i", "j"));
  EXPECT_ERROR("loopy.rename_iname.different_bounds", rename_iname(triangle, "j", "i"));
}

TEST(RenameIname, RefusesInamesOfOneStatement) {
  const Kernel both =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = 1.0", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.rename_iname.used_together", rename_iname(both, "i", "j"));
  const Kernel reduced =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i] = sum(j, a[i, j])", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.rename_iname.used_together", rename_iname(reduced, "j", "i"));
}

TEST(RenameIname, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.rename_iname.unknown_iname", rename_iname(two_loops(), "q", "x"));
}

TEST(RenameIname, RefusesTakenNames) {
  EXPECT_ERROR("loopy.rename_iname.name_taken", rename_iname(two_loops(), "i", "a"));
  EXPECT_ERROR("loopy.rename_iname.name_taken", rename_iname(two_loops(), "i", "i"));
  EXPECT_ERROR("loopy.rename_iname.name_taken", rename_iname(two_loops(), "i", ""));
  EXPECT_EQ(why_not_rename_iname(two_loops(), "i", ""), "'i' cannot have an empty name");
}

TEST(RemoveUnusedInames, KeepsWhatTheOthersNeed) {
  const Kernel before = prioritize_loops(
      tag_inames(make_kernel("{[i, j, k, q]: 0 <= i < n and 0 <= k <= j < i and 0 <= q < 4}",
                             "b[i] = sum(k, a[i, k])",
                             {.arguments = "a: f32[n, n]", .default_type = cgen::f32}),
                 "q:l.0"),
      {"i", "q"});
  const Kernel removed = remove_unused_inames(before);
  EXPECT_EQ(domains_of(removed), "[i, k]: i >= 0 and i < n and k >= 0 and k < i\n");
  EXPECT_TRUE(removed.iname_tags.empty());
  EXPECT_TRUE(removed.loop_priorities.empty());
  EXPECT_EQ(to_string(removed.recipe.back()), "remove_unused_inames()");
  EXPECT_EQ(to_string(apply_recipe(before, "remove_unused_inames()")), to_string(removed));
}

TEST(RenameIname, UnitesLoopsWhereNothingIsReadTooEarly) {
  const auto two = [](const char* second) {
    return make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n}",
                       std::string("b[i] = 2*a[i]\n") + second,
                       {.arguments = "a, b, c: f32[n + 2]; n: i32"});
  };
  const Kernel same = two("c[j] = b[j]");
  expect_same_results(same, rename_iname(same, "j", "i"), {{"n", 5}});
  const Kernel ahead = two("c[j] = b[j + 1]");
  EXPECT_ERROR("loopy.rename_iname.carried_value", rename_iname(ahead, "j", "i"));
  EXPECT_EQ(why_not_rename_iname(ahead, "j", "i"),
            "loops 'j' and 'i' cannot become one: an element of 'b' is used in two iterations: "
            "first 'set_b' writes it at i = 1, then 'set_c' reads it at i = 0; they would change "
            "places");
  // the last value of the first loop, in all iterations of the second
  const Kernel last =
      make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n}",
                  "<> t = a[i] {inames=i}\nc[j] = t {inames=j}", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.rename_iname.carried_value", rename_iname(last, "j", "i"));
}

}  // namespace
}  // namespace rtcg::loopy
