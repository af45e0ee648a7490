// Whole programs that are right: the checks must not refuse what C++ and CUDA accept.
#include <gtest/gtest.h>

#include "rtcg/cgen.h"

namespace rtcg::cgen {
namespace {

void expect_accepted(const Module& module) {
  EXPECT_NO_THROW(check_types(module)) << module.name;
  EXPECT_NO_THROW(check_names(module, Dialect::cuda, {"printf", "dim3"})) << module.name;
}

Declared block_sum() {
  const auto values = param(restrict_pointer_to(const_(f32)), "values");
  const auto total = param(pointer_to(f32), "total");
  const auto n = param(size_type, "n");
  const auto partial = shared_array(f32, "partial", {32});
  const auto i = declare(size_type, "i", cast(size_type, block_idx_x) * block_dim_x + thread_idx_x);
  const auto sum = declare(f32, "sum", select(i < n, values[i], 0.0f));
  const auto fold = [&](BlockBuilder& body) {
    body << for_(i32, "step", 0, 5, [&](Expr step, BlockBuilder& b) {
      b << add_assign(sum, call(Intrinsic::shuffle_down, {sum, 16 >> step}));
    });
  };
  BlockBuilder body;
  body << comment("one value a thread") << partial << i << sum << blank_line();
  fold(body);
  body << if_(equal(thread_idx_x % 32, 0), assign(partial[thread_idx_x / 32], sum)) << barrier()
       << if_(thread_idx_x < 32u, [&](BlockBuilder& first) {
            first << assign(sum, select(thread_idx_x < block_dim_x / 32, partial[thread_idx_x], 0));
            fold(first);
            first << if_(!thread_idx_x, call(Intrinsic::atomic_add, {total, sum}));
          });
  return kernel("block_sum", {values, total, n}, body, {1024, 1});
}

TEST(Checks, AcceptAReduction) {
  expect_accepted({"reduction", {block_sum()}});
}

TEST(Checks, AcceptLaunchesFromTheHost) {
  const Declared sum = block_sum();
  const auto values = param(pointer_to(f32), "values");
  const auto total = param(pointer_to(f32), "total");
  const auto blocks = declare(i32, "blocks", 128);
  expect_accepted(
      {"host",
       {include_system("cstdio"), sum,
        function(i32, "main",
                 {param(i32, "argc"), param(pointer_to(pointer_to(char_type)), "argv")},
                 [&](BlockBuilder& body) {
                   body << declare(pointer_to(f32), "values", NullPointer{})
                        << declare(pointer_to(f32), "total", 0) << blocks
                        << launch(sum, blocks, 256, {values, total, 1000})
                        << call(variable("printf",
                                         function_type(i32, {pointer_to(const_(char_type))}, true)),
                                {literal("%d\n"), blocks})
                        << return_(0);
                 })}});
}

TEST(Checks, AcceptRecordsEnumsAndSwitches) {
  const Statement definition = RecordDefinition{
      RecordTag::struct_,
      "point",
      {declare(f32, "x"), declare(f32, "y"), declare(array_of(u8, 3), "color"),
       Function{f32,
                "length2",
                {},
                Statement(Block{{return_(variable("x", f32) * variable("x", f32))}})}}};
  const Type point = type_of(*get_if<RecordDefinition>(definition));
  const EnumDefinition axes{"axis", {{"axis_x"}, {"axis_y", 4}}};
  const Type axis = type_of(axes);
  const auto p = param(reference_to(const_(point)), "p");
  const auto a = param(axis, "a");
  const Declared get = function(f32, "get", {p, a},
                                {switch_(a)
                                     .case_({variable("axis_x", axis)}, return_(p.member("x")))
                                     .case_({variable("axis_y", axis)}, return_(p.member("y")))
                                     .default_(break_()),
                                 return_(cast(f32, p.member("color")[0]))},
                                {.is_device = true, .is_inline = true});
  const auto q = declare(point, "q", InitializerList{{1.0f, 2, InitializerList{{1, 2, 3}}}});
  const auto pointer = declare(pointer_to(point), "pointer", address_of(q));
  expect_accepted(
      {"records",
       {definition, axes, get,
        function(
            f32, "use", {},
            {q, pointer, assign(pointer.member("x"), 3), assign(q.member("color")[1], 7),
             return_(call(get, {q, variable("axis_y", axis)}) + call(q.member("length2")))})}});
}

TEST(Checks, AcceptTemplatesLambdasAndNamespaces) {
  const Type t = named("T");
  const auto x = param(t, "x");
  const Statement twice =
      Template{{{"T"}, {"n", i32}}, function(t, "times", {x}, return_(x * variable("n", i32)))};
  const auto y = declare(f32, "y", 2.0f);
  const auto z = param(f32, "z");
  const auto add =
      declare(auto_type, "add",
              Lambda{{z}, Statement(Block{{return_(y + z)}}), CaptureDefault::by_reference});
  expect_accepted(
      {"templates",
       {Namespace{"tools", {twice, ExplicitInstantiation{f32, "times", {f32, 2}, {f32}}}},
        UsingDirective{"tools"}, UsingAlias{"real", f32}, Typedef{pointer_to(f32), "real_pointer"},
        function(
            f32, "use", {},
            {y, add, declare(named("real"), "w", call(variable("times", Type()), {y}, {f32, 3})),
             return_(call(add, {1.0f}) + variable("w", named("real")))})}});
}

TEST(Checks, AcceptPreprocessorJumpsAndRawText) {
  const auto i = declare(i32, "i", 0);
  const auto half = declare(f16, "half_value", cast(f16, 1.0f));
  expect_accepted({"mixed",
                   {Pragma{"once"}, Define{"LIMIT", "10"},
                    PreprocessorIf{{{PreprocessorTest::ifdef, "FAST", {Define{"STEP", "2"}}}},
                                   std::vector<Statement>{Define{"STEP", "1"}}},
                    RawStatement{"extern int outside;", {"outside"}, {}},
                    function(void_type, "use", {},
                             {i, half, Label{"again"},
                              do_while_({add_assign(i, variable("STEP", i32)),
                                         if_(i > RawExpr{"LIMIT", i32, {"LIMIT"}, true}, break_())},
                                        literal(true)),
                              if_(i < variable("outside", i32), Goto{"again"}),
                              InlineAsm{"mov.u32 %0, %1;", {{"=r", i}}, {{"r", i + 1}}},
                              assign(half, half * half + 1), while_(i > 0, post_decrement(i))})}});
}

}  // namespace
}  // namespace rtcg::cgen
