#include "rtcg/loopy/transform/reduce_online.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Weighted columns by the softmax of rows, in tiles of three.
Kernel weighted(const std::string& steps = "") {
  return apply_recipe(
      make_kernel("{[i, d, j, k, l]: 0 <= i < n and 0 <= d < 4 and 0 <= j, k, l < m}",
                  "top[i] = reduce(max, j, x[i, j])\n"
                  "total[i] = sum(k, exp(x[i, k] - top[i]))\n"
                  "out[i, d] = sum(l, exp(x[i, l] - top[i])*v[l, d])/total[i]",
                  {.default_type = cgen::f32, .assumptions = "m >= 1"}),
      "rename_inames([j, k, l], j)\nsplit_iname(j, 3, outer_name=j_0, inner_name=j_1)\n" + steps);
}

TEST(ReduceOnline, RunsOverTilesInOneLoop) {
  const Kernel online = reduce_online(weighted(), "j_0");
  EXPECT_EQ(statements_of(online),
            "top_run = cast(f32, -inf)\n"
            "total_run = 0.0f\n"
            "out_run[d_0] = 0.0f\n"
            "top_run_next = max(top_run, reduce(max, j_1, x[i, 3*j_0 + j_1]))\n"
            "top_run_pivot = if(top_run_next == cast(f32, -inf), 0.0f, top_run_next)\n"
            "total_run_factor = exp(top_run - top_run_pivot)\n"
            "total_run = total_run*total_run_factor + sum(j_1, exp(x[i, 3*j_0 + j_1] - "
            "top_run_pivot))\n"
            "out_run[d_1] = out_run[d_1]*total_run_factor + sum(j_1, exp(x[i, 3*j_0 + j_1] - "
            "top_run_pivot)*v[3*j_0 + j_1, d_1])\n"
            "top_run = top_run_next\n"
            "top[i] = top_run\n"
            "total[i] = total_run*exp(top_run - top_run)\n"
            "out[i, d] = out_run[d]*exp(top_run - top_run) / total[i]\n");
  EXPECT_EQ(find_temporary(online, "out_run")->shape, std::vector<Expr>{4});
  const Kernel rows = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 8}",
                                  "<> top = reduce(max, j, x[i, j])\n"
                                  "y[i] = sum(j, exp(x[i, j] - top))",
                                  {.default_type = cgen::f32});
  expect_recipe(rows, reduce_online(rows, "j"), "reduce_online(j)\n");
}

TEST(ReduceOnline, LeavesThreadsAndLanesTheirScalars) {
  EXPECT_TRUE(find_temporary(reduce_online(weighted("tag_inames(d:l.0)"), "j_0"), "out_run")
                  ->shape.empty());
  EXPECT_TRUE(find_temporary(reduce_online(weighted("tag_inames(d:ilp)"), "j_0"), "out_run")
                  ->shape.empty());
}

TEST(ReduceOnline, KeepsTheNumbers) {
  for (const int length : {1, 3, 7, 8}) {
    SCOPED_TRACE(length);
    expect_same_results(weighted(), reduce_online(weighted(), "j_0"), {{"n", 2}, {"m", length}});
  }
}

TEST(ReduceOnline, TakesLoopsWithoutTiles) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j, k < 5}",
                               "<> low = reduce(min, j, x[i, j])\n"
                               "<> s = sum(j, w[i, j])\n"
                               "y[i] = s + sum(k, exp(low - x[i, k])*w[i, k]/(1 + low))",
                               {.default_type = cgen::f32}),
                   "rename_inames([j, k], j)");
  expect_same_results(kernel, reduce_online(kernel, "j"), {{"n", 3}});
}

TEST(ReduceOnline, RefusesOtherLoops) {
  EXPECT_ERROR("loopy.reduction_chain.unknown_iname", reduce_online(weighted(), "q"));
  EXPECT_ERROR("loopy.reduction_chain.no_chain", reduce_online(weighted(), "d"));
  EXPECT_ERROR("loopy.reduction_chain.not_alike",
               reduce_online(weighted("tag_inames(j_0:l.0)"), "j_0"));
  EXPECT_ERROR(
      "loopy.reduction_chain.not_alike",
      reduce_online(make_kernel("{[i, j]: 0 <= i, j < 8}", "y[i] = sum(j, x[i, j])\nz[j] = x[j, j]",
                                {.default_type = cgen::f32}),
                    "j"));
  const Kernel variance =
      apply_recipe(make_kernel("{[j, k]: 0 <= j, k < 8}",
                               "<> mean = sum(j, x[j])/8\nz[0] = sum(k, (x[k] - mean)**2)",
                               {.default_type = cgen::f32}),
                   "rename_inames([j, k], j)");
  EXPECT_ERROR("loopy.reduction_chain.no_repair", reduce_online(variance, "j"));
  const Kernel columns =
      apply_recipe(make_kernel("{[i, d, j, k]: 0 <= i < n and 0 <= d < nd and 0 <= j, k < 8}",
                               "<> top = reduce(max, j, x[i, j])\n"
                               "out[i, d] = sum(k, exp(x[i, k] - top)*v[k, d])",
                               {.default_type = cgen::f32}),
                   "rename_inames([j, k], j)");
  EXPECT_ERROR("loopy.privatize_temporaries.no_constant_length", reduce_online(columns, "j"));
}

}  // namespace
}  // namespace rtcg::loopy
