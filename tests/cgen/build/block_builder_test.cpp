#include "rtcg/cgen/build/block_builder.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

TEST(BlockBuilder, ReadsLikeTheCodeItMakes) {
  const auto target = param(pointer_to(f32), "target");
  const auto left = param(pointer_to(const_(f32)), "left");
  const auto right = param(pointer_to(const_(f32)), "right");
  auto idx = declare(i32, "idx", thread_idx_x + block_dim_x * block_idx_x);
  BlockBuilder body;
  body << idx << assign(target[idx], left[idx] + right[idx]);
  const Declared add = kernel("add", {target, left, right}, body);

  const auto* function = get_if<Function>(add.declaration());
  ASSERT_NE(function, nullptr);
  EXPECT_TRUE(function->specifiers.is_kernel);
  ASSERT_EQ(function->parameters.size(), 3U);
  const auto& statements = get_if<Block>(*function->body)->statements;
  ASSERT_EQ(statements.size(), 2U);
  EXPECT_TRUE(is<Declaration>(statements[0]));
  EXPECT_TRUE(is<ExpressionStatement>(statements[1]));
  const Module module{"add", {add}};
  check_types(module);
  check_names(module, Dialect::cuda);
}

TEST(BlockBuilder, DeclaresConstantsAndArrays) {
  BlockBuilder body;
  const Expr count = body.add_constant(i32, "count", 3);
  const unsigned line = __LINE__ - 1;
  const Expr numbers = body.add_array(f32, "numbers", 4);
  body << assign(numbers[count], 1.0F);
  ASSERT_EQ(body.statements().size(), 3U);
  const auto* constant = get_if<Declaration>(body.statements()[0]);
  const auto* array = get_if<Declaration>(body.statements()[1]);
  ASSERT_NE(constant, nullptr);
  ASSERT_NE(array, nullptr);
  EXPECT_TRUE(constant->name == "count" && constant->type == const_(i32));
  EXPECT_TRUE(array->name == "numbers" && array->type == array_of(f32, Expr(4)));
  EXPECT_EQ(body.statements()[0].where().line, line);
  EXPECT_EQ(body.statements()[1].where().line, line + 2);
  check_types({"numbers", {function(void_type, "f", {}, body)}});
}

TEST(BlockBuilder, RemembersTheLineThatBuilt) {
  const auto x = variable("x", i32);
  const Expr sum = x + 1;
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(sum.where().line, line);
  const Statement statement = assign(x, 1);
  EXPECT_EQ(statement.where().line, line + 3);
  EXPECT_NE(std::string(statement.where().file).find("block_builder_test.cpp"), std::string::npos);
}

TEST(BlockBuilder, ChainsElseIf) {
  const auto x = variable("x", i32);
  const Statement chain = if_(x < 0, assign(x, 0)).else_if_(x > 9, {assign(x, 9)}).else_(return_());
  const auto* first = get_if<If>(chain);
  ASSERT_NE(first, nullptr);
  const auto* second = get_if<If>(*first->else_body);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(is<Block>(*second->else_body));
}

TEST(BlockBuilder, PutsEveryBodyInABlock) {
  const auto x = variable("x", i32);
  const Module two{"two", {assign(x, 1), assign(x, 2)}};
  const Statement with_module = if_(x > 0, two);
  const Statement with_group = if_(x > 0, BlockBuilder{assign(x, 1), assign(x, 2)}.group());
  const Statement with_block = if_(x > 0, BlockBuilder{assign(x, 1), assign(x, 2)});
  EXPECT_TRUE(is<Block>(get_if<If>(with_module)->then_body));
  EXPECT_TRUE(with_module == with_group);
  EXPECT_TRUE(with_module == with_block);
  const Statement bare = If{x > 0, Group{{assign(x, 1), assign(x, 2)}}};
  EXPECT_TRUE(bare == with_module);
}

TEST(BlockBuilder, MakesCountedLoops) {
  const auto n = variable("n", i32);
  const auto a = variable("a", pointer_to(f64));
  const Statement loop =
      for_(i32, "i", 0, n, [&](Expr i, BlockBuilder& body) { body << assign(a[i], 0.0); });
  const auto* counted = get_if<For>(loop);
  ASSERT_NE(counted, nullptr);
  EXPECT_TRUE(*counted->step == increment(variable("i", i32)));
  const Statement strided =
      for_(i32, "i", 0, n, [&](Expr i, BlockBuilder& body) { body << assign(a[i], 0.0); },
           {.step = 4, .unroll = 8});
  EXPECT_TRUE(*get_if<For>(strided)->step == add_assign(variable("i", i32), 4));
  EXPECT_EQ(get_if<For>(strided)->unroll, 8);
  check_types(strided);
}

TEST(BlockBuilder, MakesLoopsAndSwitches) {
  const auto x = variable("x", i32);
  check_types(while_(x > 0, [&](BlockBuilder& body) { body << add_assign(x, -1) << break_(); }));
  check_types(do_while_(add_assign(x, 1), x < 3));
  const Statement choice = switch_(x).case_({0, 1}, {assign(x, 1), break_()}).default_(return_());
  ASSERT_TRUE(is<Switch>(choice));
  EXPECT_EQ(get_if<Switch>(choice)->cases.size(), 2U);
  EXPECT_TRUE(get_if<Switch>(choice)->cases[1].is_default);
  check_types(choice);
}

TEST(BlockBuilder, DeclaresSharedMemory) {
  auto tile = shared_array(f32, "tile", {16, 17});
  EXPECT_TRUE(tile.type() == array_of(array_of(f32, 17), 16));
  EXPECT_TRUE(tile[0][1].type() == f32);
  auto rest = dynamic_shared_array(f32, "rest");
  BlockBuilder body;
  body << tile << rest << barrier() << assign(tile[thread_idx_x][0], rest[thread_idx_x]);
  const Module module{"m", {constant_array(f32, "table", {32}), kernel("k", {}, body, {256, 2})}};
  check_types(module);
  check_names(module, Dialect::cuda);
}

TEST(BlockBuilder, CallsWhatItDefined) {
  const auto x = param(f32, "x");
  const Declared square = function(f32, "square", {x}, return_(x * x), {.is_device = true});
  const Expr used = call(square, {2.0f});
  EXPECT_TRUE(used.type() == f32);
  const Module module{"m", {square, function(f32, "four", {}, return_(used))}};
  check_types(module);
  check_names(module, Dialect::cuda);
}

TEST(BlockBuilder, LaunchesKernels) {
  const Declared k = kernel("k", {param(pointer_to(f32), "x")}, {});
  const auto data = param(pointer_to(f32), "data");
  const Statement right = launch(k, 4, 32, {data});
  check_types(Module{"m", {k, function(void_type, "host", {data}, right)}});
  EXPECT_EQ(launch(k, 4, 32, {data}).type(), void_type);
  EXPECT_ERROR("cgen.check_types.argument_count", check_types(launch(k, 4, 32, {})));
}

TEST(BlockBuilder, GivesAutoTheTypeOfItsInitializer) {
  EXPECT_TRUE(declare(auto_type, "x", 2.0f * variable("d", f64)).type() == f64);
}

}  // namespace
}  // namespace rtcg::cgen
