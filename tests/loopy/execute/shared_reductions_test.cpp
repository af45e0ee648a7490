// Statements that share the iname of their reductions: one loop where it serves all, else copies.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements) {
  KernelOptions options;
  options.default_type = cgen::f64;
  options.assumptions = "n >= 1";
  return make_kernel(domains, statements, options);
}

int loops_of(const Kernel& kernel) {
  return count_of("for (", generate_text(kernel, Target::cuda));
}

/// The kernel as it is and with its rows on threads, against one whose reductions have their own
/// inames.
void expect_as(const Kernel& kernel, const Kernel& separate) {
  for (const int n : {1, 7}) {
    expect_same_everywhere(kernel, separate, {{"n", n}});
  }
  SplitOptions tags;
  tags.outer_tag = "g.0";
  tags.inner_tag = "l.0";
  expect_same_everywhere(split_iname(kernel, "i", 4, tags), separate, {{"n", 7}});
}

TEST(SharedReductionInames, StandInOneLoopWhereNothingForbidsIt) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i, k < n}", R"(
      b[i] = sum(k, a[i, k])
      c[i] = 2*b[i] + sum(k, a[k, i])*sum(k, a[i, k])
  )");
  EXPECT_EQ(loops_of(kernel), 2);
  expect_as(kernel, kernel_of("{[i, k, l]: 0 <= i, k, l < n}", R"(
      b[i] = sum(k, a[i, k])
      c[i] = 2*b[i] + sum(l, a[l, i])*sum(l, a[i, l])
  )"));
}

TEST(SharedReductionInames, GetALoopEachWhereOneNeedsTheOthersResult) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i, k < n}", R"(
      <> mean = sum(k, a[i, k])/n
      <> deviation = sum(k, (a[i, k] - mean)**2)
      c[i] = deviation + sum(k, a[k, i]*deviation)
  )");
  EXPECT_EQ(loops_of(kernel), 4);
  expect_as(kernel, kernel_of("{[i, k, l, m]: 0 <= i, k, l, m < n}", R"(
      <> mean = sum(k, a[i, k])/n
      <> deviation = sum(l, (a[i, l] - mean)**2)
      c[i] = deviation + sum(m, a[m, i]*deviation)
  )"));
}

