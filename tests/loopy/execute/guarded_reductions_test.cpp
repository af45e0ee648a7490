// Reductions and scans in the branches of values: what they read is read where the branch is taken.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/check_bounds.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel guarded_kernel(const std::string& domain, const std::string& statements,
                      std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  return make_kernel(domain, statements, options);
}

const char* const both_domains = "{[i, j]: 0 <= i < n and 0 <= j < 2*n}";
const char* const both_arguments = "a: f64[2*n]; y: f64[2*n]; n: i32";

/// The same with the condition around the statement.
Kernel in_statements(const std::string& taken) {
  return guarded_kernel(both_domains,
                        "y[j] = 0 {if=j < n, id=low}\ny[j] = " + taken + " {if=j >= n, id=high}",
                        both_arguments);
}

// the devices that check bounds (CUDA text on the CPU) see a read outside
TEST(Defect02, ReductionsRunWhereTheirBranchIsTaken) {
  const Kernel expected = in_statements("sum(i, a[i + j - n])");
  for (const char* statement : {"y[j] = 0 if j < n else sum(i, a[i + j - n])",
                                "y[j] = sum(i, a[i + j - n]) if j >= n else 0",
                                "y[j] = if(j < n, 0, if(j < 2*n, sum(i, a[i + j - n]), 7))",
                                "y[j] = 0 if j < n and j < 2*n else 1*sum(i, a[i + j - n])"}) {
    SCOPED_TRACE(statement);
    const Kernel kernel = guarded_kernel(both_domains, statement, both_arguments);
    check_bounds(infer_types(kernel));
    expect_same_everywhere(kernel, expected, {{"n", 9}});
    expect_same_everywhere(apply_recipe(kernel, "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)"),
                           expected, {{"n", 9}});
    expect_same_everywhere(apply_recipe(kernel,
                                        "split_iname(j, 4, inner_tag=ilp)\n"
                                        "split_iname(i, 4)"),
                           expected, {{"n", 9}});
  }
}

// a branch in each step of the sum cost more than the sum of the few points without it
TEST(GuardedReductions, NeedNoBranchWhereNearlyAllPointsMeetTheCondition) {
  const Kernel pairs =
      guarded_kernel("{[i, j, d]: 0 <= i, j < n and 0 <= d < 3}",
                     "y[j] = sum(i, sum(d, (x[i, d] - x[j, d])**2) if i != j else 5)",
                     "x: f64[n, 3]; y: f64[n]; n: i32");
  EXPECT_EQ(generate_text(infer_types(pairs), Target::cuda).find("if ("), std::string::npos);
  expect_same_everywhere(
      apply_recipe(pairs, "split_iname(j, 4, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(i, 4)"),
      pairs, {{"n", 9}});
  // at the point that is left out the sum would read outside, or what another element says
  for (const char* statement : {"y[j] = sum(i, a[i + j]) if j != n - 1 else 0",
                                "y[j] = sum(i, a[at[j]]) if j != n - 1 else 0"}) {
    SCOPED_TRACE(statement);
    const Kernel kernel = guarded_kernel("{[i, j]: 0 <= i, j < n}", statement,
                                         "a: f64[2*n - 2]; at: i32[n]; y: f64[n]; n: i32");
    EXPECT_NE(generate_text(infer_types(kernel), Target::cuda).find("if ("), std::string::npos);
    expect_same_everywhere(kernel, kernel, {{"n", 9}});
  }
}

