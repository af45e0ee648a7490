#include "rtcg/loopy/symbolic/parse_expr.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");

TEST(ParseExpr, ReadsOperatorsByPrecedence) {
  EXPECT_EQ(parse_expr("2*a[i] - b[i, j + 1]"), 2 * access("a", {i}) - access("b", {i, j + 1}));
  EXPECT_EQ(parse_expr("i - j - 1"), i - j - 1);
  EXPECT_EQ(parse_expr("-i**2"), -power(i, 2));
  EXPECT_EQ(parse_expr("i**j**2"), power(i, power(j, 2)));
  EXPECT_EQ(parse_expr("i // 4 % 2"), modulo(floor_div(i, 4), 2));
  EXPECT_EQ(parse_expr("i << 1 | j & 3 ^ 1"),
            Expr(Bitwise{BitOp::or_, Bitwise{BitOp::shift_left, i, 1},
                         Bitwise{BitOp::xor_, Bitwise{BitOp::and_, j, 3}, 1}}));
  EXPECT_EQ(parse_expr("not i < 2 and j or i == j"),
            logical_or({logical_and({Not{compare(ComparisonOp::less, i, 2)}, j}),
                        compare(ComparisonOp::equal, i, j)}));
}

TEST(ParseExpr, ReadsChainsOfComparisonsAsAnd) {
  EXPECT_EQ(parse_expr("0 <= i < j"), logical_and({compare(ComparisonOp::less_equal, 0, i),
                                                   compare(ComparisonOp::less, i, j)}));
}

TEST(ParseExpr, ReadsBothConditionals) {
  const Expr expected = Conditional{compare(ComparisonOp::less, i, j), access("a", {i}), 0};
  EXPECT_EQ(parse_expr("if(i < j, a[i], 0)"), expected);
  EXPECT_EQ(parse_expr("a[i] if i < j else 0"), expected);
}

TEST(ParseExpr, ReadsReductions) {
  const Expr square = power(access("a", {i}), 2);
  EXPECT_EQ(parse_expr("sum(i, a[i]**2)"), Expr(Reduction{"sum", {"i"}, {square}}));
  EXPECT_EQ(parse_expr("sum((i, j), i*j)"), Expr(Reduction{"sum", {"i", "j"}, {i * j}}));
  EXPECT_EQ(parse_expr("reduce(max, i, i)"), Expr(Reduction{"max", {"i"}, {i}}));
  EXPECT_EQ(parse_expr("simul_reduce(sum, i, i)"), Expr(Reduction{"sum", {"i"}, {i}}));
  EXPECT_EQ(parse_expr("argmax(i, a[i], i)"),
            Expr(Reduction{"argmax", {"i"}, {access("a", {i}), i}}));
  EXPECT_EQ(parse_expr("sum_float32(i, i)"), Expr(Reduction{"sum", {"i"}, {Cast{cgen::f32, i}}}));
  const Expr wide = Cast{cgen::f64, access("a", {i})};
  EXPECT_EQ(parse_expr("sum_f64((i, j), a[i])"), Expr(Reduction{"sum", {"i", "j"}, {wide}}));
  EXPECT_EQ(parse_expr("reduce(max_f64, i, a[i])"), Expr(Reduction{"max", {"i"}, {wide}}));
  EXPECT_EQ(parse_expr("argmin_f64(i, a[i], i)"), Expr(Reduction{"argmin", {"i"}, {wide, i}}));
  EXPECT_EQ(parse_expr("scan(sum_f64, i, a[i])"), parse_expr("scan(sum, i, cast(f64, a[i]))"));
  EXPECT_EQ(parse_expr("min(i, j)"), call("min", {i, j}));
  EXPECT_EQ(parse_expr("sum_of(i)"), call("sum_of", {i}));
}

TEST(ParseExpr, ReadsNumbersCastsAndLinearAccesses) {
  EXPECT_EQ(parse_expr("2.0f"), Expr(Real{2, cgen::ScalarKind::f32}));
  EXPECT_EQ(parse_expr("5d"), Expr(Real{5, cgen::ScalarKind::f64}));
  EXPECT_EQ(parse_expr("2j"), call("make_complex", {0, 2}));
  EXPECT_EQ(parse_expr("1.5e2j"), call("make_complex", {0, 150.0}));
  EXPECT_EQ(parse_expr("5jf"), call("make_complex", {0, Real{5, cgen::ScalarKind::f32}}));
  EXPECT_EQ(parse_expr(".5e-1"), Expr(0.05));
  EXPECT_EQ(parse_expr("cast(float32, i)"), Expr(Cast{cgen::f32, i}));
  EXPECT_EQ(parse_expr("cast(c64, i)"), Expr(Cast{cgen::complex_of(cgen::f32), i}));
  EXPECT_EQ(parse_expr("cast(float4, i)"), Expr(Cast{cgen::vector_of(cgen::f32, 4), i}));
  EXPECT_EQ(parse_expr("a[[b[i]]]"), Expr(LinearAccess{"a", access("b", {i})}));
}

TEST(ParseExpr, RefusesWhatIsNoExpression) {
  for (const char* text : {"",
                           "i +",
                           "(i",
                           "i)",
                           "a[]",
                           "a[i",
                           "i j",
                           "1 // 0",
                           "if(i, j)",
                           "cast(word, i)",
                           "sum(2, i)",
                           "sum(i)",
                           "argmax(i, i)",
                           "reduce(2, i, i)",
                           "any_f32(i, i)",
                           "reduce(all_i32, i, i)",
                           "9223372036854775808",
                           "i @ j",
                           "a if b",
                           "$"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.parse_expr.syntax", parse_expr(text));
  }
}

TEST(ParseExpr, PointsAtTheMistake) {
  try {
    static_cast<void>(parse_expr("a[i] + (b[i] - 1"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "expected ')', found the end at column 17\n"
              "  a[i] + (b[i] - 1\n"
              "                  ^");
  }
}

}  // namespace
}  // namespace rtcg::loopy
