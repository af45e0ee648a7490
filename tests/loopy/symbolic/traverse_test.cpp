#include "rtcg/loopy/symbolic/traverse.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Has every kind of expression.
const char* const everything =
    "if(not i < n and j >= 0, a[i, b[[j]]] / 2.5 - f(i)**j, cast(f32, i // 4 % 3) + (i & j)) + "
    "sum(k, c[k]*n)";

TEST(Traverse, VisitsOutermostFirstFromLeftToRight) {
  std::string visited;
  walk(parse_expr("a[i] + f(j, 2)"), [&](const Expr& part) {
    visited += to_string(part) + "; ";
    return !is<Call>(part);
  });
  EXPECT_EQ(visited, "a[i] + f(j, 2); a[i]; i; f(j, 2); ");
}

TEST(Traverse, ReachesEveryKind) {
  std::set<std::size_t> seen;
  walk(parse_expr(everything), [&](const Expr& part) {
    seen.insert(kinds(part).index);
    return true;
  });
  EXPECT_EQ(seen.size(), boost::variant2::variant_size<ExprKinds::Variant>::value);
}

TEST(MapChildren, GivesTheSameNodeWhereNothingChanges) {
  const Expr expr = parse_expr(everything);
  const Expr same = map_children(expr, [](const Expr& child) { return child; });
  EXPECT_EQ(&same.node(), &expr.node());
  const Expr rewritten =
      rewrite_bottom_up(expr, [](const Expr&) -> std::optional<Expr> { return std::nullopt; });
  EXPECT_EQ(&rewritten.node(), &expr.node());
}

TEST(RewriteBottomUp, SeesPartsThatAreDone) {
  // 1 becomes 2, then 2 + 2 becomes 4
  const Expr expr = rewrite_bottom_up(parse_expr("a[1 + i] + 1"), [](const Expr& part) {
    return as_integer(part) == 1 ? std::optional<Expr>(2)
           : is<Access>(part)    ? std::optional<Expr>(2)
                                 : std::nullopt;
  });
  EXPECT_EQ(expr, Expr(4));
}

TEST(Substitute, ReplacesNamesAndLeavesBoundOnesAlone) {
  const Expr expr = parse_expr("i + a[i, k] + sum(k, i*k + sum(i, i)) + f(k)");
  EXPECT_EQ(to_string(substitute(expr, {{"i", parse_expr("2*x + 1")}, {"k", 7}})),
            "2*x + 1 + a[2*x + 1, 7] + sum(k, (2*x + 1)*k + sum(i, i)) + f(7)");
  EXPECT_EQ(substitute(expr, {}), expr);
  // at once, not one after the other
  EXPECT_EQ(to_string(substitute(parse_expr("i - j"), {{"i", name("j")}, {"j", name("i")}})),
            "j - i");
}

TEST(RenameAll, RenamesEveryKindOfName) {
  const Expr expr = parse_expr("i + a[i] + b[[i]] + f(i) + sum(i, i)");
  EXPECT_EQ(to_string(rename_all(expr, {{"i", "x"}, {"a", "aa"}, {"b", "bb"}, {"f", "ff"}})),
            "x + aa[x] + bb[[x]] + ff(x) + sum(x, x)");
}

TEST(Names, AreFoundInEveryKind) {
  const Expr expr = parse_expr(everything);
  EXPECT_EQ(free_names(expr), (Names{"i", "j", "n"}));
  EXPECT_EQ(accessed_arrays(expr), (Names{"a", "b", "c"}));
  EXPECT_EQ(called_functions(expr), (Names{"f"}));
  EXPECT_EQ(reduction_inames(expr), (Names{"k"}));
  // free outside of the reduction, bound within
  EXPECT_EQ(free_names(parse_expr("k + sum(k, k)")), (Names{"k"}));
}

}  // namespace
}  // namespace rtcg::loopy
