#include "rtcg/loopy/analyze/index_cases.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/evaluate_integer.h"

namespace rtcg::loopy {
namespace {

const Expr x = name("x");
const Expr y = name("y");
const Expr n = name("n");

/// For each point of a small box, whether some case holds there whose value is that of `index`.
void expect_covers(const Expr& index) {
  const std::vector<IndexCase> cases = index_cases(index);
  ASSERT_FALSE(cases.empty());
  for (std::int64_t at_x = -5; at_x <= 5; ++at_x) {
    for (std::int64_t at_y = -5; at_y <= 5; ++at_y) {
      const IntegerValues values{{"x", at_x}, {"y", at_y}, {"n", 3}};
      const auto expected = evaluate_integer(index, values);
      ASSERT_TRUE(expected);
      bool is_covered = false;
      for (const IndexCase& each : cases) {
        ConstraintSet here = each.context;
        for (const auto& [name, value] : values) {
          here.add_zero(Affine(name) - value);
        }
        const auto low = here.minimum(each.value);
        const auto high = here.maximum(each.value);
        is_covered = is_covered || (!here.is_empty() && low <= *expected && *expected <= high);
      }
      EXPECT_TRUE(is_covered) << at_x << ", " << at_y;
    }
  }
}

TEST(IndexCases, KeepsAffineExpressionsWhole) {
  const auto cases = index_cases(2 * x - y + 3);
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].value, Affine("x", 2) - Affine("y") + 3);
  EXPECT_TRUE(cases[0].context.is_unconstrained());
}

TEST(IndexCases, CoversEveryPoint) {
  expect_covers(floor_div(x + y, 3));
  expect_covers(modulo(x, 4) + 2 * modulo(y, 2));
  expect_covers(modulo(x, n));
  expect_covers(call("abs", {x - y}));
  expect_covers(call("min", {x, 2 * y}));
  expect_covers(call("max", {x, call("min", {y, 1})}));
  expect_covers(Conditional{compare(ComparisonOp::less, x, y), x, y + 1});
  expect_covers(2 * floor_div(call("abs", {x}), 2));
}

TEST(IndexCases, MakesNoClaimOfOtherExpressions) {
  EXPECT_TRUE(index_cases(x * y).empty());
  EXPECT_TRUE(index_cases(access("a", {x}) + 1).empty());
  EXPECT_TRUE(index_cases(floor_div(x, n)).empty());
  EXPECT_TRUE(index_cases(call("f", {x})).empty());
  Expr many = 0;
  for (int k = 0; k < 5; ++k) {
    many = many + call("abs", {x + k});
  }
  EXPECT_TRUE(index_cases(many).empty());
}

TEST(ComparisonsOf, NamesQuotients) {
  const Expr row = compare(ComparisonOp::less, floor_div(x, 4) + 8 * y, n);
  const Expr column = compare(ComparisonOp::less_equal, 4 * modulo(x, 4) + 3, n);
  const auto parts = comparisons_of(logical_and({row, column}));
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->front().comparison, row);
  // both speak of the same quotient: x is 4 of it and a rest from 0 to 3
  ConstraintSet context = parts->front().quotients;
  EXPECT_EQ(context, parts->back().quotients);
  context.add_nonnegative(Affine("n") - 15);
  EXPECT_TRUE(context.implies(parts->back().constraint));
  EXPECT_FALSE(context.implies(parts->front().constraint));
  EXPECT_TRUE(
      comparisons_of(compare(ComparisonOp::less, x, y))->front().quotients.is_unconstrained());
  EXPECT_TRUE(comparisons_of(Integer{1})->empty());
  EXPECT_FALSE(comparisons_of(compare(ComparisonOp::not_equal, x, y)));
  EXPECT_FALSE(comparisons_of(logical_or({row, column})));
  EXPECT_FALSE(comparisons_of(compare(ComparisonOp::less, call("abs", {x}), y)));
}

TEST(FactsOf, TakesWhatIsAffine) {
  const Expr is_low = compare(ComparisonOp::less, x, y);
  const Expr is_read = compare(ComparisonOp::less, access("a", {x}), 1);
  EXPECT_TRUE(context_of(logical_and({is_low, is_read}))
                  .implies_nonnegative(Affine("y") - Affine("x") - 1));
  EXPECT_TRUE(context_of(logical_or({is_low, is_read})).is_unconstrained());
  const Expr neither = Not{logical_or({is_low, is_read})};
  EXPECT_TRUE(context_of(neither).implies_nonnegative(Affine("x") - Affine("y")));
  EXPECT_TRUE(context_of(compare(ComparisonOp::equal, x, y))
                  .implies(Constraint{Affine("x") - Affine("y"), true}));
  EXPECT_TRUE(context_of(compare(ComparisonOp::not_equal, x, y)).is_unconstrained());
}

}  // namespace
}  // namespace rtcg::loopy
