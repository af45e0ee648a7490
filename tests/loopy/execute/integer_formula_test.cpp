#include "rtcg/loopy/execute/integer_formula.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

Expr random_expr(std::mt19937& random, int depth) {
  const auto part = [&] { return random_expr(random, depth - 1); };
  const char* const names[] = {"x", "y", "z", "unknown"};
  switch (depth == 0 ? random() % 2 : 2 + random() % 8) {
    case 0:
      return static_cast<std::int64_t>(random() % 9) - 4;
    case 1:
      return name(names[random() % 40 / 13]);
    case 2:
      return Sum{{part(), part(), part()}};
    case 3:
      return Product{{part(), part()}};
    case 4:
      return FloorDiv{part(), part()};
    case 5:
      return Modulo{part(), part()};
    case 6:
      return call("min", {part(), part()});
    case 7:
      return call("max", {part(), part()});
    case 8:
      return call("abs", {part()});
    default:
      return Conditional{compare(ComparisonOp::less, part(), part()), part(), part()};
  }
}

TEST(IntegerFormula, GivesWhatEvaluateIntegerGives) {
  const IntegerValues values{{"x", -7}, {"y", 3}, {"z", 0}};
  const std::vector<std::string> names = {"z", "x", "missing", "y"};
  const IntegerList list = {0, -7, {}, 3};
  std::mt19937 random(1);
  int known = 0;
  for (int i = 0; i < 3000; ++i) {
    const Expr expr = random_expr(random, 1 + i % 5);
    const auto wanted = evaluate_integer(expr, values);
    known += wanted ? 1 : 0;
    EXPECT_EQ(IntegerFormula(expr, names).evaluate(list), wanted) << to_string(expr);
  }
  EXPECT_GT(known, 1000);
  EXPECT_FALSE(IntegerFormula(name("missing") + 1, names).evaluate(list));
  EXPECT_FALSE(
      IntegerFormula(name("y") + std::numeric_limits<std::int64_t>::max(), names).evaluate(list));
  Expr deep = name("x");
  for (int i = 0; i < 40; ++i) {
    deep = Sum{{name("y"), deep}};
  }
  EXPECT_EQ(IntegerFormula(deep, names).evaluate(list), 40 * 3 - 7);
}

}  // namespace
}  // namespace rtcg::loopy
