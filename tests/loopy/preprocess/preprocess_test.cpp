#include "rtcg/loopy/preprocess/preprocess.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/run_schedule.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements,
                 std::string_view recipe = "",
                 const KernelOptions& options = {.default_type = cgen::f64}) {
  return apply_recipe(make_kernel(domains, statements, options), recipe);
}

std::string tags_of(const Kernel& kernel) {
  std::string text;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    text += iname + ":" + to_string(tag) + " ";
  }
  return text;
}

TEST(Preprocess, LeavesNoRulesAndNoReductions) {
  const Kernel kernel = preprocess(kernel_of("{[i, k]: 0 <= i, k < n}",
                                             "f(x) := 2*x\n"
                                             "b[i] = sum(k, f(a[i, k])) + f(b[i])"));
  EXPECT_TRUE(kernel.rules.empty());
  for (const Instruction& each : kernel.instructions) {
    EXPECT_TRUE(reduction_inames(each).empty()) << to_string(each);
  }
  for (const Temporary& each : kernel.temporaries) {
    EXPECT_TRUE(each.type.has_value()) << each.name;
    EXPECT_NE(each.address_space, AddressSpace::automatic) << each.name;
  }
}

TEST(Preprocess, KeepsTheRecipeAsTheUserWroteIt) {
  const Kernel kernel = kernel_of(
      "{[i, j]: 0 <= i, j < 32}", "f(x) := 2*x\n<> t[j] = f(a[i, j])\nb[i, j] = t[31 - j]",
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\ntag_inames(j:l.auto)");
  EXPECT_EQ(preprocess(kernel).recipe, kernel.recipe);
}

TEST(Preprocess, KeepsTheNumbers) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i < n and 0 <= k <= i}",
                                  "f(x) := 3*x + 1\n"
                                  "far(u, v) := if(u*u < v*v, v, u) {neutral=0}\n"
                                  "b[i] = sum(k, f(a[i, k])) - reduce(max, k, a[k, i])"
                                  " + reduce(far, k, a[k, k] - a[i, k])",
                                  "", {.arguments = "a: f64[n, n]; b: f64[n]"});
  const ScheduleRun run = run_schedule(kernel, {{"n", 6}});
  EXPECT_EQ(run.problem(), "");
  expect_equal(as_results(run.results()), results_of(kernel, {{"n", 6}}), kernel);
}

TEST(Preprocess, RefusesMinimaOfWhatHasNoOrder) {
  for (const char* statement :
       {"b[i] = reduce(max, k, z[i, k])", "b[i] = reduce(minimum, k, z[i, k])",
        "b[i], c[i] = argmin(k, z[i, k], k)"}) {
    EXPECT_ERROR("loopy.reduction_operation.no_order",
                 preprocess(kernel_of("{[i, k]: 0 <= i, k < 8}", statement, "",
                                      {.arguments = "z: c64[8, 8]; b: c64[8]; c: i32[8]"})));
  }
}

TEST(Preprocess, DropsAxesThatNoStatementLiesOn) {
  Kernel kernel =
      kernel_of("{[i]: 0 <= i < 8} {[j]: 0 <= j < 8}", "b[i] = a[i]", "tag_inames(i:l.0)");
  kernel.iname_tags["j"] = {AxisKind::grid, 0};
  EXPECT_EQ(tags_of(preprocess(kernel)), "i:l.0 ");
}

}  // namespace
}  // namespace rtcg::loopy
