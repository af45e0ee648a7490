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

}  // namespace
}  // namespace rtcg::loopy
