#include "rtcg/loopy/symbolic/print_expr.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/symbolic/parse_expr.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");
const Expr n = name("n");

TEST(PrintExpr, WritesAsPeopleDo) {
  EXPECT_EQ(to_string(2 * access("a", {i, j + 1})), "2*a[i, j + 1]");
  EXPECT_EQ(to_string(i - j), "i - j");
  EXPECT_EQ(to_string(i - 3 * j - 1), "i - 3*j - 1");
  EXPECT_EQ(to_string(i - (j - n)), "i - (j - n)");
  EXPECT_EQ(to_string(-i), "-i");
  EXPECT_EQ(to_string(-(i * j)), "-i*j");
  EXPECT_EQ(to_string(floor_div(i, 16) * 16 + modulo(i, 16)), "i // 16 * 16 + i % 16");
  EXPECT_EQ(to_string(i * floor_div(j, 2)), "i*(j // 2)");
  EXPECT_EQ(to_string(power(i, 2)), "i**2");
  EXPECT_EQ(to_string(power(Expr(-2), 2)), "(-2)**2");
  EXPECT_EQ(to_string(power(i + 1, -j)), "(i + 1)**-j");
}

TEST(PrintExpr, WritesCallsAccessesAndReductions) {
  EXPECT_EQ(to_string(LinearAccess{"a", i}), "a[[i]]");
  EXPECT_EQ(to_string(call("max", {i, j})), "max(i, j)");
  EXPECT_EQ(to_string(Cast{cgen::f32, i}), "cast(f32, i)");
  EXPECT_EQ(to_string(Conditional{compare(ComparisonOp::less, i, n), i, 0}), "if(i < n, i, 0)");
  EXPECT_EQ(to_string(Reduction{"sum", {"i", "j"}, {i * j}}), "sum((i, j), i*j)");
  EXPECT_EQ(to_string(Reduction{"min", {"i"}, {i}}), "reduce(min, i, i)");
  EXPECT_EQ(to_string(logical_and({compare(ComparisonOp::less, i, n), Not{i}})), "i < n and not i");
}

TEST(PrintExpr, MarksTheTypesOfNumbers) {
  EXPECT_EQ(to_string(Expr(2.0)), "2.0");
  EXPECT_EQ(to_string(Real{1.5, cgen::ScalarKind::f32}), "1.5f");
  EXPECT_EQ(to_string(Real{1.5, cgen::ScalarKind::f64}), "1.5d");
  EXPECT_EQ(to_string(Real{1.5, cgen::ScalarKind::f16}), "cast(f16, 1.5)");
  EXPECT_EQ(scalar_type_name(cgen::complex_of(cgen::f32)), "c64");
  EXPECT_EQ(scalar_type_name(cgen::vector_of(cgen::f32, 4)), "f32x4");
}

}  // namespace
}  // namespace rtcg::loopy
