#include "rtcg/loopy/transform/split_reduction.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel total() {
  return make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 3 and 0 <= k <= j}",
                     "out[i] = sum((j, k), a[i, j, k])",
                     {.arguments = "a: f32[n, 3, 3]", .default_type = cgen::f32});
}

TEST(SplitReduction, MakesAnInnerSum) {
  const Kernel split = split_reduction_inward(total(), {"k"});
  EXPECT_EQ(statements_of(split), "out[i] = sum(j, sum(k, a[i, j, k]))\n");
  EXPECT_EQ(domains_of(split), domains_of(total()));
  expect_same_results(total(), split, {{"n", 3}});
  expect_recipe(total(), split, "split_reduction_inward(k)\n");
}

TEST(SplitReduction, MakesAnOuterSum) {
  const Kernel split = split_reduction_outward(total(), {"k"});
  EXPECT_EQ(statements_of(split), "out[i] = sum(k, sum(j, a[i, j, k]))\n");
  EXPECT_EQ(domains_of(split), domains_of(total()));
  expect_same_results(total(), split, {{"n", 3}});
  expect_recipe(total(), split, "split_reduction_outward(k)\n");
}

TEST(SplitReduction, SplitsRulesAndLeavesOtherReductions) {
  const Kernel kernel = make_kernel("{[i, x, y, z]: 0 <= i, x, y, z < 4}",
                                    "f(p) := reduce(max, (x, y, z), a[p, x, y, z])\n"
                                    "b[i] = f(i) + sum((x, y), c[x, y]) + sum(x, c[x, x])",
                                    {.default_type = cgen::f32});
  const Kernel inward = split_reduction_inward(kernel, {"z", "x"});
  EXPECT_EQ(to_string(inward.rules.front().body),
            "reduce(max, y, reduce(max, (x, z), a[p, x, y, z]))");
  EXPECT_EQ(statements_of(inward), statements_of(kernel));
  const Kernel outward = split_reduction_outward(kernel, {"x"});
  EXPECT_EQ(to_string(outward.rules.front().body),
            "reduce(max, x, reduce(max, (y, z), a[p, x, y, z]))");
  EXPECT_EQ(statements_of(outward), "b[i] = f(i) + sum(x, sum(y, c[x, y])) + sum(x, c[x, x])\n");
}

TEST(SplitReduction, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.split_reduction_inward.unknown_iname",
               split_reduction_inward(total(), {"q"}));
  EXPECT_ERROR("loopy.split_reduction_outward.unknown_iname",
               split_reduction_outward(total(), {"q"}));
  EXPECT_EQ(why_not([&] { return split_reduction_inward(total(), {"q"}); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j, k");
}

TEST(SplitReduction, RefusesWhatIsNotThere) {
  for (const std::vector<std::string>& inames :
       {std::vector<std::string>{"i"}, {"j", "k"}, {"i", "j"}, {}}) {
    EXPECT_ERROR("loopy.split_reduction_inward.no_reduction",
                 split_reduction_inward(total(), inames));
    EXPECT_ERROR("loopy.split_reduction_outward.no_reduction",
                 split_reduction_outward(total(), inames));
  }
  EXPECT_EQ(why_not([&] { return split_reduction_outward(total(), {"i"}); }),
            "no reduction of one value is over all of [i] and over others");
  EXPECT_EQ(why_not([&] { return split_reduction_outward(total(), {"j"}); }), std::nullopt);
}

TEST(SplitReduction, RefusesReductionsOfSeveralValues) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < 4}", "v[0], p[0] = argmax((i, j), a[i, j], 4*i + j)",
                  {.arguments = "v: f32[1]; p: i32[1]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.split_reduction_inward.no_reduction", split_reduction_inward(kernel, {"j"}));
}

}  // namespace
}  // namespace rtcg::loopy
