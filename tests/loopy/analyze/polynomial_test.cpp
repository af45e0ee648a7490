#include "rtcg/loopy/analyze/polynomial.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(Polynomial, SumsPowers) {
  // the sum of i^2 + i*n over 1 <= i <= n
  const Polynomial i_alone{Affine("i")};
  const Polynomial sum =
      (i_alone * i_alone + i_alone * Polynomial(Affine("n"))).sum_over("i", 1, Affine("n"));
  EXPECT_EQ(to_string(sum), "5/6*n^3 + n^2 + 1/6*n");
  EXPECT_EQ(sum.evaluate({{"n", 4}}), 1 + 4 + 9 + 16 + 4 * 10);
  EXPECT_FALSE(sum.evaluate({}));
}

TEST(Polynomial, RefusesToOverflow) {
  const Polynomial large(std::int64_t{1} << 62);
  EXPECT_ERROR("loopy.polynomial.overflow", large * large);
}

}  // namespace
}  // namespace rtcg::loopy
