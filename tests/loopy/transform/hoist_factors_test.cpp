#include "rtcg/loopy/transform/hoist_factors.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"

namespace rtcg::loopy {
namespace {

Kernel described(std::string_view statements, const cgen::Type& type = cgen::f64) {
  return make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}", statements,
                     {.default_type = type, .assumptions = "n >= 1 and m >= 1"});
}
std::string hoisted(std::string_view statements, const cgen::Type& type = cgen::f64) {
  return statements_of(hoist_factors(described(statements, type)));
}

TEST(HoistFactors, TakesScalarsOutOfAProduct) {
  const Kernel kernel = described("c[i, j] = beta*c[i, j] + sum(k, alpha*a[i, k]*b[k, j])");
  const Kernel changed = hoist_factors(kernel);
  EXPECT_EQ(statements_of(changed), "c[i, j] = beta*c[i, j] + alpha*sum(k, a[i, k]*b[k, j])\n");
  EXPECT_FALSE(detail::has_constant_factors(changed));
  expect_recipe(kernel, changed, "hoist_factors()\n");
  const Kernel with_number = described("c[i, j] = c[i, j] + sum(k, 1.5*a[i, k]*b[k, j])");
  expect_same_results(with_number, hoist_factors(with_number), {{"n", 4}, {"m", 5}});
}

TEST(HoistFactors, TakesElementsThatTheSumDoesNotChange) {
  EXPECT_EQ(hoisted("c[i, j] = sum(k, b[k, j]*x[i]*2.0)"), "c[i, j] = x[i]*2.0*sum(k, b[k, j])\n");
  EXPECT_EQ(hoisted("c[i] = sum(k, exp(x[i])*sum(j, 3.0*b[k, j]))"),
            "c[i] = exp(x[i])*3.0*sum(k, sum(j, b[k, j]))\n");
}

TEST(HoistFactors, TakesWhatAllTermsHave) {
  const Kernel kernel =
      described("c[i, j] = sum(k, a[j, k]*alpha*b[i, k] + b[j, k]*alpha*a[i, k])");
  const Kernel changed = hoist_factors(kernel);
  EXPECT_EQ(statements_of(changed), "c[i, j] = alpha*sum(k, a[j, k]*b[i, k] + b[j, k]*a[i, k])\n");
  EXPECT_EQ(hoisted("c[i] = sum(k, 2.0*a[i, k] + b[i, k])"),
            "c[i] = sum(k, 2.0*a[i, k] + b[i, k])\n");
}

TEST(HoistFactors, KeepsSumsThatCouldLeaveTheirRange) {
  const std::string_view text = "c[i] = sum(k, 3*a[i, k])";
  EXPECT_EQ(hoisted(text, cgen::i32), "c[i] = sum(k, 3*a[i, k])\n");
  EXPECT_EQ(hoisted(text, cgen::f16), "c[i] = sum(k, 3*a[i, k])\n");
  EXPECT_EQ(hoisted(text, cgen::f32), "c[i] = 3*sum(k, a[i, k])\n");
  // a sum of integers stays one of f64
  const Kernel mixed = make_kernel("{[i, k]: 0 <= i, k < 8}", "c[i] = sum(k, 0.5*p[i, k])",
                                   {.arguments = "c: f64[8]; p: i32[8, 8]"});
  EXPECT_EQ(statements_of(hoist_factors(mixed)), "c[i] = sum(k, 0.5*p[i, k])\n");
}

TEST(HoistFactors, KeepsWhatChanges) {
  // a sign, scans, other operations, and rules that read the iname
  for (const char* each :
       {"c[i] = sum(k, -a[i, k])", "c[i] = reduce(max, k, 2.0*a[i, k])",
        "c[i] = sum(k, x[k]*a[i, k])", "w() := x[k]\nc[i] = sum(k, w()*a[i, k])"}) {
    EXPECT_FALSE(detail::has_constant_factors(described(each))) << each;
  }
  const Kernel scans = make_kernel("{[i, k]: 0 <= i < 8 and 0 <= k <= i}",
                                   "c[i] = scan(sum, k, 2.0*x[k])", {.default_type = cgen::f64});
  EXPECT_FALSE(detail::has_constant_factors(scans));
}

TEST(HoistFactors, BeginsSlicings) {
  const Kernel kernel = described("c[i, j] = sum(k, alpha*a[i, k]*b[k, j])");
  const Kernel sliced = apply(kernel, parse_slicing("i: g.0 l.0*32"));
  EXPECT_EQ(sliced.recipe.front().transformation, "hoist_factors");
  EXPECT_EQ(recipe_of(sliced, parse_slicing("j: g.1")).front().transformation, "tag_inames");
}

}  // namespace
}  // namespace rtcg::loopy
