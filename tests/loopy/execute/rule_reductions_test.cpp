// Reductions and scans whose operation is a rule, on every axis and target.
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/why_not.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* longest = "longest(u, v) := if(abs(u) < abs(v), v, u)  {neutral=0}\n";
/// Number, mean and sum of squared deviations of two samples together.
/// @source Chan, Golub and LeVeque 1983, Algorithms for computing the sample variance
constexpr const char* merged =
    "merged(n1, m1, s1, n2, m2, s2) := make_tuple(n1 + n2, m1 + (m2 - m1)*n2/max(n1 + n2, 1), "
    "s1 + s2 + (m2 - m1)**2*n1*n2/max(n1 + n2, 1))  {neutral=0:0:0}\n";
/// First the map x -> a x + b, then x -> c x + d: the order counts.
constexpr const char* after = "after(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n";
/// As complex numbers: each new value asks for both old ones.
constexpr const char* turned =
    "turned(a, b, c, d) := make_tuple(a*c - b*d, a*d + b*c)  {neutral=1:0}\n";

Kernel longest_of_rows(const std::string& length, const std::string& type = "f32") {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < " + length + "}",
                     std::string(longest) + "z[i] = reduce(longest, j, a[i, j])",
                     {.arguments = "z: " + type + "[n]; a: " + type + "[n, " + length + "]"});
}

Kernel moments_of_rows(int length) {
  const std::string n = std::to_string(length);
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < " + n + "}",
                     std::string(merged) +
                         "c[i], m[i], s[i] = reduce(merged, j, cast(f64, 1), a[i, j], 0*a[i, j])",
                     {.arguments = "c, m, s: f64[n]; a: f64[n, " + n + "]"});
}

TEST(RuleReductions, GiveWhatTheRuleSays) {
  const Kernel kernel = moments_of_rows(8);
  ArgumentData data = random_arguments(infer_types(kernel), {{"n", 1}}, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    data.at("a").set_element(i, static_cast<double>(i * i));
  }
  const ArgumentData found = run_kernel(kernel, {{"n", 1}}, data, runtime::Device::host());
  EXPECT_DOUBLE_EQ(found.at("c").element(0), 8);
  EXPECT_DOUBLE_EQ(found.at("m").element(0), 17.5);
  EXPECT_NEAR(found.at("s").element(0), 2226, 1e-9);  // sum of squares 4676 - 8 * 17.5^2
}

TEST(RuleReductions, AlongLoopsAndLanes) {
  for (const std::string type : {"f32", "i64"}) {
    const Kernel kernel = longest_of_rows("m", type);
    for (const std::string recipe :
         {"split_iname(j, 4, inner_tag=unr)", "split_iname(j, 4)\nsplit_reduction_inward(j_inner)",
          "split_iname(i, 4, outer_tag=g.0, inner_tag=ilp)",
          "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(j, 3, inner_tag=unr)"}) {
      SCOPED_TRACE(type + "\n" + recipe);
      expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 11}, {"m", 13}});
    }
  }
}

TEST(RuleReductions, OverThreadsShuffleOrBuildTrees) {
  const std::string tags = "tag_inames(i:g.0, j:l.0)";
  const std::string text = generate_text(apply_recipe(longest_of_rows("96"), tags), Target::cuda);
  EXPECT_EQ(count_of("__shfl_xor_sync", text), 5 + 2) << text;
  EXPECT_EQ(count_of("__syncthreads", text), 1);
  for (const std::string length : {"1", "50", "96"}) {
    SCOPED_TRACE(length);
    const Kernel kernel = longest_of_rows(length);
    expect_same_everywhere(apply_recipe(kernel, tags), kernel, {{"n", 3}});
  }
  for (const int length : {50, 96}) {
    SCOPED_TRACE(length);
    expect_same_everywhere(apply_recipe(moments_of_rows(length), tags), moments_of_rows(length),
                           {{"n", 3}});
  }
}

TEST(RuleReductions, OverTwoAxesOfTheBlockAndLoopsAroundThem) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j, k < 16}",
                  std::string(longest) + "z[i] = 2*reduce(longest, (j, k), a[i, j, k])",
                  {.arguments = "z: f64[n]; a: f64[n, 16, 16]"});
  for (const std::string recipe :
       {"tag_inames(i:g.0, j:l.1, k:l.0)", "split_iname(j, 4, inner_tag=l.0)",
        "tag_inames(k:l.0)\nsplit_iname(i, 2, outer_tag=g.0, inner_tag=ilp)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 5}});
  }
}

