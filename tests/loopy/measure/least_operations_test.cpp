#include "rtcg/loopy/measure/least_operations.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

double least(std::string_view domains, std::string_view statements,
             std::string_view arguments = "") {
  return detail::least_operations(expand_subst(make_kernel(domains, statements,
                                                           {.arguments = std::string(arguments),
                                                            .default_type = cgen::f32})))
      .value_or(-1);
}

TEST(LeastOperations, CountsAProductAsDescribed) {
  EXPECT_EQ(least("{[i, j, k]: 0 <= i < 10 and 0 <= j < 20 and 0 <= k < 30}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])"),
            2 * 10 * 20 * 30);
}

TEST(LeastOperations, TakesConstantFactorsOutOfSums) {
  // a product of 10 x 20 x 30, and alpha once for each result
  EXPECT_EQ(least("{[i, j, k]: 0 <= i < 10 and 0 <= j < 20 and 0 <= k < 30}",
                  "c[i, j] = sum(k, alpha*a[i, k]*b[k, j])"),
            2 * 10 * 20 * 30 + 10 * 20);
}

TEST(LeastOperations, SumsBilinearFormsOneAfterTheOther) {
  // the inner sum for each (b, i), then that of its product with x
  EXPECT_EQ(least("{[b, i, j]: 0 <= b < 5 and 0 <= i < 10 and 0 <= j < 20}",
                  "s[b] = sum((i, j), x[b, i]*a[i, j]*y[b, j])"),
            5 * (2 * 10 * 20 + 2 * 10));
}

TEST(LeastOperations, MultipliesChainsOfMatricesInTheCheapestOrder) {
  // b*c is 10 x 10 x 2, a*(b*c) 10 x 10 x 2
  EXPECT_EQ(least("{[i, j, k, l]: 0 <= i, k, l < 10 and 0 <= j < 2}",
                  "d[i, j] = sum((k, l), a[i, k]*b[k, l]*c[l, j])"),
            2 * (2 * 10 * 10 * 2));
}

TEST(LeastOperations, ComputesRepeatedSumsOnce) {
  // scores once: 2*64*64*8, scaled: 64*64; their maximum; minus it, exponentials, their sum;
  // exponentials times values: 2*64*64*4, and a quotient for each result
  EXPECT_EQ(least("{[i, d, j1, e1, j2, e2, j3, e3]: 0 <= i, j1, j2, j3 < 64 and 0 <= d < 4 "
                  "and 0 <= e1, e2, e3 < 8}",
                  R"(
                  top[i] = reduce(max, j1, scale*sum(e1, q[i, e1]*k[j1, e1]))
                  total[i] = sum(j2, exp(scale*sum(e2, q[i, e2]*k[j2, e2]) - top[i]))
                  out[i, d] = sum(j3, exp(scale*sum(e3, q[i, e3]*k[j3, e3]) - top[i])*v[j3, d])/total[i])"),
            64 * 64 * (2 * 8 + 1 + 1 + 3 + 2 * 4) + 64 * 4);
}

TEST(LeastOperations, FactorizesRules) {
  // three sums of 8 steps for 8*8*8 values each
  EXPECT_EQ(least("{[e, i, j, k, p, q, r]: 0 <= e < 3 and 0 <= i, j, k, p, q, r < 8}",
                  R"(
                  along_z(p, q, k) := sum(r, m[k, r]*u[e, p, q, r])
                  along_y(p, j, k) := sum(q, m[j, q]*along_z(p, q, k))
                  out[e, i, j, k] = sum(p, m[i, p]*along_y(p, j, k)))"),
            3 * 3 * 2 * 8 * 8 * 8 * 8);
}

TEST(LeastOperations, ContinuesRunningSums) {
  EXPECT_EQ(least("{[i, k]: 0 <= i < 100 and 0 <= k <= i}", "y[i] = sum(k, x[k])"), 100);
  EXPECT_EQ(least("{[i, k]: 0 <= i < 100 and 0 <= k <= i}", "y[i] = scan(sum, k, x[k])"), 100);
  // along both axes of an image
  EXPECT_EQ(least("{[i, j, p, q]: 0 <= i, j < 10 and 0 <= p <= i and 0 <= q <= j}",
                  "y[i, j] = sum((p, q), x[p, q])"),
            2 * 10 * 10);
  // a window does not grow
  EXPECT_EQ(least("{[i, k]: 0 <= i < 100 and i <= k < i + 4}", "y[i] = sum(k, x[k])"), 400);
  // what is added differs from result to result
  EXPECT_EQ(least("{[i, k]: 0 <= i < 100 and 0 <= k <= i}", "y[i] = sum(k, a[i, k]*x[k])"),
            2 * 5050);
}

TEST(LeastOperations, ComputesRowsOfAMatrixWithoutItsMeansOnce) {
  // means: 10*20 and a quotient each; minus them: 10*20; products of all pairs
  EXPECT_EQ(least("{[i, j, k, r, l]: 0 <= i, j, r < 10 and 0 <= k, l < 20}",
                  R"(
                  mean[r] = sum(l, x[r, l])/20
                  c[i, j] = sum(k, (x[i, k] - mean[i])*(x[j, k] - mean[j])) {dep=*})"),
            10 * 20 + 10 + 10 * 20 + 2 * 10 * 10 * 20);
}

TEST(LeastOperations, ComputesAgainWhatIsWrittenAgain) {
  // each step of the loop over t has other values of x
  EXPECT_EQ(least("{[t, i]: 0 <= t < 7 and 0 <= i < 10}", "x[i] = x[i]*x[i] {inames=t:i}"), 7 * 10);
  // and so has the second statement
  EXPECT_EQ(least("{[i]: 0 <= i < 10}", R"(
                  y[i] = x[i]*x[i]
                  x[i] = 2 + y[i]
                  z[i] = x[i]*x[i])"),
            3 * 10);
}

TEST(LeastOperations, CountsBranchesWhereTheyAreTaken) {
  EXPECT_EQ(least("{[i, j]: 0 <= i, j < 10}", "y[i, j] = if(j <= i, x[i, j]*x[i, j], 0)"), 55);
}

TEST(LeastOperations, DoesNotKnowComputedLengths) {
  EXPECT_EQ(least("{[i]: 0 <= i < 10}\n{[k]: 0 <= k < count}", R"(
                  for i
                    <> count = number[i]
                    y[i] = sum(k, x[k]*x[k])
                  end)",
                  "number: i32[10]; x: f32[20]; y: f32[10]"),
            -1);
}

}  // namespace
}  // namespace rtcg::loopy
