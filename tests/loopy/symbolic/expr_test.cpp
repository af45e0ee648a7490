#include "rtcg/loopy/symbolic/expr.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");

TEST(LoopyExpr, FoldsIntegersAndNothingElse) {
  EXPECT_EQ(Expr(2) + 3, Expr(5));
  EXPECT_EQ(Expr(2) * 3, Expr(6));
  EXPECT_EQ(-Expr(2), Expr(-2));
  EXPECT_EQ(i + 0, i);
  EXPECT_EQ(0 + i, i);
  EXPECT_EQ(1 * i, i);
  EXPECT_EQ(i + 2 - 2, i);
  EXPECT_EQ(i + 2 + 3, Expr(Sum{{i, 5}}));
  EXPECT_EQ(-(-i), i);
  EXPECT_EQ(-(3 * i), Expr(Product{{-3, i}}));
  EXPECT_EQ(floor_div(i, 1), i);
  EXPECT_EQ(modulo(i, 1), Expr(0));
  EXPECT_EQ(power(i, 1), i);
  // real sums stay in their order: they round
  const Expr sum = Expr(0.1) + i + Expr(0.2);
  EXPECT_EQ(to_string(sum), "0.1 + i + 0.2");
}

TEST(LoopyExpr, FoldsNothingThatLeavesSixtyFourBits) {
  EXPECT_TRUE(is<Sum>(Expr(INT64_MAX) + 1));
  EXPECT_TRUE(is<Product>(Expr(INT64_MAX) * 2));
  EXPECT_TRUE(is<Sum>(i + INT64_MAX + INT64_MAX));
  EXPECT_FALSE(is<Integer>(-Expr(INT64_MIN)));
}

TEST(LoopyExpr, DividesConstantsRoundingDown) {
  for (std::int64_t numerator = -9; numerator <= 9; ++numerator) {
    for (std::int64_t denominator = -4; denominator <= 4; ++denominator) {
      if (denominator == 0) {
        continue;
      }
      const auto whole = evaluate_integer(FloorDiv{numerator, denominator}, {});
      const auto rest = evaluate_integer(Modulo{numerator, denominator}, {});
      EXPECT_EQ(evaluate_integer(floor_div(numerator, denominator), {}), whole);
      EXPECT_EQ(evaluate_integer(modulo(numerator, denominator), {}), rest);
      EXPECT_EQ(*whole * denominator + *rest, numerator);
      EXPECT_TRUE(*rest == 0 || (*rest > 0) == (denominator > 0));
    }
  }
}

TEST(LoopyExpr, ComparesStructure) {
  EXPECT_EQ(i + j, i + j);
  EXPECT_FALSE(i + j == j + i);
  EXPECT_FALSE(Expr(1) == Expr(1.0));
  EXPECT_FALSE(Expr(0.0) == Expr(-0.0));
  EXPECT_FALSE(Expr(Real{1, cgen::ScalarKind::f32}) == Expr(1.0));
  EXPECT_FALSE(access("a", {i}) == Expr(LinearAccess{"a", i}));
  EXPECT_FALSE(floor_div(i, 2) == modulo(i, 2));
  EXPECT_EQ((i + j).hash(), (i + j).hash());
  EXPECT_NE((i + j).hash(), (j + i).hash());
}

TEST(LoopyExpr, JoinsConditions) {
  const Expr less = compare(ComparisonOp::less, i, j);
  EXPECT_EQ(logical_and({}), Expr(1));
  EXPECT_EQ(logical_or({}), Expr(0));
  EXPECT_EQ(logical_and({1, less, 1}), less);
  EXPECT_EQ(logical_or({0, less}), less);
  EXPECT_EQ(logical_not(logical_not(i)), i);
}

TEST(LoopyExpr, NegatesEveryComparison) {
  for (int op = 0; op < 6; ++op) {
    for (std::int64_t left = 0; left < 3; ++left) {
      const Expr comparison = compare(static_cast<ComparisonOp>(op), left, 1);
      const Expr opposite = compare(negated(static_cast<ComparisonOp>(op)), left, 1);
      EXPECT_NE(evaluate_integer(comparison, {}), evaluate_integer(opposite, {}));
      EXPECT_EQ(evaluate_integer(logical_not(comparison), {}), evaluate_integer(opposite, {}));
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
