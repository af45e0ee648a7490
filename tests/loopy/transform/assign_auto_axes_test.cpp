#include "rtcg/loopy/transform/assign_auto_axes.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/run_schedule.h"
#include "tests/loopy/support/same_results.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_on_axes(std::string_view domains, std::string_view statements,
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

TEST(AssignAutoAxes, PutsTheContiguousAxisOnThreadsSideBySide) {
  // b's rows are contiguous along j, those of its transpose along i
  const char* domains = "{[x, y]: 0 <= x, y < 8} {[i, j]: 0 <= i, j < 8}";
  const char* axes = "tag_inames(x:l.0, y:l.1, i:l.auto, j:l.auto)";
  EXPECT_EQ(
      tags_of(assign_auto_axes(kernel_on_axes(domains, "a[x, y] = 1.0\nc[i, j] = b[i, j]", axes))),
      "i:l.1 j:l.0 x:l.0 y:l.1 ");
  EXPECT_EQ(tags_of(assign_auto_axes(
                kernel_on_axes(domains, "a[x, y] = 1.0\n<> t[i, j] = b[j, i]", axes))),
            "i:l.0 j:l.1 x:l.0 y:l.1 ");
}

// What a launch before leaves in memory has rows, too.
TEST(AssignAutoAxes, PutsTheContiguousAxisOfStoredValuesOnThreadsSideBySide) {
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_on_axes(
                "{[p, q, x, y, i, j]: 0 <= p, q, x, y, i, j < 8}",
                "<> s[p, q] = b[p, q]\n... gbarrier\na[x, y] = 1.0\n<> t[i, j] = s[i, j]",
                "set_temporary_address_space([s], global)\n"
                "tag_inames(x:l.0, y:l.1, i:l.auto, j:l.auto)"))),
            "i:l.1 j:l.0 x:l.0 y:l.1 ");
}

TEST(AssignAutoAxes, SplitsWhatIsLongerThanItsAxis) {
  const Kernel kernel = kernel_on_axes(
      "{[x]: 0 <= x < 8} {[i]: 0 <= i < 20}", "<> t[i] = b[i] {id=fetch}\na[x] = t[x + 12]",
      "tag_inames(x:l.0, i:l.auto)", {.arguments = "b: f64[20]; a: f64[8]"});
  EXPECT_EQ(tags_of(assign_auto_axes(kernel)), "i_inner:l.0 x:l.0 ");
  const ScheduleRun run = run_schedule(kernel, {});
  EXPECT_EQ(run.problem(), "");
  EXPECT_EQ(run.barriers_passed(), 1);
  expect_equal(as_results(run.results()), results_of(kernel, {}), kernel);
}

TEST(AssignAutoAxes, MakesLoopsOfWhatFindsNoAxis) {
  const char* domains = "{[x]: 0 <= x < 8} {[i, j]: 0 <= i, j < 8}";
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_on_axes(domains, "a[x] = 1.0\nc[i, j] = b[i, j]",
                                                    "tag_inames(x:l.0, i:l.auto, j:l.auto)"))),
            "j:l.0 x:l.0 ");
  EXPECT_EQ(tags_of(assign_auto_axes(
                kernel_on_axes(domains, "c[i, j] = b[i, j]", "tag_inames(i:l.auto, j:l.auto)"))),
            "");
}

TEST(AssignAutoAxes, LeavesAxesAloneThatTheStatementUses) {
  EXPECT_EQ(tags_of(assign_auto_axes(kernel_on_axes("{[x, y, i]: 0 <= x, y, i < 8}",
                                                    "c[x, i] = b[x, i]\nd[x, y] = 1.0",
                                                    "tag_inames(x:l.0, y:l.1, i:l.auto)"))),
            "i:l.1 x:l.0 y:l.1 ");
}

TEST(AssignAutoAxes, CopiesFlatWhereRowsLeaveThreadsWithoutWork) {
  // 36 elements for 64 threads: planes of 9 side by side would take four rounds
  const Kernel kernel = kernel_on_axes(
      "{[x, y]: 0 <= x < 16 and 0 <= y < 4} {[f, p, q]: 0 <= f < 4 and 0 <= p, q < 3}",
      "out[x, y] = sum((f, p, q), w[f, p, q])*x",
      "tag_inames(x:l.0, y:l.1)\nadd_prefetch(w, [f, p, q])");
  const std::string text = generate_text(kernel, Target::cuda, {.recipe_comment = false});
  EXPECT_EQ(
      text.substr(0, text.find("  double acc")),
      R"(extern "C" __global__ void __launch_bounds__(64) loopy_kernel(const double *__restrict__ w,
    double *__restrict__ out) {
  const int x = (int)threadIdx.x;
  const int y = (int)threadIdx.y;
  __shared__ __align__(16) double w_fetch[4][3][3];
  if (16 * y + x < 36) {
    w_fetch[(16 * y + x) / 9][(16 * y + x) / 3 % 3][(16 * y + x) % 3] = w[16 * y + x];
  }
)");
  expect_equal(as_results(run_schedule(kernel, {}).results()), results_of(kernel, {}), kernel);
}

TEST(AssignAutoAxes, CopiesFlatInRounds) {
  // 90 elements for 64 threads in two rounds, where 15 rows would take four
  const Kernel kernel = kernel_on_axes(
      "{[x, y]: 0 <= x < 16 and 0 <= y < 4} {[p, q]: 0 <= p < 9 and 0 <= q < 10}",
      "out[x, y] = sum((p, q), w[p, q])*x", "tag_inames(x:l.0, y:l.1)\nadd_prefetch(w, [p, q])");
  const std::string text = generate_text(kernel, Target::cuda, {.recipe_comment = false});
  EXPECT_NE(
      text.find(R"(  for (int w_fetch_1_round_1 = 0; w_fetch_1_round_1 < 2; ++w_fetch_1_round_1) {
    if (64 * w_fetch_1_round_1 + 16 * y + x < 90) {
)"),
      std::string::npos)
      << text;
  expect_equal(as_results(run_schedule(kernel, {}).results()), results_of(kernel, {}), kernel);
}

}  // namespace
}  // namespace rtcg::loopy
