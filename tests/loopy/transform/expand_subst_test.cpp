#include "rtcg/loopy/transform/expand_subst.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_with_rules() {
  return make_kernel("{[i, j]: 0 <= i, j < n}", R"(
      sq(x) := x*x
      at(i, j) := sq(a[i, j])
      b[i, j] = at(j, i) + sq(i) {id=first}
      c[i] = sq(2.0) {id=second}
  )",
                     {.default_type = cgen::f32});
}

TEST(ExpandSubst, PutsBodiesInPlaceOfCalls) {
  const Kernel kernel = expand_subst(kernel_with_rules());
  EXPECT_EQ(statements_of(kernel), "b[i, j] = a[j, i]*a[j, i] + i*i\nc[i] = 2.0*2.0\n");
  EXPECT_TRUE(kernel.rules.empty());
  expect_recipe(kernel_with_rules(), kernel, "expand_subst()\n");
}

TEST(ExpandSubst, ExpandsOneRule) {
  const Kernel kernel = expand_subst(kernel_with_rules(), "at");
  EXPECT_EQ(statements_of(kernel), "b[i, j] = sq(a[j, i]) + sq(i)\nc[i] = sq(2.0)\n");
  ASSERT_EQ(kernel.rules.size(), 1U);
  EXPECT_EQ(kernel.rules.front().name, "sq");
  expect_recipe(kernel_with_rules(), kernel, "expand_subst(at)\n");
}

TEST(ExpandSubst, ExpandsWithinOtherRules) {
  const Kernel kernel = expand_subst(kernel_with_rules(), "sq");
  ASSERT_EQ(kernel.rules.size(), 1U);
  EXPECT_EQ(to_string(kernel.rules.front().body), "a[i, j]*a[i, j]");
  expect_same_results(kernel_with_rules(), kernel, {{"n", 3}});
}

TEST(ExpandSubst, KeepsTheRulesForOtherStatements) {
  const Kernel kernel = expand_subst(kernel_with_rules(), "", "second");
  EXPECT_EQ(statements_of(kernel), "b[i, j] = at(j, i) + sq(i)\nc[i] = 2.0*2.0\n");
  EXPECT_EQ(kernel.rules.size(), 2U);
  expect_recipe(kernel_with_rules(), kernel, "expand_subst(within=second)\n");
  EXPECT_ERROR("loopy.match_instructions.syntax", expand_subst(kernel_with_rules(), "", "a and"));
}

TEST(ExpandSubst, ExpandsIndicesAndPredicates) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 8}",
                                    "half() := 4\nnext(x) := x + 1\n"
                                    "b[next(i)] = 1.0 {if=next(i) < half()}",
                                    {.arguments = "b: f32[9]"});
  const Kernel expanded = expand_subst(kernel);
  EXPECT_EQ(statements_of(expanded), "b[i + 1] = 1.0\n");
  EXPECT_EQ(to_string(expanded.instructions.front().predicates.front()), "i + 1 < 4");
}

TEST(ExpandSubst, ChangesNothingWithoutRules) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = cgen::f32});
  expect_recipe(kernel, expand_subst(kernel), "");
}

TEST(ExpandSubst, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.expand_subst.unknown_rule", expand_subst(kernel_with_rules(), "cube"));
  Kernel count = kernel_with_rules();
  count.rules.front().parameters.push_back("y");
  EXPECT_ERROR("loopy.expand_subst.argument_count", expand_subst(count));
  Kernel circle = kernel_with_rules();
  circle.rules.front().body = parse_expr("at(x, x)");
  EXPECT_ERROR("loopy.expand_subst.recursive", expand_subst(circle));
  EXPECT_ERROR("loopy.expand_subst.captured_iname",
               make_kernel("{[i, k]: 0 <= i, k < 4}",
                           "f(x) := sum(k, a[x, k])\nb[i] = sum(k, f(k)*i)",
                           {.default_type = cgen::f32}));
}

}  // namespace
}  // namespace rtcg::loopy