TEST(Defect02, ThreadsReduceInABranchTogether) {
  const std::string domains = "{[i, j]: 0 <= i < 64 and 0 <= j < 2*n}";
  const char* arguments = "a: f64[n + 63]; y: f64[2*n]; n: i32";
  const Kernel kernel =
      guarded_kernel(domains, "y[j] = 0 if j < n else sum(i, a[i + j - n])", arguments);
  const Kernel expected = guarded_kernel(
      domains, "y[j] = 0 {if=j < n, id=low}\ny[j] = sum(i, a[i + j - n]) {if=j >= n, id=high}",
      arguments);
  for (const char* recipe :
       {"tag_inames(i:l.0)", "tag_inames(i:l.0, j:g.0)",
        "tag_inames(i:l.0)\nsplit_iname(j, 4, outer_tag=g.0, inner_tag=l.1)",
        "split_iname(i, 32, inner_tag=l.0)\nsplit_iname(j, 4, outer_tag=g.0, inner_tag=l.1)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), expected, {{"n", 6}});
  }
}

TEST(Defect02, NestedReductionsAndTuplesAreGuarded) {
  const std::string domains = "{[i, j, k]: 0 <= i, k < n and 0 <= j < 2*n}";
  const char* arguments = "a: f64[n, n]; y: f64[2*n]; p: i32[2*n]; n: i32";
  const Kernel nested = guarded_kernel(
      domains,
      "y[j] = 0 if j < n else sum(i, 2 if i < j - n else sum(k, a[j - n, k]*a[i - j + n, k]))",
      arguments);
  const Kernel expected = guarded_kernel(domains,
                                         "y[j] = 0 {id=low}\n"
                                         "y[j] = y[j] + 2 {if=j >= n and i < j - n, id=two, "
                                         "dep=low}\n"
                                         "y[j] = y[j] + a[j - n, k]*a[i - j + n, k] {if=j >= n and "
                                         "i >= j - n, id=rest, dep=two}",
                                         arguments);
  expect_same_everywhere(nested, expected, {{"n", 7}});
  const char* rules = "far(u, v) := if(u*u < v*v, v, u) {neutral=0}\n";
  const Kernel user = guarded_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < 2*n}",
      std::string(rules) + "y[j] = 0 if j < n else reduce(far, i, a[i, j - n])", arguments);
  const Kernel plain = guarded_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < 2*n}",
      std::string(rules) + "y[j] = 0 {if=j < n}\ny[j] = reduce(far, i, a[i, j - n]) {if=j >= n}",
      arguments);
  expect_same_everywhere(user, plain, {{"n", 7}});
}

TEST(Defect02, ConditionsThatReduceComeFirst) {
  const std::string domains = "{[i, j]: 0 <= i < n and 0 <= j < n}";
  const char* arguments = "a: f64[n, n]; y: f64[n]; b, c: i32[n]; n: i32";
  const Kernel kernel = guarded_kernel(
      domains,
      "y[j] = sum(i, a[j, i]) if sum(i, a[i, j]) > 0 and j > 0 and a[j - 1, 0] < 0.5 else "
      "sum(i, a[j, i]*a[j, i]) - sum(i, a[j, i])",
      arguments);
  const Kernel expected =
      guarded_kernel(domains,
                     "<f64> s = sum(i, a[i, j]) {inames=j}\n"
                     "<f64> t = sum(i, a[j, i]) {inames=j}\n"
                     "<f64> v = sum(i, a[j, i]*a[j, i]) {inames=j}\n"
                     "<i32> c0 = 0 {id=z, inames=j}\n"
                     "c0 = 1 {id=o, if=s > 0 and j > 0 and a[j - 1, 0] < 0.5, dep=z}\n"
                     "y[j] = t {if=c0 == 1}\ny[j] = v - t {if=c0 == 0}",
                     arguments);
  expect_same_everywhere(kernel, expected, {{"n", 9}});
}

TEST(Defect02, ScansInBranchesAreJudgedAsIfAlwaysComputed) {
  const Kernel outside = guarded_kernel("{[i, j]: 0 <= j < 2*n and 0 <= i <= j}",
                                        "y[j] = 0 if j < n else scan(sum, i, a[i - n])",
                                        "a: f64[n]; y: f64[2*n]; n: i32");
  EXPECT_ERROR("loopy.check_bounds.out_of_bounds", check_bounds(infer_types(outside)));
  const Kernel inside =
      guarded_kernel("{[i, j]: 0 <= j < n and 0 <= i <= j}",
                     "y[j] = 0 if j % 3 == 1 else scan(sum, i, a[i])", "a, y: f64[n]; n: i32");
  const Kernel expected =
      guarded_kernel("{[i, j]: 0 <= j < n and 0 <= i <= j}",
                     "y[j] = 0 if j % 3 == 1 else reduce(sum, i, a[i])", "a, y: f64[n]; n: i32");
  expect_same_everywhere(inside, expected, {{"n", 12}});
}

