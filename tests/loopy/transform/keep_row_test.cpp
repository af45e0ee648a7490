#include "rtcg/loopy/transform/keep_row.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel normalised_rows(const char* length = "24") {
  return make_kernel(
      std::string("{[i, j, l]: 0 <= i < n and 0 <= j, l < ") + length + "}",
      "<> s = sum(j, x[i, j])\n"
      "y[i, l] = x[i, l]/s",
      {.arguments = std::string("x, y: f32[n, ") + length + "]", .default_type = cgen::f32});
}

Kernel cut_rows(const char* steps = "8", const char* length = "24") {
  return apply_recipe(normalised_rows(length),
                      "split_iname(j, 8, inner_tag=l.0)\n"
                      "split_reduction_outward(j_inner)\n"
                      "split_iname(l, " +
                          std::string(steps) + ", inner_tag=l.0)");
}

const std::vector<std::string> row_loops = {"j_outer", "j_inner", "l_outer", "l_inner"};

TEST(KeepRow, HoldsWhatAThreadReadsInRegisters) {
  const Kernel kept = keep_row(cut_rows(), "x", row_loops);
  EXPECT_EQ(statements_of(kept),
            "x_row[x_row_0] = x[i, 8*x_row_0 + x_row_1]\n"
            "s = sum(j_inner, sum(j_outer, x_row[j_outer]))\n"
            "y[i, 8*l_outer + l_inner] = x_row[l_outer] / s\n");
  EXPECT_EQ(find_temporary(kept, "x_row")->shape, std::vector<Expr>{3});
  EXPECT_EQ(find_temporary(kept, "x_row")->address_space, AddressSpace::private_);
  EXPECT_EQ(tag_of(kept, "x_row_1"), (InameTag{AxisKind::block, 0}));
  expect_recipe(normalised_rows(), kept, recipe_of(kept));
}

TEST(KeepRow, HoldsRowsInSharedMemory) {
  const Kernel kept = keep_row(cut_rows(), "x", row_loops, {.address_space = AddressSpace::local});
  EXPECT_EQ(find_temporary(kept, "x_row")->shape, std::vector<Expr>{24});
  const Kernel several =
      keep_row(apply_recipe(cut_rows(), "split_iname(i, 4, inner_tag=l.1, outer_tag=g.0)"), "x",
               row_loops, {.address_space = AddressSpace::local, .temporary_name = "rows"});
  EXPECT_EQ(find_temporary(several, "rows")->shape, (std::vector<Expr>{4, 24}));
}

TEST(KeepRow, ReadsNeighboursAtOnce) {
  const Kernel cut = apply_recipe(normalised_rows("64"),
                                  "split_iname(j, 32)\n"
                                  "split_iname(j_inner, 4, inner_name=j_2, outer_name=j_1)\n"
                                  "split_iname(l, 32)\n"
                                  "split_iname(l_inner, 4, inner_name=l_2, outer_name=l_1)");
  const std::vector<std::string> loops = {"j_outer", "j_1", "j_2", "l_outer", "l_1", "l_2"};
  const Kernel wide = keep_row(cut, "x", loops, {.vector_width = 4});
  EXPECT_EQ(tag_of(wide, "x_row_2").kind, AxisKind::vec);
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(cut, "x", loops, {.vector_width = 2}));
}

/// Means of rows of 3 x 10 elements, through which one loop goes.
Kernel flat_rows() {
  const Kernel apart = make_kernel(
      "{[i, c, p, d, q]: 0 <= i < n and 0 <= c, d < 3 and 0 <= p, q < 10}",
      "<> s = sum((c, p), x[i, c, p])\n"
      "y[i, d, q] = x[i, d, q]/s",
      {.arguments = "x, y: f32[n, 3, 10]", .default_type = cgen::f32});
  return apply_recipe(apart, "join_inames([c, p], name=j)\njoin_inames([d, q], name=l)");
}

