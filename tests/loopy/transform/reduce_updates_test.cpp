#include "rtcg/loopy/transform/reduce_updates.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Two blocks take turns, with 32 threads of two lanes or items.
const char* const turns =
    "split_iname(i, 256, outer_name=turn, inner_name=of_turn)\n"
    "split_iname(of_turn, 128, outer_name=p, outer_tag=g.0, inner_name=of_block)\n"
    "split_iname(of_block, 32, outer_name=item, inner_name=lane, outer_tag=unr, inner_tag=l.0)\n";

Kernel scaled_and_summed() {
  return make_kernel("{[i]: 0 <= i < n}",
                     "s[0] = 0 {id=start}\n"
                     "y[i] = 2*x[i] {id=scale}\n"
                     "s[0] += x[i]*y[i] {atomic, dep=start:scale}",
                     {.arguments = "x, y: f64[n]; s: f64[1]; n: i32", .assumptions = "n >= 1"});
}

TEST(ReduceUpdates, GivesEachBlockThatTakesTurnsOnePart) {
  const Kernel kernel = reduce_updates(apply_recipe(scaled_and_summed(), turns), "s");
  EXPECT_EQ(statements_of(kernel),
            "s_own[s_own_z] = 0\n"
            "y[256*turn + 128*p + 32*item + lane] = 2*x[256*turn + 128*p + 32*item + lane]\n"
            "s_own[lane] = s_own[lane] + "
            "x[256*turn + 128*p + 32*item + lane]*y[256*turn + 128*p + 32*item + lane]\n"
            "s_parts[p] = sum(s_own_h, s_own[s_own_h])\n"
            "... last_block\n"
            "s[0] = sum((p_of_parts_outer, p_of_parts_inner), "
            "s_parts[32*p_of_parts_outer + p_of_parts_inner])\n");
  expect_recipe(scaled_and_summed(), kernel, recipe_of(kernel));
  for (const std::int64_t n : {1, 31, 128, 129, 1000}) {
    expect_same_results(scaled_and_summed(), kernel, {{"n", n}});
  }
}

TEST(ReduceUpdates, KeepsWhatIsThere) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "s[0] += x[i] {atomic}",
                                    {.arguments = "x: f64[n]; s: f64[1]; n: i32"});
  expect_same_results(kernel, reduce_updates(apply_recipe(kernel, turns), "s"), {{"n", 700}});
  const Kernel top =
      make_kernel("{[i]: 0 <= i < n}",
                  "s[k] = 7 {id=start}\n"
                  "s[k] = max(s[k], x[i]) {atomic, dep=start, if=x[i] > 0}",
                  {.arguments = "x: f64[n]; s: f64[4]; n, k: i32", .assumptions = "n >= 1"});
  expect_same_results(top, reduce_updates(apply_recipe(top, turns), "s"), {{"n", 700}, {"k", 2}});
}

TEST(ReduceUpdates, OfSeveralElementsShareALastBlock) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "s[0] = 0 {id=s}\nt[0] = 1 {id=t}\n"
                                    "s[0] += x[i] {atomic, dep=s, id=a}\n"
                                    "y[i] = x[i]/2 {id=y}\n"
                                    "t[0] = t[0]*y[i] {atomic, dep=t:y, id=b}\n"
                                    "s[0] += y[i] {atomic, dep=a:y}",
                                    {.arguments = "x, y: f64[n]; s, t: f64[1]; n: i32"});
  const Kernel sliced = reduce_updates(reduce_updates(apply_recipe(kernel, turns), "s"), "t");
  EXPECT_EQ(statements_of(sliced).find("last_block"), statements_of(sliced).rfind("last_block"));
  expect_same_results(kernel, sliced, {{"n", 300}});
}

