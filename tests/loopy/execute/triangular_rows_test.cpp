// Chains of nests over rows that end where their row says, sliced: numbers on every back end.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/ragged_kernels.h"

namespace rtcg::loopy {
namespace {

const char* const softmax_of_row =
    "<> top = reduce(max, j, s[i, j])\n"
    "<> total = sum(k, exp(s[i, k] - top))\n"
    "w[i, l] = exp(s[i, l] - top)/total";

Kernel rows(const std::string& domains, const std::string& statements) {
  return make_kernel(domains, statements,
                     {.arguments = "s: f64[n, n + 3]; w: f64[n, n + 3]; n: i32",
                      .default_type = cgen::f64,
                      .assumptions = "n >= 1"});
}

/// Runs several slicings of a chain. The model's first one spreads the row over threads.
void expect_rows(const Kernel& kernel) {
  SlicingConstraints constraints = of_h100();
  constraints.parameters = {{"n", 45}};
  const SlicingStream stream(kernel, constraints);
  ASSERT_GT(stream.count(), 10U);
  EXPECT_NE(stream.at(0).words.find("l.0*32"), std::string::npos) << stream.at(0).words;
  for (std::size_t place = 0; place < stream.count(); place += 1 + stream.count() / 5) {
    const RankedSlicing ranked = stream.at(place);
    SCOPED_TRACE(ranked.words);
    expect_same_everywhere(apply(kernel, ranked.slicing), kernel, {{"n", 45}});
  }
}

TEST(TriangularRows, WithLoopsOfTheirOwn) {
  expect_rows(rows("{[i]: 0 <= i < n} {[j, k, l]: 0 <= j, k, l <= i}", softmax_of_row));
}

TEST(TriangularRows, InTheDomainOfTheirRow) {
  expect_rows(rows("{[i, j, k, l]: 0 <= j, k, l <= i and i < n}", softmax_of_row));
}

TEST(TriangularRows, ThatBeginAtTheDiagonal) {
  expect_rows(rows("{[i]: 0 <= i < n} {[j, k, l]: i <= j, k, l < n}",
                   "<> mean = sum(j, s[i, j])/(n - i)\n"
                   "<> spread = sum(k, (s[i, k] - mean)**2)/(n - i)\n"
                   "w[i, l] = (s[i, l] - mean)*rsqrt(spread + 0.1)"));
}

TEST(TriangularRows, OfABand) {
  expect_rows(rows("{[i]: 0 <= i < n} {[j, k, l]: i - 20 <= j, k, l <= i + 2 and 0 <= j, k, l}",
                   softmax_of_row));
}

}  // namespace
}  // namespace rtcg::loopy
