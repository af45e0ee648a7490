// Statements under conditions, on every target.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

constexpr const char* conditions_on_threads = "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)";

TEST(Conditions, GiveEachThreadItsOwnValuesThatBeginUnderThem) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m} {[l]: 0 <= l < 3}",
                                    "<f32> w[3]\n"
                                    "for i\n"
                                    "if b[i] > 0\n<f32> t = 1\nend\n"
                                    "if b[i] <= 0\nt = 2\nend\n"
                                    "for l\nw[l] = l*b[i]\nend\n"
                                    "out[i] = t + sum(k, a[i, k]) + w[1]\n"
                                    "end",
                                    {.default_type = cgen::f32});
  expect_same_everywhere(apply_recipe(kernel, conditions_on_threads), kernel,
                         {{"n", 75}, {"m", 9}});
}

TEST(Conditions, AreTestedOnceForElse) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "for i\n"
                                    "if a[i] > 0.5\nif i % 2 == 0\nout[i] = 1\nelse\nout[i] = 2\n"
                                    "end\nb[i] = a[i]\n"
                                    "elif a[i] > 0\nout[i] = 3\n"
                                    "else\nout[i] = 4\nb[i] = 2*a[i]\nend\n"
                                    "end",
                                    {.default_type = cgen::f32});
  expect_same_everywhere(apply_recipe(kernel, conditions_on_threads), kernel, {{"n", 100}});
}

TEST(Conditions, AreTestedAgainWhereAStatementBetweenChangesWhatTheyRead) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "for i\n<> t = a[i]\n"
                                    "t = t - 1 {if=t > 0}\nout[i] = t {if=not t > 0}\n"
                                    "b[i] = t\nend",
                                    {.default_type = cgen::f32});
  expect_same_everywhere(apply_recipe(kernel, conditions_on_threads), kernel, {{"n", 100}});
}

TEST(Conditions, MayHaveSums) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}",
                  "if i > 1 and sum(k, a[i - 2, k]*b[k, j]) > 0\n"
                  "c[i, j] = sum(k, a[i, k]*b[k, j])\n"
                  "elif reduce(max, k, b[k, j]) > 0.9\n"
                  "c[i, j] = -c[i, j]\n"
                  "else\n"
                  "c[i, j] += 1\n"
                  "end",
                  {.arguments = "a: [n, l]; b: [l, m]", .default_type = cgen::f32});
  for (const char* recipe :
       {"split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)",
        "tag_inames(i:g.0)\nsplit_iname(k, 8, inner_tag=l.0)",
        "split_iname(j, 4, outer_tag=g.0, inner_tag=ilp)\nsplit_iname(i, 4, inner_tag=l.0)"}) {
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 7}, {"m", 11}, {"l", 19}});
  }
}

TEST(Conditions, MayUseSumsThatRulesAndTemporariesStandFor) {
  const Kernel rule = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                  "total(i) := sum(k, a[i, k])\n"
                                  "b[i] = total(i) {if=total(i) > 0 and total(i) < 2}",
                                  {.default_type = cgen::f32});
  expect_same_everywhere(apply_recipe(rule, conditions_on_threads), rule, {{"n", 75}, {"m", 9}});
  const Kernel temporary = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                       "<> total = sum(k, a[i, k])\n"
                                       "if total > 0\nb[i] = total\nend",
                                       {.default_type = cgen::f32});
  expect_same_everywhere(
      apply_recipe(temporary, std::string("assignment_to_subst(total)\n") + conditions_on_threads),
      temporary, {{"n", 75}, {"m", 9}});
}

}  // namespace
}  // namespace rtcg::loopy
