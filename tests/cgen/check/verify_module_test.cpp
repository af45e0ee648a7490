#include "rtcg/cgen/check/verify_module.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {
namespace {

Statement in_kernel(const std::vector<Statement>& statements, WorkGroupSize sizes = {64, 2, 1}) {
  Function kernel;
  kernel.result = void_type;
  kernel.name = "f";
  kernel.parameters = {param(i32, "n"), param(pointer_to(f32), "out")};
  kernel.body = Block{statements};
  kernel.specifiers.is_kernel = true;
  kernel.required_work_group_size = sizes;
  return kernel;
}

std::string problem_of(const std::vector<Statement>& statements,
                       VerifyDepth depth = VerifyDepth::everything) {
  return why_not_valid(Module{"m", {in_kernel(statements)}}, Dialect::opencl, {depth}).value_or("");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Expr v_n = variable("n", i32);
const Expr v_out = variable("out", pointer_to(f32));
const Expr v_i = variable("i", i32);

TEST(VerifyModule, FindsUndeclaredNamesAtAnyDepth) {
  for (const VerifyDepth depth : {VerifyDepth::names, VerifyDepth::everything}) {
    EXPECT_EQ(problem_of({assign(v_out[v_n], 1.0F)}, depth), "");
    EXPECT_TRUE(has(problem_of({assign(v_out[v_i], 1.0F)}, depth), "'i'"));
    EXPECT_TRUE(
        has(problem_of({Block{{declare(i32, "i", 0)}}, assign(v_out[v_i], 1.0F)}, depth), "'i'"));
    EXPECT_TRUE(has(problem_of({call("g", {v_n}, void_type)}, depth), "'g'"));
    EXPECT_TRUE(
        has(problem_of({for_(i32, "k", 0, v_i, [](Expr, BlockBuilder&) {})}, depth), "'i'"));
  }
}

TEST(VerifyModule, KeepsManyNamesApart) {
  std::vector<Statement> statements;
  for (int i = 0; i < 2000; ++i) {
    statements.push_back(declare(i32, "x" + std::to_string(i), i));
  }
  statements.push_back(assign(v_out[variable("x1999", i32)], 1.0F));
  EXPECT_EQ(problem_of(statements, VerifyDepth::names), "");
  statements.push_back(assign(v_out[variable("x2000", i32)], 1.0F));
  EXPECT_TRUE(has(problem_of(statements, VerifyDepth::names), "'x2000'"));
}

TEST(VerifyModule, LeavesRawTextToItsWriter) {
  EXPECT_EQ(problem_of({RawStatement{"x = 1;", {}, {"x"}}}), "");
  EXPECT_EQ(problem_of({RawStatement{"int i = 1;", {"i"}, {}}, assign(v_out[v_i], 1.0F)}), "");
}

TEST(VerifyModule, AllowsForeignFunctionsWhereTheCallerSaysSo) {
  const Module calls{"m", {in_kernel({assign(v_out[v_n], call("erfinv", {v_out[v_n]}, f32))})}};
  const Module reads{"m", {in_kernel({assign(v_out[v_n], variable("erfinv", f32))})}};
  for (const VerifyDepth depth : {VerifyDepth::names, VerifyDepth::everything}) {
    EXPECT_TRUE(why_not_valid(calls, Dialect::cuda, {depth}));
    EXPECT_FALSE(why_not_valid(calls, Dialect::cuda, {depth, true}));
    EXPECT_TRUE(why_not_valid(reads, Dialect::cuda, {depth, true}));
  }
}

TEST(VerifyModule, FindsDuplicatesAndTypes) {
  EXPECT_TRUE(has(problem_of({declare(i32, "i", 0), declare(i32, "i", 1)}), "twice"));
  EXPECT_TRUE(has(problem_of({assign(v_n[v_n], 1)}), "cgen.check_types"));
  EXPECT_EQ(problem_of({declare(i32, "i", 0), declare(i32, "i", 1)}, VerifyDepth::names), "");
}

TEST(VerifyModule, FindsBarriersThatSomeThreadsMiss) {
  const auto misses = [](const std::vector<Statement>& statements) {
    return has(problem_of(statements), "not all threads");
  };
  const Statement meet = barrier();
  EXPECT_FALSE(misses({meet}));
  EXPECT_FALSE(misses({if_(v_n > 3, meet)}));
  EXPECT_TRUE(misses({if_(thread_idx_x < 3, meet)}));
  EXPECT_FALSE(misses({if_(thread_idx_z < 1, meet)})) << "the work group has one thread along z";
  const Declared row = declare(i32, "row", cast(i32, thread_idx_y) + 4 * v_n);
  EXPECT_TRUE(misses({row, if_(row < v_n, meet)}));
  EXPECT_TRUE(
      misses({row, declare(i32, "other", row * 2), while_(variable("other", i32) < v_n, meet)}));
  // the thread tells by control alone
  EXPECT_TRUE(misses(
      {declare(i32, "i", 0), if_(thread_idx_x < 3, assign(v_i, 1)), if_(equal(v_i, 1), meet)}));
  // ... and by way of a loop's next round
  EXPECT_TRUE(misses({declare(i32, "i", 0), for_(i32, "k", 0, v_n, [&](Expr, BlockBuilder& body) {
                        body << if_(v_i < 1, meet) << assign(v_i, cast(i32, thread_idx_x));
                      })}));
  EXPECT_TRUE(misses({if_(thread_idx_x < 3, return_()), meet}));
  EXPECT_FALSE(misses({if_(v_n < 3, return_()), meet}));
  EXPECT_TRUE(misses({for_(i32, "k", 0, v_n, [&](Expr, BlockBuilder& body) {
    body << meet << if_(thread_idx_x < 3, break_());
  })}));
  // what memory of the block holds is the same for all
  const Declared shared = shared_array(i32, "flag", {1});
  EXPECT_FALSE(misses({shared, if_(equal(thread_idx_x, 0), assign(shared[0], 1)), meet,
                       if_(equal(shared[0], 1), meet)}));
}

TEST(VerifyModule, FindsIndicesOutsideOfKnownArrays) {
  const auto is_outside = [](const std::vector<Statement>& statements) {
    return has(problem_of(statements), "takes elements from");
  };
  const Declared tile = declare(array_of(array_of(f32, 64), 8), "tile");
  const auto loop = [&](int end, const std::function<Statement(const Expr&)>& body) {
    return for_(i32, "k", 0, end, [&](const Expr& k, BlockBuilder& block) { block << body(k); });
  };
  const auto store = [&](const Expr& row, const Expr& column) {
    return Statement(assign(tile[row][column], 0.0F));
  };
  EXPECT_FALSE(is_outside({tile, loop(8, [&](const Expr& k) { return store(k, k * 9); })}));
  EXPECT_TRUE(is_outside({tile, loop(9, [&](const Expr& k) { return store(k, 0); })}));
  EXPECT_TRUE(is_outside({tile, loop(8, [&](const Expr& k) { return store(k, k * 9 + 1); })}));
  EXPECT_TRUE(is_outside({tile, loop(8, [&](const Expr& k) { return store(k - 1, 0); })}));
  const Expr thread = cast(i32, thread_idx_x);
  EXPECT_FALSE(is_outside({tile, store(0, thread)}));
  EXPECT_TRUE(is_outside({tile, store(0, thread + 1)}));
  // a condition that the index is in decides, and is not looked into
  EXPECT_FALSE(is_outside({tile, if_(thread < 63, store(0, thread + 1))}));
  EXPECT_TRUE(is_outside({tile, if_(v_n < 63, store(0, thread + 1))}));
  const Declared next = declare(i32, "next", thread + 1);
  EXPECT_FALSE(is_outside({tile, next, if_(next < 64, store(0, thread + 1))}));
  EXPECT_FALSE(is_outside({tile, if_(thread > 62, return_()), store(0, thread + 1)}));
  EXPECT_FALSE(is_outside({tile, loop(0, [&](const Expr&) { return store(8, 0); })}));
}

TEST(VerifyModule, TellsTheStory) {
  try {
    verify_module(Module{"m", {in_kernel({assign(v_out[v_i], 1.0F)})}}, Dialect::opencl,
                  [] { return "split_iname(i, 7)"; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_TRUE(has(error.message(), "'i'")) << error.message();
    EXPECT_TRUE(has(error.message(), "split_iname(i, 7)")) << error.message();
  }
}

}  // namespace
}  // namespace rtcg::cgen