TEST(KeepRow, HoldsRowsOfSeveralAxes) {
  const Kernel cut = apply_recipe(flat_rows(), "split_iname(j, 8, inner_tag=l.0)\n"
                                               "split_reduction_outward(j_inner)\n"
                                               "split_iname(l, 8, inner_tag=l.0)");
  const Kernel kept = keep_row(cut, "x", row_loops);
  EXPECT_EQ(statements_of(kept),
            "x_row[x_row_0] = x[i, (8*x_row_0 + x_row_1) // 10, (8*x_row_0 + x_row_1) % 10]\n"
            "s = sum(j_inner, sum(j_outer, x_row[j_outer]))\n"
            "y[i, (8*l_outer + l_inner) // 10, (8*l_outer + l_inner) % 10] = "
            "x_row[l_outer] / s\n");
  EXPECT_EQ(find_temporary(kept, "x_row")->shape, std::vector<Expr>{4});
  const Kernel loops = apply_recipe(flat_rows(), "split_iname(j, 8)\nsplit_iname(l, 8)");
  expect_same_results(flat_rows(), keep_row(loops, "x", row_loops), {{"n", 3}});
}

TEST(KeepRow, KeepsTheNumbers) {
  // as loops: without threads the copy has all elements of a row
  const Kernel cut = apply_recipe(normalised_rows(), "split_iname(j, 8)\nsplit_iname(l, 8)");
  expect_same_results(normalised_rows(), keep_row(cut, "x", row_loops), {{"n", 3}});
}

TEST(KeepRow, ReadsBeforeALaterStatementWrites) {
  const Kernel centred = make_kernel("{[i, j, l]: 0 <= i, j, l < 8} {[p, q]: 0 <= p, q < 8}",
                                     "<> s = sum(j, x[i, j])\n"
                                     "y[i] = s + sum(l, x[i, l]*x[i, l])\n"
                                     "... gbarrier\n"
                                     "x[p, q] = x[p, q] - y[p]",
                                     {.arguments = "x: f32[8, 8]; y: f32[8]"});
  const Kernel kept = keep_row(centred, "x", {"j", "l"});
  EXPECT_EQ(statements_of(kept),
            "x_row[x_row_0] = x[i, x_row_0]\n"
            "s = sum(j, x_row[j])\n"
            "y[i] = s + sum(l, x_row[l]*x_row[l])\n"
            "... gbarrier\n"
            "x[p, q] = x[p, q] - y[p]\n");
  expect_same_results(centred, kept, {});
}

TEST(KeepRow, KeepsWhatTheLastStatementUpdates) {
  const char* const arguments = "x: f32[8, 32]";
  const auto scaled = [&](const char* update) {
    return apply_recipe(
        make_kernel("{[i, j, l]: 0 <= i < 8 and 0 <= j, l < 32}",
                    std::string("<> s = sum(j, x[i, j])\n") + update, {.arguments = arguments}),
        "split_iname(j, 8)\nsplit_iname(l, 8)");
  };
  const Kernel in_place = scaled("x[i, l] = x[i, l]/s + x[i, 0]");
  const Kernel kept = keep_row(in_place, "x", row_loops);
  EXPECT_EQ(statements_of(kept),
            "x_row[x_row_0, x_row_1] = x[i, 8*x_row_0 + x_row_1]\n"
            "s = sum((j_outer, j_inner), x_row[j_outer, j_inner])\n"
            "x[i, 8*l_outer + l_inner] = x_row[l_outer, l_inner] / s + x[i, 0]\n");
  expect_same_results(in_place, kept, {});
  // other elements of the row, whose iterations may come earlier
  EXPECT_ERROR("loopy.keep_row.not_possible",
               keep_row(scaled("x[i, 31 - l] = x[i, l]/s"), "x", row_loops));
  EXPECT_ERROR("loopy.keep_row.not_possible",
               keep_row(scaled("x[i, 0] = x[i, l]/s"), "x", row_loops));
}

