#include "rtcg/loopy/analyze/evaluate_integer.h"

#include <limits>

#include <gtest/gtest.h>

namespace rtcg::loopy {
namespace {

const IntegerValues values{{"x", -7}, {"y", 3}, {"z", 0}};
const Expr x = name("x");
const Expr y = name("y");

TEST(EvaluateInteger, ComputesIntegers) {
  EXPECT_EQ(evaluate_integer(2 * x + y - 1, values), -12);
  EXPECT_EQ(evaluate_integer(floor_div(x, y), values), -3);
  EXPECT_EQ(evaluate_integer(modulo(x, y), values), 2);
  EXPECT_EQ(evaluate_integer(modulo(y, x), values), -4);
  EXPECT_EQ(evaluate_integer(call("abs", {x}), values), 7);
  EXPECT_EQ(evaluate_integer(call("min", {x, y}), values), -7);
  EXPECT_EQ(evaluate_integer(call("max", {x, y}), values), 3);
  EXPECT_EQ(evaluate_integer(Conditional{compare(ComparisonOp::less, x, y), 1, x}, values), 1);
  EXPECT_EQ(evaluate_integer(Affine("x", 2) + 1, values), -13);
}

TEST(EvaluateInteger, ComputesConditions) {
  const Expr is_less = compare(ComparisonOp::less, x, y);
  EXPECT_EQ(evaluate_integer(is_less, values), 1);
  EXPECT_EQ(evaluate_integer(Not{is_less}, values), 0);
  EXPECT_EQ(evaluate_integer(logical_and({is_less, logical_not(is_less)}), values), 0);
  // what is not computed need not be known
  EXPECT_EQ(evaluate_integer(logical_or({is_less, name("unknown")}), values), 1);
}

TEST(EvaluateInteger, GivesNothingWhereThereIsNoInteger) {
  EXPECT_FALSE(evaluate_integer(name("unknown") + 1, values));
  EXPECT_FALSE(evaluate_integer(floor_div(x, name("z")), values));
  EXPECT_FALSE(evaluate_integer(Expr(1.5), values));
  EXPECT_FALSE(evaluate_integer(access("a", {x}), values));
  EXPECT_FALSE(evaluate_integer(y + std::numeric_limits<std::int64_t>::max(), values));
  EXPECT_FALSE(evaluate_integer(Affine("unknown"), values));
}

TEST(Contains, HoldsAPointAgainstAllConstraints) {
  ConstraintSet set;
  set.add_nonnegative(Affine("y") - 3);
  set.add(Congruence{Affine("x"), 7});
  EXPECT_TRUE(contains(set, values));
  set.add_zero(Affine("y") - 4);
  EXPECT_FALSE(contains(set, values));
}

}  // namespace
}  // namespace rtcg::loopy
