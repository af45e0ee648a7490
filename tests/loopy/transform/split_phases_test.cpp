#include "rtcg/loopy/transform/split_phases.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel described(const char* statements, const char* arguments = "") {
  return make_kernel("{[i]: 0 <= i < n}", statements,
                     {.arguments = arguments, .default_type = cgen::f32});
}
std::string split_by(std::int64_t count, const char* statements) {
  return statements_of(split_phases(described(statements), "i", count));
}

TEST(SplitPhases, TakesStepsOutOfQuotientsAndRemainders) {
  const Kernel kernel = described("out[i] = a[(i + 1)//2] + b[i % 2, (3 - i) % 2]",
                                  "a: f32[n + 1]; b: f32[2, 2]; out: f32[n]");
  const Kernel split = split_phases(kernel, "i", 2);
  EXPECT_EQ(statements_of(split),
            "out[2*i_step + i_phase] = a[i_phase + i_step] + b[i_phase, -i_phase + 1]\n");
  expect_recipe(kernel, split, "split_phases(i, 2)\n");
  for (const std::int64_t n : {1, 2, 5}) {
    expect_same_results(kernel, split, {{"n", n}});
  }
}

TEST(SplitPhases, KeepsQuotientsThatPhasesDoNotDetermine) {
  // 0, 1, 1 is no form of the phase
  EXPECT_EQ(split_by(3, "out[i] = a[(i + 2)//3, i // 3, i % 3]"),
            "out[3*i_step + i_phase] = a[(i_phase + 2) // 3 + i_step, i_step, i_phase]\n");
  EXPECT_EQ(split_by(2, "out[i] = a[i // 4, i % 4]"),
            "out[2*i_step + i_phase] = a[(2*i_step + i_phase) // 4, (2*i_step + i_phase) % 4]\n");
  EXPECT_EQ(split_by(4, "out[i] = a[i // 2, i % 2]"),
            "out[4*i_step + i_phase] = a[i_phase // 2 + 2*i_step, i_phase % 2]\n");
}

TEST(SplitPhases, ChangesConditionsAndValues) {
  const Kernel kernel = described("out[i] = if(i % 2 == 1, a[i // 2], 0.5*(i % 2) + i // 2)",
                                  "a: f32[n]; out: f32[n]");
  const Kernel split = split_phases(kernel, "i", 2);
  EXPECT_EQ(statements_of(split),
            "out[2*i_step + i_phase] = if(i_phase == 1, a[i_step], 0.5*i_phase + i_step)\n");
  expect_same_results(kernel, split, {{"n", 7}});
}

TEST(SplitPhases, KeepsTheResultFromTheFarEndAndBelowZero) {
  const Kernel kernel = make_kernel(
      "{[i, k]: -5 <= i < 6 and 0 <= k < 9}",
      "out[i + 5] = sum(k, a[(7 - i)//3, (k - i + 12)//2]*b[(2*i + k + 10) % 3])",
      {.arguments = "a: f32[5, 14]; b: f32[3]; out: f32[11]", .default_type = cgen::f32});
  for (const std::int64_t count : {1, 2, 3, 4, 6}) {
    expect_same_results(kernel, split_phases(kernel, "i", count), {});
    expect_same_results(kernel, split_phases(kernel, "k", count), {});
    expect_same_results(kernel, split_phases(split_phases(kernel, "k", 3), "i", count), {});
  }
}

TEST(SplitPhases, LeavesRulesAndComputedPlacesAlone) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 8}", "f(i) := a[i // 2]\nout[i] = f(i) + a[p[i] // 2]",
                  {.arguments = "a: f32[8]; p: i32[8]; out: f32[8]"});
  const Kernel split = split_phases(kernel, "i", 2);
  EXPECT_EQ(to_string(split.rules.front().body), "a[i // 2]");
  EXPECT_EQ(statements_of(split),
            "out[2*i_step + i_phase] = f(2*i_step + i_phase) + a[p[2*i_step + i_phase] // 2]\n");
}

TEST(SplitPhases, RefusesWhatSplitInameRefuses) {
  const Kernel kernel = described("out[i] = a[i // 2]");
  EXPECT_ERROR("loopy.split_iname.unknown_iname", split_phases(kernel, "q", 2));
  EXPECT_ERROR("loopy.split_iname.bad_length", split_phases(kernel, "i", 0));
  EXPECT_ERROR("loopy.split_iname.tagged_already",
               split_phases(tag_inames(kernel, "i:g.0"), "i", 2));
}

}  // namespace
}  // namespace rtcg::loopy
