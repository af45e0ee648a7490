#include "rtcg/loopy/transform/extract_subst.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view statements) {
  return make_kernel("{[i, k]: 0 <= i, k < 8}", statements, {.default_type = cgen::f32});
}
Kernel two_squares() {
  return kernel_of("b[i] = 2*a[i]*a[i] + a[i + 1]*a[i + 1] {id=b}\nc[i] = a[i]*a[i] {id=c}");
}

TEST(ExtractSubst, FindsAllOfOneForm) {
  const Kernel kernel = extract_subst(two_squares(), "sq", "x*x", {"x"});
  EXPECT_EQ(statements_of(kernel), "b[i] = 2*sq(a[i]) + sq(a[i + 1])\nc[i] = sq(a[i])\n");
  ASSERT_EQ(kernel.rules.size(), 1U);
  EXPECT_EQ(kernel.rules.front().name, "sq");
  EXPECT_EQ(kernel.rules.front().parameters, std::vector<std::string>{"x"});
  EXPECT_EQ(to_string(kernel.rules.front().body), "x*x");
  expect_recipe(two_squares(), kernel, "extract_subst(sq, x*x, [x])\n");
  expect_same_results(two_squares(), kernel, {});
}

TEST(ExtractSubst, LooksInSomeStatements) {
  const Kernel kernel = extract_subst(two_squares(), "sq", "x*x", {"x"}, "c");
  EXPECT_EQ(statements_of(kernel), "b[i] = 2*a[i]*a[i] + a[i + 1]*a[i + 1]\nc[i] = sq(a[i])\n");
  expect_recipe(two_squares(), kernel, "extract_subst(sq, x*x, [x], within=c)\n");
}

TEST(ExtractSubst, MatchesTermsInAnyOrder) {
  const Kernel kernel = kernel_of("b[i] = a[i] + 3*d[i]\nc[i] = d[k + 1]*3 + a[k] {inames=i:k}");
  const Kernel changed = extract_subst(kernel, "f", "a[x] + 3*y", {"x", "y"});
  EXPECT_EQ(statements_of(changed), "b[i] = f(i, d[i])\nc[i] = f(k, d[k + 1])\n");
  expect_recipe(kernel, changed, "extract_subst(f, a[x] + 3*y, [x, y])\n");
  expect_same_results(kernel, changed, {});
}

TEST(ExtractSubst, FindsFormsWithinWhatParametersStandFor) {
  const Kernel kernel = kernel_of("b[i] = sin(sin(a[i]))");
  const Kernel changed = extract_subst(kernel, "f", "sin(x)", {"x"});
  EXPECT_EQ(statements_of(changed), "b[i] = f(f(a[i]))\n");
  EXPECT_EQ(statements_of(expand_subst(changed)), statements_of(kernel));
}

TEST(ExtractSubst, FindsFormsInReductionsAndIndices) {
  const Kernel kernel = kernel_of("b[i] = sum(k, a[(i + k) // 2])");
  const Kernel changed = extract_subst(kernel, "f", "(i + x) // 2", {"x"});
  EXPECT_EQ(statements_of(changed), "b[i] = sum(k, a[f(k)])\n");
  EXPECT_EQ(statements_of(expand_subst(changed)), statements_of(kernel));
  expect_same_results(kernel, changed, {});
}

TEST(ExtractSubst, FindsFormsWithoutParameters) {
  const Kernel kernel = kernel_of("b[i] = a[i] + 1.0\nc[i] = sqrt(a[i])");
  const Kernel changed = extract_subst(kernel, "f", "a[i]", {});
  EXPECT_EQ(statements_of(changed), "b[i] = f() + 1.0\nc[i] = sqrt(f())\n");
  expect_recipe(kernel, changed, "extract_subst(f, a[i], [])\n");
}

TEST(ExtractSubst, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.extract_subst.name_taken", extract_subst(two_squares(), "a", "x*x", {"x"}));
  EXPECT_ERROR("loopy.extract_subst.name_taken", extract_subst(two_squares(), "", "x*x", {"x"}));
  EXPECT_EQ(why_not([&] { return extract_subst(two_squares(), "", "x*x", {"x"}); }),
            "the rule needs a name");
  EXPECT_ERROR("loopy.extract_subst.unused_parameter",
               extract_subst(two_squares(), "f", "x*x", {"x", "y"}));
  EXPECT_EQ(why_not([&] {
              return extract_subst(two_squares(), "f", "x*x", {"x", "y"});
            }),
            "'y' does not occur in the form 'x*x'");
  EXPECT_ERROR("loopy.extract_subst.not_found", extract_subst(two_squares(), "f", "x - 3", {"x"}));
  EXPECT_EQ(why_not([&] { return extract_subst(two_squares(), "f", "x - 3", {"x"}); }),
            "nothing in the statements has the form 'x - 3'");
  EXPECT_EQ(why_not([&] { return extract_subst(two_squares(), "f", "x*x", {"x"}); }), std::nullopt);
}

TEST(ExtractSubst, RefusesFormsThatEverythingHas) {
  EXPECT_ERROR("loopy.extract_subst.bare_parameter", extract_subst(two_squares(), "f", "x", {"x"}));
  EXPECT_EQ(why_not([&] { return extract_subst(two_squares(), "f", "(x)", {"x"}); }),
            "everything has the form '(x)': add what makes it special");
}

TEST(ExtractSubst, RefusesTextsThatCannotBeRead) {
  EXPECT_ERROR("loopy.parse_expr.syntax", extract_subst(two_squares(), "f", "x*", {"x"}));
  EXPECT_TRUE(why_not([&] { return extract_subst(two_squares(), "f", "x*", {"x"}); }).has_value());
  EXPECT_ERROR("loopy.match_instructions.syntax",
               extract_subst(two_squares(), "f", "x*x", {"x"}, "b or"));
  EXPECT_TRUE(
      why_not([&] { return extract_subst(two_squares(), "f", "x*x", {"x"}, "b or"); }).has_value());
}

}  // namespace
}  // namespace rtcg::loopy
