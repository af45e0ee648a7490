#include "rtcg/cgen/ast/compare.h"

#include <limits>
#include <unordered_set>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {
namespace {

constexpr int chain_length = 100000;

Expr long_chain(int last) {
  Expr sum = variable("x", f32);
  for (int i = 0; i < chain_length; ++i) {
    sum = sum + 1.0f;
  }
  return sum + last;
}

TEST(CompareTrees, AreEqualByStructureWhereverBuilt) {
  const auto make = [] { return variable("x", i32) * 2 + variable("y", i32); };
  const Expr first = make();
  const Expr second = make();
  EXPECT_NE(&first.node(), &second.node());
  EXPECT_TRUE(first == second);
  EXPECT_EQ(first.hash(), second.hash());
  EXPECT_FALSE(first == first + 1);
  EXPECT_FALSE(variable("x", i32) == variable("x", i64));
  EXPECT_FALSE(variable("x", i32) + 1 == variable("x", i32) - 1);
}

TEST(CompareTrees, TellsZerosAndNansApart) {
  EXPECT_FALSE(Expr(0.0) == Expr(-0.0));
  const Expr nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(nan == Expr(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(Expr(1.0F) == Expr(1.0));
}

TEST(CompareTrees, ComparesStatementsAndModules) {
  const auto make = [](int extent) {
    BlockBuilder body;
    auto tile = shared_array(f32, "tile", {extent});
    body << tile << comment("fill") << assign(tile[0], 1.0f) << barrier() << return_();
    return Module{"m", {kernel("k", {param(pointer_to(f32), "p")}, body)}};
  };
  EXPECT_TRUE(make(3) == make(3));
  EXPECT_EQ(hash(make(3)), hash(make(3)));
  EXPECT_FALSE(make(3) == make(4));
  EXPECT_TRUE(make(3) != make(4));
}

TEST(CompareTrees, SeesEveryMember) {
  const Statement plain = Declaration{i32, "x"};
  Declaration changed{i32, "x"};
  changed.bit_width = 3;
  EXPECT_FALSE(plain == Statement(changed));
  Function function{void_type, "f"};
  const Statement declared = function;
  function.specifiers.is_noexcept = true;
  EXPECT_FALSE(declared == Statement(function));
  EXPECT_FALSE(Statement(Comment{"a"}) == Statement(Comment{"a", CommentStyle::block}));
  EXPECT_FALSE(Type(Pointer{f32}) == Type(Pointer{f32, true}));
}

TEST(CompareTrees, ServesHashTables) {
  std::unordered_set<Expr, TreeHash> set;
  set.insert(variable("x", i32) + 1);
  set.insert(variable("x", i32) + 1);
  set.insert(variable("x", i32) + 2);
  EXPECT_EQ(set.size(), 2U);
}

TEST(CompareTrees, HandlesChainsOfAnyDepth) {
  const Expr first = long_chain(1);
  const Expr second = long_chain(1);
  EXPECT_TRUE(first == second);
  EXPECT_FALSE(first == long_chain(2));
  EXPECT_TRUE(first.type() == f32);
  int count = 0;
  walk(first, {nullptr, [&](const Expr&) { return ++count > 0; }, nullptr});
  EXPECT_EQ(count, 2 * (chain_length + 1) + 1);
}

TEST(CompareTrees, DestroysDeepStatementsAndTypes) {
  Statement nested = EmptyStatement{};
  Type type = f32;
  for (int i = 0; i < chain_length; ++i) {
    nested = Block{{nested}};
    type = pointer_to(type);
  }
  EXPECT_FALSE(nested == Statement(EmptyStatement{}));
  EXPECT_TRUE(is<Pointer>(type));
}

}  // namespace
}  // namespace rtcg::cgen