TEST(SharedReductionInames, GetALoopEachWithinDifferentLoops) {
  const Kernel kernel = kernel_of("{[i, j, k]: 0 <= i, j, k < n}", R"(
      b[i] = sum(k, a[i, k])
      c[j] = sum(k, a[k, j])
      d[i] = sum((k, j), a[k, j]) + sum(k, a[i, k])
  )");
  expect_as(kernel, kernel_of("{[i, j, k, l, m, o]: 0 <= i, j, k, l, m, o < n}", R"(
      b[i] = sum(k, a[i, k])
      c[j] = sum(l, a[l, j])
      d[i] = sum((m, o), a[m, o]) + sum(k, a[i, k])
  )"));
}

TEST(SharedReductionInames, KeepTheirBoundsInCopies) {
  const Kernel kernel = kernel_of("{[i, k, l]: 0 <= i < n and 0 <= k <= i and 0 <= l <= k}", R"(
      <> t = sum(k, a[i, k]*sum(l, a[k, l]))
      b[i] = sum(k, t*a[k, i]*sum(l, a[l, k]))
  )");
  expect_as(kernel, kernel_of(R"({[i, k, l]: 0 <= i < n and 0 <= k <= i and 0 <= l <= k}
                                 {[m, o]: 0 <= m <= i and 0 <= o <= m})",
                              R"(
      <> t = sum(k, a[i, k]*sum(l, a[k, l]))
      b[i] = sum(m, t*a[m, i]*sum(o, a[o, m]))
  )"));
}

TEST(SharedReductionInames, AreCopiedForReductionsThatNestTheOtherWayRound) {
  const Kernel kernel = kernel_of("{[i, k, l]: 0 <= i, k, l < n}", R"(
      b[i] = sum(k, a[i, k]*sum(l, a[k, l]))
      c[i] = sum(l, a[i, l]*sum(k, a[k, l]))
  )");
  expect_as(kernel, kernel_of("{[i, k, l, m, o]: 0 <= i, k, l, m, o < n}", R"(
      b[i] = sum(k, a[i, k]*sum(l, a[k, l]))
      c[i] = sum(m, a[i, m]*sum(o, a[o, m]))
  )"));
}

TEST(SharedReductionInames, WaitForALoopThatWritesWhatTheyRead) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i, k < n}", R"(
      squares[k] = a[k]**2
      b[0] = sum(k, squares[n - 1 - k]*c[k])
  )");
  expect_same_everywhere(kernel, kernel_of("{[i, k, l]: 0 <= i, k, l < n}", R"(
      squares[k] = a[k]**2
      b[0] = sum(l, squares[n - 1 - l]*c[l])
  )"),
                         {{"n", 6}});
  EXPECT_EQ(loops_of(kernel), 2);
  EXPECT_EQ(loops_of(kernel_of("{[k]: 0 <= k < n}", R"(
      squares[k] = a[k]**2
      b[0] = sum(k, squares[k]*c[k])
  )")),
            1);
}

// ---- equal reductions of several statements

int sums_of(const Kernel& kernel) {
  return count_of(" += ", generate_text(kernel, Target::host));
}

TEST(EqualReductions, AreComputedOnceByStatementsOfOneIteration) {
  const Kernel kernel = kernel_of("{[i, j, k]: 0 <= i, j, k < n}", R"(
      c[i, j] = sum(k, a[i, k]*b[k, j])
      d[i, j] = 2*sum(k, a[i, k]*b[k, j]) + c[i, j]
      e[i, j] = sum(k, a[i, k]*b[k, j])*sum(k, a[i, k])
  )");
  EXPECT_EQ(sums_of(kernel), 2);
  for (const Kernel& each :
       {kernel, apply_recipe(kernel,
                             "split_iname(i, 4, outer_tag=g.1, inner_tag=l.1)\n"
                             "split_iname(j, 8, outer_tag=g.0)\nsplit_iname(k, 4)\n"
                             "split_iname(j_inner, 2, outer_tag=l.0, inner_tag=ilp)\n"
                             "add_prefetch(a, [i_inner, k_inner])\n"
                             "add_prefetch(b, [k_inner, j_inner_outer, j_inner_inner])")}) {
    expect_same_everywhere(each, kernel, {{"n", 11}});
  }
  const Kernel rows = kernel_of("{[i, k]: 0 <= i, k < n}", R"(
      b[i] = sum(k, a[i, k])
      c[i] = b[i]*sum(k, a[i, k])
  )");
  expect_same_everywhere(apply_recipe(rows, "split_iname(k, 8, inner_tag=l.0)\ntag_inames(i:g.0)"),
                         rows, {{"n", 13}});
}

// without it, the second sum would wait for the first one within one loop
TEST(EqualReductions, AreThereUnderConditionsOnTheirValue) {
  const Kernel kernel = kernel_of("{[i, k]: 0 <= i, k < n}", R"(
      b[i] = sum(k, a[i, k])
      c[i] = a[i, 0]/sum(k, a[i, k]) if b[i] > 0 else 0
      d[i] = sum(k, a[i, k]) + 1  {if=i > 2}
  )");
  EXPECT_EQ(sums_of(kernel), 1);
  for (const int n : {1, 7}) {
    expect_same_everywhere(kernel, kernel, {{"n", n}});
  }
}

TEST(EqualReductions, AreComputedAgainWhereSomethingChanges) {
  const auto expect_both = [](std::string_view statements, bool is_sequential) {
    KernelOptions options;
    options.default_type = cgen::f64;
    options.sequential_dependencies = is_sequential;
    const Kernel kernel = make_kernel("{[i, k]: 0 <= i, k < n}", statements, options);
    EXPECT_EQ(sums_of(kernel), 2) << statements;
    expect_same_everywhere(kernel, kernel, {{"n", 9}});
  };
  // what they read is written between
  expect_both("b[i] = sum(k, a[i, k]*x[i])\nx[i] = 3\nc[i] = sum(k, a[i, k]*x[i])", true);
  // one is computed under a condition
  expect_both("b[i] = sum(k, a[i, k]) {if=i > 2}\nc[i] = sum(k, a[i, k])", false);
}

}  // namespace
}  // namespace rtcg::loopy