TEST(KeepRow, FollowsTheLoopInWhichItsArrayChanges) {
  // each step of t reads what the step before has written
  const Kernel steps = make_kernel("{[t, j, l]: 0 <= t < 3 and 0 <= j, l < 8}",
                                   "for t\n"
                                   "  <> s = sum(j, x[j]) {id=s}\n"
                                   "  y[t] = s + sum(l, x[l]*x[l]) {id=y, dep=s}\n"
                                   "  x[t] = 2*x[t] + 1 {dep=y}\n"
                                   "end",
                                   {.arguments = "x: f32[8]; y: f32[3]"});
  const Kernel kept = keep_row(steps, "x", {"j", "l"});
  EXPECT_EQ(kept.instructions.front().within_inames, (NameSet{"t", "x_row_0"}));
  expect_same_results(steps, kept, {});
  const Kernel between = make_kernel("{[i, j, l]: 0 <= i, j, l < 8}",
                                     "<> s = sum(j, x[i, j]) {id=s}\n"
                                     "x[i, 0] = s {id=x, dep=s}\n"
                                     "y[i] = sum(l, x[i, l]) {dep=x}",
                                     {.arguments = "x: f32[8, 8]; y: f32[8]"});
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(between, "x", {"j", "l"}));
}

TEST(KeepRow, RefusesWhatIsNoRow) {
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(cut_rows(), "z", row_loops));
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(cut_rows(), "x", {"q"}));
  EXPECT_ERROR("loopy.keep_row.nothing_kept", keep_row(cut_rows(), "y", row_loops));
  EXPECT_ERROR("loopy.keep_row.not_possible",
               keep_row(cut_rows(), "x", row_loops, {.temporary_name = "y"}));
  EXPECT_ERROR("loopy.keep_row.not_possible",
               keep_row(cut_rows(), "x", row_loops, {.address_space = AddressSpace::global}));
  const Kernel launches = make_kernel("{[i, j, l]: 0 <= i, j, l < 8}",
                                      "s[i] = sum(j, x[i, j])\n"
                                      "... gbarrier\n"
                                      "y[i, l] = x[i, l]/s[i]",
                                      {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(launches, "x", {"j", "l"}));
  const Kernel guarded =
      make_kernel("{[i, j]: 0 <= i, j < 8}", "y[i, j] = if(j > 0, x[i, j - 1], 0)",
                  {.arguments = "x, y: f32[8, 8]"});
  EXPECT_ERROR("loopy.keep_row.not_possible", keep_row(guarded, "x", {"j"}));
}

TEST(KeepRow, CopiesWhatIsReadUnderAConditionWithinTheArray) {
  const Kernel masked =
      make_kernel("{[i, j, l]: 0 <= i < n and 0 <= j, l < 24}",
                  "v(j) := if(mask[i, j] > 0.5, x[i, j], 1)\n"
                  "<> s = sum(j, v(j))\n"
                  "y[i, l] = v(l)/s",
                  {.arguments = "mask, x, y: f32[n, 24]", .assumptions = "n >= 1"});
  const Kernel cut = apply_recipe(masked,
                                  "split_iname(j, 8, inner_tag=l.0)\n"
                                  "split_reduction_outward(j_inner)\n"
                                  "split_iname(l, 8, inner_tag=l.0)");
  const Kernel kept = keep_row(cut, "x", row_loops);
  EXPECT_NE(statements_of(kept).find("x_row[x_row_0] = x[i, 8*x_row_0 + x_row_1]\n"),
            std::string::npos)
      << statements_of(kept);
  const Kernel shared =
      keep_row(cut, "x", row_loops, {.address_space = AddressSpace::local});
  expect_same_results(masked, shared, {{"n", 3}});
}

TEST(KeepRow, RefusesNestsThatAreCutDifferently) {
  EXPECT_ERROR("loopy.keep_row.cut_differently", keep_row(cut_rows("4"), "x", row_loops));
  EXPECT_ERROR("loopy.keep_row.cut_differently", keep_row(cut_rows("8", "m"), "x", row_loops));
  EXPECT_ERROR("loopy.keep_row.nothing_kept", keep_row(cut_rows(), "x", {}));
}

}  // namespace
}  // namespace rtcg::loopy
