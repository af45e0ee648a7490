#include "rtcg/loopy/polyhedral/digits_apart.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/parse_domain.h"

namespace rtcg::loopy {
namespace {

ConstraintSet set_of(const char* text) {
  return parse_domains(text).front().constraints;
}

TEST(DigitsApart, AreZeroWhereTheRestIsTooSmall) {
  const ConstraintSet set =
      set_of("{[a, b, c]: 40*a + 20*b + 5*c = 0 and -1 <= b <= 1 and -3 <= c <= 3}");
  const ConstraintSet apart = with_digits_apart(set);
  EXPECT_TRUE(apart.implies(Constraint{Affine("c"), true}));
  EXPECT_TRUE(apart.implies(Constraint{Affine("b"), true}));
  EXPECT_TRUE(apart.implies(Constraint{Affine("a"), true}));
}

TEST(DigitsApart, TellThatTwoThreadsHaveDifferentElements) {
  // elements 32*i + 4*j + k of two threads, the later j + 1 or more
  ConstraintSet set = set_of(
      "{[i, j, k, p, q, r]: 0 <= j, q < 8 and 0 <= k, r < 4 and "
      "32*i + 4*j + k = 32*p + 4*q + r and q > j}");
  EXPECT_FALSE(set.is_empty());  // over the rationals it is not
  EXPECT_TRUE(with_digits_apart(set).is_empty());
}

TEST(DigitsApart, StayTogetherWhereTheRestReachesOneMore) {
  const ConstraintSet set = set_of("{[a, b]: 4*a + b = 0 and -4 <= b <= 3}");
  EXPECT_FALSE(with_digits_apart(set).implies(Constraint{Affine("b"), true}));
  EXPECT_FALSE(with_digits_apart(set).is_empty());
}

TEST(DigitsApart, TakeBoundsOfSums) {
  // no bound of b alone
  const ConstraintSet set = set_of("{[a, b, c]: 8*a + 2*b + c = 0 and -3 <= 2*b + c <= 3}");
  EXPECT_TRUE(with_digits_apart(set).implies(Constraint{Affine("a"), true}));
}

}  // namespace
}  // namespace rtcg::loopy
