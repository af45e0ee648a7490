#include "rtcg/loopy/transform/fuse_reductions.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Statements over rows of x, with the inames of all reductions made one.
Kernel rows(const std::string& statements, const std::string& arguments = "x, w: f32[n, m]",
            bool has_elements = true) {
  const Kernel kernel = make_kernel("{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < m}", statements,
                                    {.arguments = arguments,
                                     .default_type = cgen::f32,
                                     .assumptions = has_elements ? "m >= 1" : ""});
  return apply_recipe(kernel, "rename_inames([j, k], j)");
}

const std::string maximum = "<> top = reduce(max, j, x[i, j])\n";

Kernel log_sum_exp() {
  return rows(maximum + "y[i] = top + log(sum(k, exp(x[i, k] - top)))");
}

TEST(FuseReductions, SumsExponentialsWhileTheMaximumRuns) {
  const Kernel fused = fuse_reductions(log_sum_exp(), {"j"});
  EXPECT_EQ(statements_of(fused),
            "top_run, y_run = reduce(online, j, x[i, j], 1.0f)\n"
            "top = top_run\n"
            "y[i] = top + log(y_run*exp(top_run - top_run))\n");
  EXPECT_EQ(to_string(find_rule(fused, "online")->body),
            "make_tuple(max(top_run_left, top_run_right), "
            "if(top_run_left < top_run_right, y_run_left, y_run_right)*"
            "exp(if(top_run_left == top_run_right, 0, "
            "if(top_run_left < top_run_right, top_run_left, top_run_right) - "
            "if(top_run_left < top_run_right, top_run_right, top_run_left))) + "
            "if(top_run_left < top_run_right, y_run_right, y_run_left))");
  EXPECT_EQ(to_string(fuse_reductions(log_sum_exp(), {"j"})), to_string(fused));
}

TEST(FuseReductions, IsAStepOfRecipes) {
  const std::string domains = "{[i, j]: 0 <= i < n and 0 <= j < 8}";
  const Kernel kernel = make_kernel(domains,
                                    "<> top = reduce(max, j, x[i, j])\n"
                                    "y[i] = sum(j, exp(x[i, j] - top))",
                                    {.default_type = cgen::f32});
  expect_recipe(kernel, fuse_reductions(kernel, {"j"}), "fuse_reductions([j])\n");
}

TEST(FuseReductions, CarriesMeansForVariances) {
  const Kernel variance = rows(
      "<> mean = sum(j, x[i, j])/m\n"
      "y[i] = sum(k, (x[i, k] - mean)**2)/m");
  const Kernel fused = fuse_reductions(variance, {"j"});
  EXPECT_EQ(statements_of(fused),
            "mean_run, y_run_count, y_run_mean, y_run = reduce(online, j, x[i, j], 1.0f, x[i, j], "
            "0.0f)\n"
            "mean = mean_run / m\n"
            "y[i] = (y_run + y_run_count*((y_run_mean - mean_run / m)*(y_run_mean - mean_run / "
            "m))) / m\n");
  EXPECT_EQ(find_rule(fused, "online")->neutral.size(), 4U);
}

TEST(FuseReductions, KeepsTheNumbers) {
  for (const std::string& statements :
       {maximum + "y[i] = top + log(sum(k, exp(x[i, k] - top)))",
        // other orders, factors and signs
        std::string(
            "<> low = reduce(min, j, x[i, j])\ny[i] = sum(k, exp2(0.5*(low - x[i, k]))*w[i, k])"),
        maximum + "y[i] = sum(k, w[i, k]*exp(-(top - x[i, k])/4)/2)/top",
        maximum + "<> total = sum(k, exp(x[i, k] - top))\n"
                  "y[i] = sum(j, exp(x[i, j] - top)/total*w[i, j])",
        maximum + "y[i] = sum(k, if(k > i, exp(x[i, k] - top), 0))",
        // by the mean
        std::string("<> mean = sum(j, x[i, j])/m\ny[i] = sum(k, (x[i, k] - mean)**2)/m"),
        std::string("<> s = sum(j, x[i, j])\n<> mean = s/m\n"
                    "y[i] = sum(k, (x[i, k] - mean)*(w[i, k] - mean/2)*3)"),
        std::string("<> mean = sum(j, x[i, j])/m\ny[i] = sum(k, exp((x[i, k] - mean)/50))"),
        // independent of each other
        std::string("<> s = sum(j, x[i, j])\ny[i] = s/reduce(max, k, w[i, k] + 1)")}) {
    SCOPED_TRACE(statements);
    const Kernel kernel = rows(statements);
    expect_same_results(kernel, fuse_reductions(kernel, {"j"}), {{"n", 3}, {"m", 7}});
    expect_same_results(kernel, fuse_reductions(kernel, {"j"}), {{"n", 2}, {"m", 1}});
  }
}