TEST(RuleReductions, OverTheGridInTwoStages) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", std::string(longest) + "z[0] = reduce(longest, i, 3*a[i])",
                  {.arguments = "z: f64[1]; a: f64[n]", .assumptions = "n >= 1"});
  const Kernel sliced = apply_recipe(kernel, "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)");
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 2U);
  const Kernel moments = make_kernel(
      "{[i]: 0 <= i < n}",
      std::string(merged) + "c[0], m[0], s[0] = reduce(merged, i, cast(f64, 1), a[i], 0*a[i])",
      {.arguments = "c, m, s: f64[1]; a: f64[n]", .assumptions = "n >= 1"});
  const Kernel sliced_moments = apply_recipe(
      moments, "split_iname(i, 40, outer_tag=g.0)\nsplit_iname(i_inner, 8, inner_tag=l.0)");
  for (const int n : {1, 64, 1000}) {
    SCOPED_TRACE(n);
    expect_same_everywhere(sliced, kernel, {{"n", n}});
    expect_same_everywhere(sliced_moments, moments, {{"n", n}});
  }
}

TEST(RuleReductions, OverTheGridHaveNoAtomicFunction) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", std::string(longest) + "z[0] = reduce(longest, i, a[i])",
                  {.arguments = "z: i32[1]; a: i32[n]"});
  const Kernel sliced = apply_recipe(kernel, "split_iname(i, 64, outer_tag=g.0)");
  ReduceOverGridOptions atomic;
  atomic.how = GridReduction::atomic;
  EXPECT_ERROR("loopy.reduce_over_grid.no_atomic", reduce_over_grid(sliced, "i_outer", atomic));
  const auto reason = why_not([&] { return reduce_over_grid(sliced, "i_outer", atomic); });
  ASSERT_TRUE(reason.has_value());
  EXPECT_NE(reason->find("use two_stage"), std::string::npos) << *reason;
}

TEST(RuleReductions, OfAnotherRuleAreAnotherKernel) {
  const auto key_with = [](const std::string& rule) {
    return kernel_key(make_kernel("{[i]: 0 <= i < n}", rule + "\nz[0] = reduce(op, i, a[i])",
                                  {.arguments = "z: f32[1]; a: f32[n]"}));
  };
  const std::string key = key_with("op(u, v) := u + v {neutral=0}");
  EXPECT_EQ(key_with("op(u, v) := u + v {neutral=0}"), key);
  EXPECT_NE(key_with("op(u, v) := u - v {neutral=0}"), key);
  EXPECT_NE(key_with("op(u, v) := u + v {neutral=1}"), key);
}

TEST(RuleScans, KeepTheOrderInLoopsAndThreads) {
  const auto kernel_of = [](const std::string& length, const std::string& how) {
    return make_kernel("{[i]: 0 <= i < " + length + "} {[j]: 0 <= j <= i}",
                       std::string(after) + "u[i], v[i] = " + how + "(after, j, a[j], b[j])",
                       {.arguments = "u, v, a, b: f64[" + length + "]", .assumptions = "n >= 1"});
  };
  for (const int n : {1, 17}) {
    SCOPED_TRACE(n);
    const Kernel reduced = kernel_of("n", "reduce");
    const Kernel scanned = kernel_of("n", "scan");
    expect_same_everywhere(scanned, reduced, {{"n", n}});
    expect_same_everywhere(apply_recipe(scanned, "split_iname(i, 4)"), reduced, {{"n", n}});
    expect_same_everywhere(apply_recipe(scanned, "split_iname(i, 16, inner_tag=l.0)"), reduced,
                           {{"n", n}});
    const std::string length = std::to_string(n);
    expect_same_everywhere(apply_recipe(kernel_of(length, "scan"), "tag_inames(i:l.0)"),
                           kernel_of(length, "reduce"), {{"n", n}});
  }
}

TEST(RuleScans, OfTuplesThatAskForAllOldValues) {
  const auto kernel_of = [](const std::string& how) {
    return make_kernel("{[i]: 0 <= i < 40} {[j]: 0 <= j <= i}",
                       std::string(turned) + "u[i], v[i] = " + how + "(turned, j, a[j], b[j])",
                       {.arguments = "u, v, a, b: f64[40]"});
  };
  CompareOptions compare;
  for (int i = 0; i < 40; ++i) {  // of length 1: products stay so
    compare.values["a"].push_back(std::cos(i * i));
    compare.values["b"].push_back(std::sin(i * i));
  }
  for (const std::string recipe : {"", "tag_inames(i:l.0)", "split_iname(i, 8, inner_tag=l.0)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel_of("scan"), recipe), kernel_of("reduce"), {},
                           compare);
  }
  const Kernel total = make_kernel(
      "{[j]: 0 <= j < 64}", std::string(turned) + "u[0], v[0] = reduce(turned, j, a[j], b[j])",
      {.arguments = "u, v: f64[1]; a, b: f64[64]"});
  for (const std::string recipe :
       {"tag_inames(j:l.0)", "split_iname(j, 20, inner_tag=l.0)", "tag_inames(j:unr)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(total, recipe), total, {}, compare);
  }
}

}  // namespace
}  // namespace rtcg::loopy
