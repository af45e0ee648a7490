// Which reductions by rules give something else where the sides of a combination are exchanged.
#include "rtcg/loopy/analyze/exchanged_sides.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Whether `reduce(op, i, operands)` gets an order.
bool is_ordered(const std::string& rules, const std::string& operands, std::size_t results = 1,
                const std::string& type = "f64") {
  std::string targets;
  for (std::size_t i = 0; i < results; ++i) {
    targets += (i == 0 ? "z" : ", z") + std::to_string(i) + "[0]";
  }
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < n}", rules + "\n" + targets + " = reduce(op, i, " + operands + ")",
      {.arguments = "...; x, y, w: " + type + "[n]", .default_type = cgen::f64});
  bool result = false;
  for_each_expression(kernel.instructions.front(), [&](const Expr& expr) {
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      result = changes_when_exchanged(kernel, *reduction);
      EXPECT_EQ(!reduction->order.empty(), result);
    }
  });
  return result;
}

TEST(ExchangedSides, OfProductsOfMatricesAndMapsGiveSomethingElse) {
  EXPECT_TRUE(
      is_ordered("op(a, b, c, d) := make_tuple(c*a, c*b + d) {neutral=1:0}", "x[i], y[i]", 2));
  EXPECT_TRUE(is_ordered(
      "op(a, b, c, d, e, f, g, h) := make_tuple(a*e + b*g, a*f + b*h, c*e + d*g, c*f + d*h) "
      "{neutral=1:0:0:1}",
      "x[i], y[i], w[i], 1", 4));
  EXPECT_TRUE(is_ordered("op(a, b) := 31*a + b {neutral=0}", "x[i]", 1, "i64"));
  EXPECT_TRUE(is_ordered("op(a, b) := a ^ (b << 1) {neutral=0}", "x[i]", 1, "i64"));
}

TEST(ExchangedSides, OfChoicesByPlaceDecideTies) {
  const std::string least =
      "op(a, i, b, j) := make_tuple(if(a < b or (a == b and i < j), a, b), "
      "if(a < b or (a == b and i < j), i, j)) {neutral=1e30:1000000}";
  EXPECT_FALSE(is_ordered(least, "x[i], i", 2));
  const std::string first =
      "op(a, i, b, j) := make_tuple(if(b < a, b, a), if(b < a, j, i)) "
      "{neutral=1e30:1000000}";
  EXPECT_TRUE(is_ordered(first, "x[i], i", 2));
}

TEST(ExchangedSides, OfTheLastOrFirstValueGiveAnother) {
  EXPECT_TRUE(is_ordered("op(a, b) := if(b != -1, b, a) {neutral=-1}", "x[i]", 1, "i32"));
  EXPECT_TRUE(is_ordered("op(a, b) := if(a != 1000000, a, b) {neutral=1000000}", "x[i]", 1, "i32"));
  EXPECT_TRUE(is_ordered("op(v, s, w, t) := make_tuple(if(t > 0, w, v), max(s, t)) {neutral=0:0}",
                         "x[i], y[i] > 0", 2));
  EXPECT_TRUE(is_ordered("op(a, b) := if(abs(a) < abs(b), b, a) {neutral=0}", "x[i]"));
  EXPECT_FALSE(is_ordered("op(a, b) := if(a < b, b, a) {neutral=-1e30}", "x[i]"));
}

TEST(ExchangedSides, OfSumsWithTheirRoundingGiveTheSame) {
  EXPECT_FALSE(is_ordered("op(a, b) := a + b {neutral=0}", "x[i]"));
  // Knuth's sum of two numbers and its rounding
  EXPECT_FALSE(
      is_ordered("op(a, e, b, f) := make_tuple(a + b, e + f + ((a - ((a + b) - ((a + b) - a))) + "
                 "(b - ((a + b) - a)))) {neutral=0:0}",
                 "x[i], 0", 2));
  // Chan, Golub and LeVeque: number, mean and squared deviations
  const std::string merged =
      "op(n1, m1, s1, n2, m2, s2) := make_tuple(n1 + n2, m1 + (m2 - m1)*n2/max(n1 + n2, 1), "
      "s1 + s2 + (m2 - m1)**2*n1*n2/max(n1 + n2, 1)) {neutral=0:0:0}";
  EXPECT_FALSE(is_ordered(merged, "1, x[i], 0", 3));
  EXPECT_FALSE(is_ordered(
      "op(m, s, n, t) := make_tuple(max(m, n), s*exp(m - max(m, n)) + t*exp(n - max(m, n))) "
      "{neutral=-1e30:0}",
      "x[i], 1", 2));
  EXPECT_FALSE(is_ordered("op(a, b) := hypot(a, b) {neutral=0}", "x[i]"));
  EXPECT_FALSE(is_ordered("op(a, b) := log(exp(a) + exp(b)) {neutral=-1e30}", "x[i]"));
}

TEST(ExchangedSides, OfSetsAndBoundsGiveTheSame) {
  EXPECT_FALSE(is_ordered("op(a, b) := a | b {neutral=0}", "x[i]", 1, "u32"));
  EXPECT_FALSE(is_ordered("op(a, b) := a ^ b {neutral=0}", "x[i]", 1, "u64"));
  EXPECT_FALSE(is_ordered("op(a, b, c, d) := make_tuple(min(a, c), max(b, d)) {neutral=1e30:-1e30}",
                          "x[i], x[i]", 2));
  EXPECT_FALSE(
      is_ordered("op(a1, a2, b1, b2) := make_tuple(max(a1, b1), max(min(a1, b1), max(a2, b2))) "
                 "{neutral=-1e30:-1e30}",
                 "x[i], -1e30", 2));
  EXPECT_FALSE(is_ordered("op(a, b) := (a + b) % 7 {neutral=0}", "x[i]", 1, "i32"));
  EXPECT_FALSE(is_ordered("op(a, b, c, d) := make_tuple(a*c - b*d, a*d + b*c) {neutral=1:0}",
                          "x[i], y[i]", 2));
}

TEST(ExchangedSides, OfFunctionsThatNobodyKnowsAreExchangedAsArguments) {
  EXPECT_FALSE(is_ordered("op(a, b) := round(a) + round(b) {neutral=0}", "x[i]"));
  EXPECT_TRUE(is_ordered("op(a, b) := a + round(b) {neutral=0}", "x[i]"));
  EXPECT_TRUE(is_ordered("op(a, b) := atan2(a, b) {neutral=0}", "x[i]"));
}

}  // namespace
}  // namespace rtcg::loopy
