#include "rtcg/loopy/transform/reduction_arg_to_subst_rule.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel products() {
  return make_kernel(
      "{[i, k]: 0 <= i < n and 0 <= k < 8}",
      "b[i] = sum(k, a[i, k]*v[k])\nc[i] = 2*sum(k, a[i, k]*v[k]) + reduce(max, k, v[k])",
      {.default_type = cgen::f32});
}

TEST(ReductionArgToSubstRule, NamesWhatIsAddedUp) {
  const Kernel named = reduction_arg_to_subst_rule(products(), {"k"});
  ASSERT_EQ(named.rules.size(), 2U);
  EXPECT_EQ(to_string(named.rules[0].body), "a[i, k]*v[k]");
  EXPECT_EQ(statements_of(named),
            "b[i] = sum(k, red_k_arg(k))\n"
            "c[i] = 2*sum(k, red_k_arg(k)) + reduce(max, k, red_k_arg_1(k))\n");
  expect_same_results(products(), named, {{"n", 3}});
  expect_recipe(products(), named, "reduction_arg_to_subst_rule([k])\n");
  // so that it can be had ahead
  expect_same_results(products(), apply_recipe(named, "precompute(red_k_arg, [k])"), {{"n", 3}});
}

TEST(ReductionArgToSubstRule, RefusesWhatItCannotName) {
  EXPECT_ERROR("loopy.reduction_arg_to_subst_rule.no_reduction",
               reduction_arg_to_subst_rule(products(), {"i"}));
  EXPECT_ERROR("loopy.reduction_arg_to_subst_rule.name_taken",
               reduction_arg_to_subst_rule(products(), {"k"}, "a"));
  EXPECT_EQ(why_not([&] { return reduction_arg_to_subst_rule(products(), {"k"}, "term"); }),
            "2 reductions cannot all have the rule 'term'");
}

}  // namespace
}  // namespace rtcg::loopy
