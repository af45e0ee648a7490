// Scans that begin anew at flags.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* domains = "{[i, j]: 0 <= i < n and 0 <= j <= i} {[k]: j < k <= i}";
constexpr const char* arguments = "a, s: i32[n]; flag: i32[n]; n: i32";

Kernel of(const std::string& statements) {
  return make_kernel(domains, statements, {.arguments = arguments, .assumptions = "n >= 1"});
}

CompareOptions with_flags(int count) {
  CompareOptions options;
  for (int i = 0; i < count; ++i) {
    options.values["flag"].push_back(i % 7 == 3 || i % 31 == 11 ? 1 : 0);
  }
  return options;
}

constexpr const char* sum_of_segments = "s[i] = sum(j, a[j] if sum(k, flag[k]) == 0 else 0)";
constexpr const char* on_grid =
    "split_iname(i, 64, outer_tag=g.0)\nsplit_iname(i_inner, 2, outer_tag=l.0, inner_tag=unr)\n";

TEST(SegmentedScans, BeginAnewAtFlags) {
  const Kernel expected = of(sum_of_segments);
  const Kernel scanned = of("s[i] = segmented_scan(flag[j] > 0, sum, j, a[j])");
  const std::vector<std::string> recipes = {
      "", "split_iname(i, 32, inner_tag=l.0)\n", on_grid,
      on_grid + std::string("scan_over_grid(i_outer, how=look_back)")};
  for (const std::string& recipe : recipes) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(scanned, recipe), expected, {{"n", 70}}, with_flags(70));
  }
}

TEST(SegmentedScans, StandWithinExpressions) {
  expect_same_everywhere(
      apply_recipe(of("s[i] = 2*segmented_scan(flag[j], sum, j, a[j]) + a[i]"), on_grid),
      of("s[i] = 2*sum(j, a[j] if sum(k, flag[k]) == 0 else 0) + a[i]"), {{"n", 70}},
      with_flags(70));
}

TEST(SegmentedScans, TakeMaximaAndRules) {
  const std::string in_segment = "a[j] if sum(k, flag[k]) == 0 else ";
  expect_same_everywhere(
      apply_recipe(of("s[i] = segmented_scan(flag[j] > 0, max, j, a[j])"), on_grid),
      of("s[i] = reduce(max, j, " + in_segment + "-1000000)"), {{"n", 70}}, with_flags(70));
  const std::string rule = "both(a, b) := a*b  {neutral=1}\n";
  expect_same_everywhere(
      apply_recipe(of(rule + "s[i] = segmented_scan(flag[j] > 0, both, j, a[j])"), on_grid),
      of("s[i] = product(j, " + in_segment + "1)"), {{"n", 70}}, with_flags(70));
}

TEST(SegmentedScans, AreWrittenAsScansOfPairs) {
  const std::string file =
      to_string(to_kernel_file(of("s[i] = segmented_scan(flag[j] > 0, sum, j, a[j])")));
  EXPECT_EQ(count_of("sum_in_segments", file), 2) << file;
  EXPECT_EQ(count_of("{neutral=0:0}", file), 1) << file;
  EXPECT_ERROR("loopy.parse_statements.syntax", of("s[i] = segmented_scan(sum, j, a[j])"));
  EXPECT_ERROR("loopy.realize_reductions.unknown_operation",
               of("s[i] = segmented_scan(flag[j] > 0, most, j, a[j])"));
}

}  // namespace
}  // namespace rtcg::loopy