TEST(Defect02, BlocksReadWhatTheBranchReads) {
  const char* domain = "{[i, j]: 0 <= i < n and 0 <= j < 3}";
  const char* arguments = "a: f64[n]; y, z: f64[3]; n: i32";
  const Kernel kernel = guarded_kernel(domain,
                                       "y[j] = 0 if j > 0 else 1 + sum(i, a[i + j*n])\n"
                                       "z[j] = 1 if j == 0 and any(i, a[i + j*n] > 0.5) else 0",
                                       arguments);
  const Kernel expected =
      guarded_kernel(domain,
                     "y[j] = 0 {if=j > 0}\ny[j] = 1 + sum(i, a[i]) {if=j == 0}\n"
                     "z[j] = 0 {if=j > 0}\n"
                     "z[j] = 1 if any(i, a[i] > 0.5) else 0 {if=j == 0}",
                     arguments);
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)"),
                         expected, {{"n", 70}});
  const Kernel twice =
      guarded_kernel(domain, "y[j] = sum(i, a[i]) if sum(i, a[i]*a[i]) > 1 else 0", arguments);
  EXPECT_ERROR("loopy.reduce_over_grid.nested",
               reduce_over_grid(apply_recipe(twice, "tag_inames(i:g.0)"), "i"));
}

TEST(Defect02, SelectedIndicesAndFetchedTilesAreGuarded) {
  const Kernel select = guarded_kernel("{[i, j]: 0 <= i < n and 0 <= j < 2*n}",
                                       "y[j] = a[0 if j < n else sum(i, k[i + j - n])]",
                                       "a, y: f64[2*n]; k: i32[2*n]; n: i32");
  CompareOptions options;
  options.values["k"] = std::vector<double>(12, 1);
  const Kernel expected = guarded_kernel("{[i, j]: 0 <= i < n and 0 <= j < 2*n}",
                                         "y[j] = a[0] {if=j < n}\ny[j] = a[n] {if=j >= n}",
                                         "a, y: f64[2*n]; k: i32[2*n]; n: i32");
  expect_same_everywhere(select, expected, {{"n", 6}}, options);
  const Kernel kernel =
      guarded_kernel(both_domains, "y[j] = 0 if j < n else sum(i, a[i + j - n])", both_arguments);
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)\n"
                                      "split_iname(i, 4)\n"
                                      "add_prefetch(a, [j_inner, i_inner], default_tag=l.auto)"),
                         in_statements("sum(i, a[i + j - n])"), {{"n", 9}});
}

/// Scores of a triangle or a band, in tiles of 8 by 16 whose items are lanes.
const char* const score_arguments = "q, k: f32[n, 12]; s: f32[n, n]; n: i32";
const char* const score_tiles =
    "split_iname(j, 8, outer_tag=g.0)\nsplit_iname(j_inner, 2, outer_tag=l.0, inner_tag=ilp)\n"
    "split_iname(i, 16, outer_tag=g.1)\nsplit_iname(i_inner, 4, outer_tag=l.1, inner_tag=ilp)\n"
    "split_iname(e, 4)\n";
const char* const score_fills =
    "add_prefetch(q, i_inner_outer:i_inner_inner:e_inner)\n"
    "add_prefetch(k, j_inner_outer:j_inner_inner:e_inner)\n";

Kernel score_kernel(const std::string& statement, const std::string& n = "n") {
  std::string arguments = score_arguments;
  if (n != "n") {
    arguments = "q, k: f32[" + n + ", 12]; s: f32[" + n + ", " + n + "]";
  }
  return guarded_kernel("{[i, j, e]: 0 <= i, j < " + n + " and 0 <= e < 12}", statement, arguments);
}

// each item asked before, in each step, and whole tiles had a loop of their own
TEST(GuardedReductions, AskOnceForATileThatTheConditionCrosses) {
  const Kernel causal = score_kernel("s[i, j] = if(j <= i, sum(e, q[i, e]*k[j, e]), -1)", "64");
  const std::string text = generate_text(
      infer_types(apply_recipe(causal, std::string(score_tiles) + score_fills)), Target::cuda);
  EXPECT_EQ(count_of("for (int e_inner = 0", text), 1) << text;
  // the sum and its beginning
  EXPECT_EQ(count_of("if (j_outer <= 2 * i_outer + 1)", text), 2) << text;
  // few points of a band: each asks
  const Kernel band =
      score_kernel("s[i, j] = if(j <= i and j >= i - 1, sum(e, q[i, e]*k[j, e]), -1)", "64");
  EXPECT_EQ(count_of("15 >= 0",
                     generate_text(infer_types(apply_recipe(band, score_tiles)), Target::cuda)),
            0);
}

