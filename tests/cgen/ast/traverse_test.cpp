#include "rtcg/cgen/ast/traverse.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {
namespace {

const Expr x = variable("x", i32);
const Expr y = variable("y", i32);

std::vector<std::string> variables_of(const Statement& statement) {
  std::vector<std::string> names;
  WalkVisitor visitor;
  visitor.expr = [&](const Expr& e) {
    if (const auto* variable = get_if<Variable>(e)) {
      names.push_back(variable->name);
    }
    return true;
  };
  walk(statement, visitor);
  return names;
}

TEST(Walk, VisitsParentsFirstAndLeftToRight) {
  std::vector<std::string> seen;
  walk((x + 1) * y, {nullptr,
                     [&](const Expr& e) {
                       seen.push_back(describe(e));
                       return true;
                     },
                     nullptr});
  EXPECT_EQ(seen, (std::vector<std::string>{"((x + 1) * y)", "(x + 1)", "x", "1", "y"}));
}

TEST(Walk, ReachesExtentsBranchesAndCases) {
  const Statement extents = declare(array_of(f32, x + 1), "a");
  EXPECT_EQ(variables_of(extents), std::vector<std::string>{"x"});
  const Statement preprocessor = PreprocessorIf{{{PreprocessorTest::ifdef, "A", {assign(x, 1)}},
                                                 {PreprocessorTest::if_, "B", {assign(y, 1)}}},
                                                std::vector<Statement>{assign(x, y)}};
  EXPECT_EQ(variables_of(preprocessor), (std::vector<std::string>{"x", "y", "x", "y"}));
  const Statement choice = switch_(x).case_({y}, assign(x, 2));
  EXPECT_EQ(variables_of(choice), (std::vector<std::string>{"x", "y", "x"}));
  const Statement assembly = InlineAsm{"nop", {{"=r", x}}, {{"r", y}}};
  EXPECT_EQ(variables_of(assembly), (std::vector<std::string>{"x", "y"}));
}

TEST(Walk, StaysOutWhereToldTo) {
  int count = 0;
  walk((x + 1) * y, {nullptr, [&](const Expr&) { return ++count < 0; }, nullptr});
  EXPECT_EQ(count, 1);
}

TEST(Rewrite, KeepsWhatDoesNotChange) {
  const Statement statement = if_(x < 1, assign(y, x + 1));
  const Statement same = rewrite(statement, {nullptr, [](const Expr& e) { return e; }, nullptr});
  EXPECT_EQ(&same.node(), &statement.node());
  const Expr left = x * 2;
  const Expr right = y * 3;
  const Expr changed = substitute(left + right, {{"y", 7}});
  EXPECT_EQ(&get_if<Binary>(changed)->left.node(), &left.node());
  EXPECT_EQ(describe(changed), "((x * 2) + (7 * 3))");
}

TEST(Rewrite, RewritesSharedNodesOnce) {
  const Expr shared = x + 1;
  Expr doubled = shared;
  for (int i = 0; i < 60; ++i) {  // 2^60 paths
    doubled = doubled * doubled;
  }
  int calls = 0;
  const Expr rewritten = rewrite(doubled, {nullptr,
                                           [&](const Expr& e) {
                                             ++calls;
                                             return is<IntLiteral>(e) ? Expr(2) : e;
                                           },
                                           nullptr});
  EXPECT_EQ(calls, 63);
  const auto* top = get_if<Binary>(rewritten);
  EXPECT_EQ(&top->left.node(), &top->right.node());
  const Expr replaced = substitute(doubled, {{"x", y}});
  EXPECT_FALSE(replaced == doubled);
}

TEST(Rewrite, HandlesLongChains) {
  Expr sum = x;
  for (int i = 0; i < 100000; ++i) {
    sum = sum + 1;
  }
  const Expr longer = rewrite(
      sum, {nullptr, [](const Expr& e) { return is<Variable>(e) ? Expr(variable("l", i64)) : e; },
            nullptr});
  EXPECT_TRUE(longer.type() == i64);
}

TEST(Rewrite, InfersTypesAnewAndKeepsOrigins) {
  const Expr sum = x + 1;
  const Expr wide = substitute(sum, {{"x", variable("l", i64)}});
  EXPECT_TRUE(wide.type() == i64);
  EXPECT_EQ(wide.where().line, sum.where().line);
}

TEST(Rewrite, ReplacesTypesAndStatements) {
  const Module module{"m",
                      {function(f32, "f", {param(f32, "a")}, {declare(f32, "b"), return_(1.0f)})}};
  Rewriter rewriter;
  rewriter.type = [](const Type& t) { return t == f32 ? f64 : t; };
  rewriter.statement = [](const Statement& s) { return is<Return>(s) ? comment("gone") : s; };
  const Module changed = rewrite(module, rewriter);
  const auto* f = get_if<Function>(changed.items[0]);
  EXPECT_TRUE(*f->result == f64);
  EXPECT_TRUE(f->parameters[0].type == f64);
  EXPECT_TRUE(is<Comment>(get_if<Block>(*f->body)->statements[1]));
}

TEST(Substitute, RespectsScopes) {
  BlockBuilder body;
  body << assign(y, x) << declare(i32, "x", 1) << assign(y, x);
  const Statement result = substitute(body.block(), {{"x", 5}});
  const auto& statements = get_if<Block>(result)->statements;
  EXPECT_EQ(describe(statements[0]), "y = 5");
  EXPECT_EQ(describe(statements[2]), "y = x");
  const Statement inner =
      substitute(for_(i32, "i", x, 9, [&](Expr i, BlockBuilder& b) { b << assign(y, i + x); }),
                 {{"x", 5}, {"i", 6}});
  EXPECT_EQ(describe(get_if<Block>(get_if<For>(inner)->body)->statements[0]), "y = (i + 5)");
  const Declared f = function(i32, "f", {param(i32, "x")}, return_(x));
  const Statement own = substitute(f.declaration(), {{"x", 5}});
  EXPECT_EQ(free_names(own), std::set<std::string>{});
}

TEST(FreeNames, AreThoseThatAreUsedAndNotDeclared) {
  EXPECT_EQ(free_names(x + y * x), (std::set<std::string>{"x", "y"}));
  BlockBuilder body;
  body << declare(i32, "x", y) << assign(x, RawExpr{"a + b", i32, {"a", "b"}})
       << RawStatement{"int c = d;", {"c"}, {"d"}} << assign(variable("c", i32), 1);
  EXPECT_EQ(free_names(body.block()), (std::set<std::string>{"a", "b", "d", "y"}));
  const Expr lambda = Lambda{{{i32, "x"}}, Statement(Block{{return_(x + y)}})};
  EXPECT_EQ(free_names(lambda), std::set<std::string>{"y"});
}

}  // namespace
}  // namespace rtcg::cgen