TEST(FuseReductions, TakesReductionsOverSeveralLoops) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[c, b, p, b2, p2]: 0 <= c < 3 and 0 <= b, b2 < 4 and 0 <= p, p2 < 5}",
                  "<> mean = sum((b, p), x[b, c, p])/20\n"
                  "y[c] = sum((b2, p2), (x[b2, c, p2] - mean)**2)/20",
                  {.arguments = "x: f32[4, 3, 5]; y: f32[3]", .default_type = cgen::f32}),
      "rename_inames([b, b2], b)\nrename_inames([p, p2], p)");
  expect_same_results(kernel, fuse_reductions(kernel, {"b", "p"}), {});
}

TEST(FuseReductions, RefusesWhatIsNoChain) {
  EXPECT_ERROR("loopy.reduction_chain.unknown_iname", fuse_reductions(log_sum_exp(), {"q"}));
  EXPECT_ERROR("loopy.reduction_chain.no_chain", fuse_reductions(log_sum_exp(), {"l"}));
  EXPECT_ERROR(
      "loopy.fuse_reductions.one_reduction",
      fuse_reductions(
          rows("y[i] = sum(j, x[i, j])\nz[i] = sum(l, w[i, l]*sum(k, x[i, k]))", "x, w: f32[n, m]"),
          {"l"}));
}

TEST(FuseReductions, RefusesWhatIsNotAlike) {
  for (const std::string& statements :
       {maximum + "y[i] = if(top > 0, sum(k, exp(x[i, k] - top)), 0)",
        maximum + "y[i] = sum(l, sum(k, exp(x[i, k] - top)))",
        maximum + "y[i] = sum(k, exp(x[i, k] - top))  {if=top > 0}",
        maximum + "<> at = 0\nat, p[i] = argmax(k, x[i, k], k)",
        maximum + "y[i, l] = x[i, l]*sum(k, exp(x[i, k] - top))"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.reduction_chain.not_alike", fuse_reductions(rows(statements), {"j"}));
  }
}

TEST(FuseReductions, RefusesInputsThatChange) {
  EXPECT_ERROR("loopy.reduction_chain.input_changes",
               fuse_reductions(rows(maximum + "w[i, l] = top\n"
                                              "y[i] = sum(k, exp(x[i, k] - top)*w[i, k])"),
                               {"j"}));
}

TEST(FuseReductions, RefusesWhatNoFactorCorrects) {
  for (const std::string& statements :
       {maximum + "y[i] = sum(k, sqrt(x[i, k] - top))", maximum + "y[i] = sum(k, x[i, k] - top)",
        maximum + "y[i] = reduce(max, k, abs(x[i, k] - top))",
        maximum + "y[i] = sum(k, exp(x[i, k]*top))", maximum + "y[i] = sum(k, (x[i, k] - top)**3)",
        maximum + "y[i] = sum(k, if(x[i, k] > top, exp(x[i, k] - top), 0))",
        maximum + "y[i] = sum(k, exp(x[i, k] - w[i, 0]*top))"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.reduction_chain.no_repair", fuse_reductions(rows(statements), {"j"}));
  }
}

TEST(FuseReductions, RefusesReductionsThatMayBeEmpty) {
  EXPECT_ERROR(
      "loopy.reduction_chain.may_be_empty",
      fuse_reductions(rows(maximum + "y[i] = sum(k, exp(x[i, k] - top))", "x: f32[n, m]", false),
                      {"j"}));
}

}  // namespace
}  // namespace rtcg::loopy
