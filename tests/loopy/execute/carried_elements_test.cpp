// Loops that gcc 12 and 13 vectorise wrongly: some whose iterations hand on elements of arrays, and
// some with arithmetic in branches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

bool keeps_order(const Kernel& kernel) {
  return count_of("rtcg_keep_iterations_in_order();", generate_text(kernel, Target::host)) > 0;
}

void expect_reference(const Kernel& kernel) {
  expect_same_everywhere(kernel, kernel, {});
}

Kernel over_i_and_j(const std::string& statements, int rows, int columns) {
  return make_kernel(fmt::format("{{[i, j]: 0 <= i < {} and 1 <= j < {}}}", rows, columns + 1),
                     statements, {.arguments = "a, w, q: f64[24, 24]"});
}

TEST(DefectCarriedElements, OfDiagonalsGiveTheReference) {
  for (const int rows : {3, 5, 6}) {
    for (const int columns : {4, 7, 8}) {
      const Kernel kernel = over_i_and_j(
          "q[i, j] = a[j, j]\n"
          "w[i + 1, j + 1] = 0.5*w[i, j] + a[j, 0]",
          rows, columns);
      check_is_equal(compare_with_reference(kernel, kernel, {}, runtime::Device::host()));
    }
  }
}

TEST(DefectCarriedElements, OfIntegralImagesGiveTheReference) {
  expect_reference(
      over_i_and_j("w[i + 1, j] = w[i, j] + w[i + 1, j - 1] - w[i, j - 1] + a[i, j]", 7, 7));
}

TEST(DefectCarriedElements, OfEditDistancesGiveTheReference) {
  expect_reference(make_kernel("{[i, j]: 1 <= i < 9 and 1 <= j < 8}",
                               "d[i, j] = min(min(d[i - 1, j], d[i, j - 1]) + 1, "
                               "d[i - 1, j - 1] + if(s[i] % 4 == t[j] % 4, 0, 1))",
                               {.arguments = "d: i32[9, 8]; s: i32[9]; t: i32[8]"}));
}

TEST(DefectCarriedElements, OfPrivateArraysGiveTheReference) {
  expect_reference(make_kernel("{[i, k]: 0 <= i < 40 and 0 <= k < 6}",
                               "<f64> t[8]\n"
                               "t[0] = x[i] {id=first, inames=i}\n"
                               "t[1] = 2*x[i] {id=second, inames=i}\n"
                               "t[k + 2] = 0.5*t[k] + t[k + 1] {id=step, dep=first:second}\n"
                               "y[i] = t[7] {dep=step, inames=i}",
                               {.arguments = "x, y: f64[40]"}));
}

TEST(DefectCarriedElements, AreKeptInOrderInTextsForTheHostAlone) {
  const Kernel diagonal = over_i_and_j("w[i + 1, j + 1] = 0.5*w[i, j]", 5, 7);
  const std::string text = generate_text(diagonal, Target::host);
  EXPECT_NE(text.find("  for (int i = 0; i < 5; ++i) {\n"
                      "    rtcg_keep_iterations_in_order();\n"
                      "    for (int j = 1; j < 8; ++j) {\n"
                      "      w[24 * i + j + 25] = 0.5 * w[24 * i + j];\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(generate_text(diagonal, Target::cuda).find("rtcg_keep_iterations_in_order"),
            std::string::npos);
}

TEST(DefectCarriedElements, OfLoopsThatHandOnNothingAreLeftToTheCompiler) {
  EXPECT_FALSE(keeps_order(over_i_and_j("w[i, j] = 0.5*w[i, j] + a[i, j]", 5, 7)));
  EXPECT_FALSE(keeps_order(over_i_and_j("w[i, j] = 0.5*w[i, j + 12]", 5, 7))) << "two halves";
  EXPECT_FALSE(keeps_order(over_i_and_j("w[i, j] = w[i, j + 1]", 5, 7))) << "read before written";
  EXPECT_FALSE(keeps_order(over_i_and_j("w[j, 0] = w[j, 0] + a[i, j]", 5, 7))) << "sums";
  const Kernel filter = make_kernel("{[i]: 1 <= i < 100}", "y[i] = 0.5*y[i - 1] + x[i]",
                                    {.arguments = "x, y: f64[100]"});
  EXPECT_FALSE(keeps_order(filter)) << "one statement, whose y[i - 1] is kept in a register";
  EXPECT_TRUE(keeps_order(apply_recipe(filter, "split_iname(i, 4, inner_tag=unr)")));
}

TEST(DefectArithmeticInBranches, OfSlopesGivesTheReference) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 2 <= i, j < 20}",
      "minmod(a, b) := if(a*b > 0, if(abs(a) < abs(b), a, b), 0)\n"
      "across(i, j) := u[i, j] + 0.5*(1 - cx)*minmod(u[i + 1, j] - u[i, j], u[i, j] - u[i - 1, "
      "j])\n"
      "along(i, j) := u[i, j] + 0.5*(1 - cy)*minmod(u[i, j + 1] - u[i, j], u[i, j] - u[i, j - 1])\n"
      "out[i, j] = u[i, j] - cx*(across(i, j) - across(i - 1, j)) - cy*(along(i, j) - along(i, j - "
      "1))",
      {.arguments = "u, out: f32[22, 22]; cx, cy: f32"});
  CompareOptions options;
  options.reals = {{"cx", 0.875}, {"cy", 1.0}};
  expect_same_everywhere(
      apply(kernel, parse_slicing("j: g.0 ilp*2 l.0*9; i: g.1 l.1*9 ilp*2; fetch u")), kernel, {},
      options);
}

}  // namespace
}  // namespace rtcg::loopy
