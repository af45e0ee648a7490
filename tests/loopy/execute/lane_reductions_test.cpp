// Reductions over lanes of a thread, which have accumulators of their own.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

KernelOptions of_lanes(std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  options.assumptions = "n >= 1";
  return options;
}

/// Threads with four neighbours each, in blocks that take turns.
std::string recipe_with(const std::string& lanes) {
  return "split_iname(j, 64)\nsplit_iname(j_inner, 4, outer_tag=l.0, inner_tag=" + lanes + ")\n";
}

TEST(LaneReductions, LoadVectorsAndKeepAnAccumulatorForEachLane) {
  const Kernel sum =
      make_kernel("{[j]: 0 <= j < n}", "s[0] = sum(j, a[j])", of_lanes("a: f32[n]; s: f32[1]"));
  const std::string text = generate_text(apply_recipe(sum, recipe_with("vec")), Target::cuda);
  EXPECT_NE(text.find("float acc_j_outer_lanes[4];"), std::string::npos) << text;
  EXPECT_NE(
      text.find(R"(      const float4 a_vec = *(const float4 *)&a[64 * j_outer + 4 * j_inner_outer];
      acc_j_outer_lanes[0] += a_vec.x;
      acc_j_outer_lanes[1] += a_vec.y;
      acc_j_outer_lanes[2] += a_vec.z;
      acc_j_outer_lanes[3] += a_vec.w;
)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(
  float acc_j_outer = 0.0f;
  acc_j_outer += acc_j_outer_lanes[0];
  acc_j_outer += acc_j_outer_lanes[1];
  acc_j_outer += acc_j_outer_lanes[2];
  acc_j_outer += acc_j_outer_lanes[3];
)"),
            std::string::npos)
      << text;
}

TEST(LaneReductions, OfEveryOperationGiveWhatLoopsGive) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"vec", "s[i] = sum(j, a[i, j]*b[j])\nv[i], q[i] = argmin(j, a[i, j], 1000 - j)"},
      {"ilp", "s[i] = product(j, b[j])\nq[i] = 2 if any(j, a[i, j] > b[j]) else 3"},
      {"ilp.seq", "z[i] = sum(j, c[j])\ns[i] = reduce(max, j, a[i, j])"}};
  CompareOptions compare;
  for (const auto& [lanes, statements] : cases) {
    SCOPED_TRACE(lanes);
    const Kernel kernel = make_kernel("{[i, j]: 0 <= i < 3 and 0 <= j < n}", statements,
                                      of_lanes("a: f64[3, n]; b: f64[n]; c: c64[n]; s, v: f64[3]; "
                                               "z: c64[3]; q: i32[3]"));
    for (const int n : {1, 131}) {
      compare.values["a"].clear();
      for (int i = 0; i < 3 * n; ++i) {  // with equal values, the last of which has the least place
        compare.values["a"].push_back(static_cast<double>((i * 7) % 5) - 2.5);
      }
      expect_same_everywhere(apply_recipe(kernel, "tag_inames(i:g.0)\n" + recipe_with(lanes)),
                             kernel, {{"n", n}}, compare);
    }
  }
}

TEST(LaneReductions, MayHaveSeveralKindsOfLanesAndLanesWithResults) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < 6 and 0 <= j < n}", "s[i] = 2*sum(j, a[i, j]) + s[i]",
                  of_lanes("a: f32[6, n]; s: f32[6]"));
  for (const std::string results : {"ilp", "ilp.seq"}) {
    const Kernel sliced =
        apply_recipe(kernel, "split_iname(i, 3, outer_tag=g.1, inner_tag=" + results +
                                 ")\nsplit_iname(j, 128)\nsplit_iname(j_inner, 64, outer_tag=ilp)\n"
                                 "split_iname(j_inner_inner, 2, outer_tag=l.0, inner_tag=vec)\n");
    for (const int n : {1, 300}) {
      expect_same_everywhere(sliced, kernel, {{"n", n}});
    }
  }
}

TEST(LaneReductions, HandTheirSumsToTheBlocksOfTheGrid) {
  const Kernel kernel =
      make_kernel("{[j]: 0 <= j < n}", "s[0] = sum(j, a[j])", of_lanes("a: i32[n]; s: i32[1]"));
  // as many blocks for any n
  const std::string recipe = R"(
      split_iname(j, 1024)
      split_iname(j_inner, 256, outer_tag=g.0)
      split_iname(j_inner_inner, 128, outer_tag=ilp)
      split_iname(j_inner_inner_inner, 4, outer_tag=l.0, inner_tag=vec)
  )";
  for (const std::string how : {"", "reduce_over_grid(j_inner_outer, how=last)",
                                "reduce_over_grid(j_inner_outer, how=atomic)"}) {
    for (const int n : {2, 5000}) {
      expect_same_everywhere(apply_recipe(kernel, recipe + how), kernel, {{"n", n}});
    }
  }
}

TEST(LaneReductions, StandInBranchesAndInOneAnother) {
  const Kernel branches = make_kernel("{[i, j]: 0 <= i < 5 and 0 <= j < n}",
                                      "s[i] = sum(j, a[i, j]) if c[i] > 0 else 0",
                                      of_lanes("a: f64[5, n]; c, s: f64[5]"));
  const Kernel nested = make_kernel("{[i, j]: 0 <= i < 7 and 0 <= j < n}",
                                    "s[0] = sum(i, b[i]*reduce(max, j, a[i, j]))",
                                    of_lanes("a: f64[7, n]; b: f64[7]; s: f64[1]"));
  expect_same_everywhere(apply_recipe(branches, "tag_inames(i:g.0)\n" + recipe_with("ilp")),
                         branches, {{"n", 70}});
  expect_same_everywhere(apply_recipe(nested, recipe_with("ilp.seq")), nested, {{"n", 70}});
  expect_same_everywhere(apply_recipe(nested, "tag_inames(i:ilp)"), nested, {{"n", 9}});
}

TEST(LaneReductions, MayHaveLanesAndThreadsBesideThemThatDoNotBeginAtZero) {
  const Kernel kernel = make_kernel("{[i, j, k]: 2 <= i < 5 and 0 <= j < 8 and 1 <= k < 7}",
                                    "c[i, k] = sum(j, a[i, j]*b[j, k])",
                                    of_lanes("a: f64[5, 8]; b: f64[8, 7]; c: f64[5, 7]"));
  for (const char* recipe :
       {"tag_inames(j:l.1, i:ilp, k:l.0)", "tag_inames(j:l.0, i:ilp, k:l.1)",
        "tag_inames(j:l.1, i:vec, k:g.0)", "tag_inames(j:l.0, i:l.1, k:l.2)"}) {
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 1}});
  }
}

TEST(LaneReductions, RefuseLanesThatDoNotBeginAtZero) {
  const Kernel kernel = make_kernel("{[j]: 1 <= j < 5}", "s[0] = sum(j, a[j])",
                                    of_lanes("a: f32[5]; s: f32[1]; n: i32"));
  EXPECT_ERROR("loopy.realize_reductions.block_length",
               generate(apply_recipe(kernel, "tag_inames(j:ilp)"), Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
