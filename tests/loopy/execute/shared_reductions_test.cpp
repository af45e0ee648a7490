// Statements that share the iname of their reductions: one loop where it serves all, else copies.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
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

}  // namespace
}  // namespace rtcg::loopy