TEST(ReduceUpdates, OfEachRowByGroupsOfBlocks) {
  const Kernel kernel = make_kernel("{[r, i]: 0 <= r < m and 0 <= i < n}",
                                    "s[r] = 0 {id=start}\n"
                                    "s[r] += x[r, i]*y[i] {atomic, dep=start}",
                                    {.arguments = "x: f64[m, n]; y: f64[n]; s: f64[m]; n, m: i32",
                                     .assumptions = "n >= 1 and m >= 1"});
  const Kernel shared =
      reduce_updates(apply_recipe(kernel, std::string(turns) + "tag_inames(r:g.1)"), "s");
  expect_same_results(kernel, shared, {{"n", 300}, {"m", 5}});
  // a row is one block's
  const Kernel alone = reduce_updates(apply_recipe(kernel,
                                                   "split_iname(i, 32, inner_tag=l.0)\n"
                                                   "tag_inames(r:g.0)"),
                                      "s");
  EXPECT_EQ(statements_of(alone).find("last_block"), std::string::npos);
  expect_same_results(kernel, alone, {{"n", 300}, {"m", 5}});
}

TEST(ReduceUpdates, KeepsValuesOfLanesAndTriangles) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "s[0] += a[i, j]*a[j, i] {atomic}",
                  {.arguments = "a: f64[n, n]; s: f64[1]; n: i32"});
  for (const char* recipe :
       {"split_iname(i, 8, outer_tag=g.0, inner_tag=l.1)\n"
        "split_iname(j, 64)\nsplit_iname(j_inner, 16, outer_tag=ilp, inner_tag=l.0)",
        "tag_inames(i:g.0)", "split_iname(j, 16, inner_tag=l.0)", "",
        "split_iname(i, 4, outer_tag=g.1)\nsplit_iname(j, 16, outer_tag=g.0, inner_tag=l.0)"}) {
    SCOPED_TRACE(recipe);
    expect_same_results(kernel, reduce_updates(apply_recipe(kernel, recipe), "s"), {{"n", 41}});
  }
}

TEST(ReduceUpdates, RefusesWhatItCannotReduce) {
  const auto reduced = [](const std::string& statements, const std::string& recipe = turns,
                          const std::string& array = "s") {
    return reduce_updates(
        apply_recipe(make_kernel("{[i]: 0 <= i < n}", statements,
                                 {.arguments = "x: f64[n]; k: i32[n]; s: f64[8]; n: i32"}),
                     recipe),
        array);
  };
  EXPECT_ERROR("loopy.reduce_updates.unknown_array", reduced("s[0] += x[i] {atomic}", turns, "q"));
  EXPECT_ERROR("loopy.reduce_updates.not_updated", reduced("x[i] = s[0]"));
  EXPECT_ERROR("loopy.reduce_updates.not_updated",
               reduced("s[0] += x[i] {atomic, id=a}\nx[i] = s[1] {dep=a}"));
  EXPECT_ERROR("loopy.reduce_updates.other_operation",
               reduced("s[0] += x[i] {atomic, id=a}\ns[0] = s[0]*x[i] {atomic, dep=a}"));
  EXPECT_ERROR("loopy.reduce_updates.other_operation",
               reduced("larger(a, b) := b if abs(b) > abs(a) else a\n"
                       "s[0] = larger(s[0], x[i]) {atomic}"));
  EXPECT_ERROR("loopy.reduce_updates.element", reduced("s[k[i]] += x[i] {atomic}"));
  EXPECT_ERROR("loopy.reduce_updates.element", reduced("s[i % 2] += x[i] {atomic}"));
  EXPECT_ERROR("loopy.reduce_updates.element",
               reduced("s[0] += x[i] {atomic, id=a}\ns[1] += x[i] {atomic, dep=a}"));
  EXPECT_ERROR("loopy.reduce_updates.element",
               reduced("s[1] = 0 {id=a}\ns[0] += x[i] {atomic, dep=a}"));
  EXPECT_ERROR("loopy.reduce_updates.unknown_length",
               reduced("s[0] += x[i] {atomic}", "split_iname(i, 64, inner_tag=l.auto)"));
}

}  // namespace
}  // namespace rtcg::loopy
