#include "tests/loopy/support/same_results.h"

#include <gtest/gtest-spi.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

Kernel doubled(const std::string& statements) {
  return make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 4}", statements,
                     {.arguments = "a, b: f64[n + 1]"});
}

TEST(SameResults, TakeOtherWaysToTheSameNumbers) {
  expect_same_results(doubled("b[i] = 2*a[i] + sum(k, a[k])"),
                      doubled("b[i] = a[i] + sum(k, a[3 - k]) + a[i]"), {{"n", 5}});
}

TEST(SameResults, TellKernelsApart) {
  const Kernel left = doubled("b[i] = 2*a[i]");
  EXPECT_NONFATAL_FAILURE(
      expect_same_results(left, doubled("b[i] = 2*a[i] + if(i == 4, 1e-9, 0)"), {{"n", 5}}),
      "b[4]");
  EXPECT_NONFATAL_FAILURE(
      expect_same_results(left, doubled("b[i] = 2*a[i] {id=x}\nb[n] = 0 {dep=x}"), {{"n", 5}}),
      "b[5]");
  EXPECT_NONFATAL_FAILURE(expect_same_results(left, left, {{"n", 0}}), "writes_anything");
}

}  // namespace
}  // namespace rtcg::loopy
