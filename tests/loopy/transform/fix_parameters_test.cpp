#include "rtcg/loopy/transform/fix_parameters.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel scaled_by_rule() {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}",
                     "f(m) := m*n\n<> t[j] = a[i, j]\nb[i, j] = f(t[j]) + m {if=i + m > 3}",
                     {.default_type = cgen::f32, .assumptions = "n >= 2 and m >= n"});
}

TEST(FixParameters, PutsNumbersEverywhere) {
  const Kernel kernel = fix_parameters(scaled_by_rule(), {{"m", 8}});
  EXPECT_EQ(to_string(kernel), R"(kernel loopy_kernel
arguments:
  a: f32[n, 8]
  b: f32[n, 8]
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j <= 7}
assumptions:
  n >= 2 and n <= 8
inames:
  i: for
  j: for
temporaries:
  t: ?[8]
rules:
  f(m) := m*n
statements:
  set_t: t[j] = a[i, j]  {inames=i:j}
  set_b: b[i, j] = f(t[j]) + 8  {inames=i:j, if=i + 8 > 3}
recipe:
  fix_parameters(m:8)
)");
}

TEST(FixParameters, FixesSeveral) {
  const Kernel kernel = fix_parameters(scaled_by_rule(), {{"m", 5}, {"n", 4}});
  EXPECT_EQ(domains_of(kernel), "[i]: i >= 0 and i <= 3\n[j]: j >= 0 and j <= 4\n");
  EXPECT_EQ(kernel.arguments.size(), 2U);
  expect_recipe(scaled_by_rule(), kernel, "fix_parameters(m:5, n:4)\n");
  const Kernel before = scaled_by_rule();
  const Results expected = results_of(before, {{"m", 5}, {"n", 4}});
  EXPECT_TRUE(writes_anything(expected));
  expect_equal(results_of(kernel, {}), expected, kernel);
}

TEST(FixParameters, KeepsTheTypesOfRealParameters) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = p*a[i]*q",
                  {.arguments = "p: f64; q: i32; ...", .default_type = cgen::f32});
  const Kernel fixed = fix_parameters(kernel, {{"p", -2}, {"q", 3}});
  EXPECT_EQ(statements_of(fixed), "b[i] = -2.0d*a[i]*3\n");
  expect_recipe(kernel, fixed, "fix_parameters(p:-2, q:3)\n");
}

TEST(FixParameters, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.fix_parameters.unknown_parameter",
               fix_parameters(scaled_by_rule(), {{"q", 1}}));
  EXPECT_ERROR("loopy.fix_parameters.unknown_parameter",
               fix_parameters(scaled_by_rule(), {{"a", 1}}));
  EXPECT_EQ(why_not([&] {
              return fix_parameters(scaled_by_rule(), {{"q", 1}});
            }),
            "kernel 'loopy_kernel' has no parameter 'q': its parameters are [m, n]");
  EXPECT_ERROR("loopy.fix_parameters.contradiction", fix_parameters(scaled_by_rule(), {{"n", 1}}));
  EXPECT_EQ(why_not([&] {
              return fix_parameters(scaled_by_rule(), {{"n", 5}, {"m", 4}});
            }),
            "the values contradict the assumptions of the kernel");
  EXPECT_EQ(why_not([&] {
              return fix_parameters(scaled_by_rule(), {{"n", 4}, {"m", 4}});
            }),
            std::nullopt);
}

TEST(Assume, AddsFacts) {
  const Kernel kernel = assume(assume(scaled_by_rule(), "n mod 16 = 0"), "m = n");
  EXPECT_TRUE(kernel.assumptions.maximum(Affine("m") - Affine("n")) == 0);
  EXPECT_TRUE(kernel.assumptions.substitute("n", 24).is_empty());
  EXPECT_FALSE(kernel.assumptions.substitute("n", 32).is_empty());
  expect_recipe(scaled_by_rule(), kernel, "assume(n mod 16 = 0)\nassume(\"m = n\")\n");
}

TEST(Assume, RefusesWhatCannotHold) {
  EXPECT_ERROR("loopy.assume.about_inames", assume(scaled_by_rule(), "i >= 2"));
  EXPECT_EQ(why_not([&] { return assume(scaled_by_rule(), "i >= 2"); }),
            "'i' is an iname: state what holds of it in its domain");
  EXPECT_ERROR("loopy.assume.contradiction", assume(scaled_by_rule(), "n <= 1"));
  EXPECT_EQ(why_not([&] { return assume(scaled_by_rule(), "n <= 1"); }),
            "'n <= 1' contradicts what is assumed already");
  EXPECT_ERROR("loopy.parse_domain.syntax", assume(scaled_by_rule(), "n >="));
  EXPECT_TRUE(why_not([&] { return assume(scaled_by_rule(), "n >="); }).has_value());
  EXPECT_EQ(why_not([&] { return assume(scaled_by_rule(), "n >= 3"); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