TEST(GuardedReductions, GiveTheSameWhereTilesAskForTheirItems) {
  for (const char* statement :
       {"s[i, j] = if(j <= i, sum(e, q[i, e]*k[j, e]), -1)",
        "s[i, j] = 0.5*sum(e, q[i, e]*k[j, e]) + 1 if j < i else 7",
        "s[i, j] = if(j > i, 3, sum(e, q[i, e]*k[j, e]))",
        "s[i, j] = if(i + j >= n - 3, reduce(max, e, q[i, e]*k[j, e]), -1)",
        "s[i, j] = if(j <= i and j >= i - 20, sum(e, q[i, e] + k[j, e]), -1)",
        "s[i, j] = if(2*j < 3*i + 5, sum(e, q[i, e]), sum(e, k[j, e]))",
        "s[i, j] = if(j <= i, if(i + j < n, sum(e, q[i, e]*k[j, e]), 2), -1)",
        "s[i, j] = if(j < 5, sum(e, q[j, e]), -1)"}) {
    SCOPED_TRACE(statement);
    const Kernel kernel = score_kernel(statement);
    expect_same_everywhere(apply_recipe(kernel, score_tiles), kernel, {{"n", 37}});
    const Kernel fixed = fix_parameters(kernel, {{"n", 37}});
    const bool has_fills = std::string(statement).find("q[i, e]*k[j, e]") != std::string::npos;
    expect_same_everywhere(
        apply_recipe(fixed, has_fills ? std::string(score_tiles) + score_fills : score_tiles),
        fixed, {});
  }
  const Kernel one = score_kernel("s[i, j] = if(j <= i, sum(e, q[i, e]*k[j, e]), -1)");
  expect_same_everywhere(apply_recipe(one, std::string(score_tiles) + score_fills), one,
                         {{"n", 1}});
}

// the domain of the items has the iname of the sum, too
TEST(GuardedReductions, KnowSumsWhoseBoundsDependOnItems) {
  const Kernel triangle = guarded_kernel("{[i, j, e]: 0 <= i, j < n and 0 <= e <= j}",
                                         "s[i, j] = if(j < i, sum(e, q[i, e]*k[j, e]), 1)",
                                         "q, k: f32[n, n]; s: f32[n, n]; n: i32");
  const Kernel outer_sum =
      guarded_kernel("{[i, j, e]: 0 <= i, j < n and j <= e <= i + j and e < n}",
                     "s[i] = sum(j, if(2*j < i + 9, sum(e, q[i, e]*k[j, e]), 1))",
                     "q, k: f32[n, n]; s: f32[n]; n: i32");
  for (const char* recipe : {"split_iname(i, 3, outer_tag=g.0, inner_tag=ilp)",
                             "split_iname(j, 3, inner_tag=unr)\n"
                             "split_iname(i, 3, outer_tag=g.0, inner_tag=ilp)",
                             "split_iname(i, 8, outer_tag=g.0)\n"
                             "split_iname(i_inner, 2, outer_tag=l.0, inner_tag=ilp)"}) {
    SCOPED_TRACE(recipe);
    for (const int n : {1, 13}) {
      expect_same_everywhere(apply_recipe(triangle, recipe), triangle, {{"n", n}});
      expect_same_everywhere(apply_recipe(outer_sum, recipe), outer_sum, {{"n", n}});
    }
  }
}

// items of a row, and a sum over the threads of a block
TEST(GuardedReductions, SumOverThreadsWhereTilesAskForTheirItems) {
  const Kernel kernel = score_kernel("s[i, j] = if(j <= i, sum(e, q[i, e]*k[j, e]), -1)");
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(j, 4, outer_tag=g.0, inner_tag=ilp)\n"
                                      "split_iname(i, 2, outer_tag=g.1, inner_tag=ilp)\n"
                                      "split_iname(e, 4, inner_tag=l.0)"),
                         kernel, {{"n", 9}});
}

}  // namespace
}  // namespace rtcg::loopy
