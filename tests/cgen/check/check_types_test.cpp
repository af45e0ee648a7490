#include "rtcg/cgen/check/check_types.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/build/block_builder.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

const Expr i = variable("i", i32);
const Expr f = variable("f", f32);
const Expr p = variable("p", pointer_to(f32));
const Expr q = variable("q", pointer_to(i32));
const Expr b = variable("b", boolean);
const Type point = Record{RecordTag::struct_, "point", {{"x", f32}, {"y", f32}}};
const Expr s = variable("s", point);

std::string message_of(const Expr& expr) {
  try {
    check_types(expr);
  } catch (const InvalidInput& error) {
    return error.message();
  }
  return "";
}

TEST(CheckTypes, NamesTheNodeAndTheLine) {
  const Expr wrong = f % i;
  const std::string line = std::to_string(__LINE__ - 1);
  EXPECT_EQ(message_of(wrong + 1).find("in '(f % i)': operator '%' needs integer operands, not "
                                       "'f32' and 'i32' (built at "),
            0U)
      << message_of(wrong + 1);
  EXPECT_NE(message_of(wrong + 1).find("check_types_test.cpp:" + line), std::string::npos)
      << message_of(wrong + 1);
}

TEST(CheckTypes, RefusesOperandsOfTheWrongKind) {
  for (const Expr& wrong : {f % i,
                            f & i,
                            i | f,
                            f ^ f,
                            f << i,
                            i >> f,
                            s + s,
                            s * 2,
                            -s,
                            ~f,
                            !s,
                            -p,
                            +s,
                            ~p,
                            s && b,
                            b || s,
                            increment(b),
                            equal(s, s),
                            s < s,
                            variable("c", complex_of(f32)) < 1.0f,
                            variable("h", f16) + variable("g", bf16),
                            variable("v", vector_of(f32, 4)) & 1,
                            select(b, s, i)}) {
    EXPECT_ERROR("cgen.check_types.operand_kind", check_types(wrong));
  }
}

TEST(CheckTypes, RefusesWrongPointerArithmetic) {
  const Expr v = variable("v", pointer_to(void_type));
  for (const Expr& wrong : {p + p, p * 2, p / p, p - q, 1 - p, p + f, p < q, equal(p, 1), v + 1,
                            p % 2, p & 1, p << 1}) {
    EXPECT_ERROR("cgen.check_types.pointer_arithmetic", check_types(wrong));
  }
  check_types(equal(p, v));
  check_types(equal(p, 0));
}

TEST(CheckTypes, RefusesAssignmentToConstAndToValues) {
  EXPECT_ERROR("cgen.check_types.const_assignment",
               check_types(assign(variable("c", const_(f32)), 1)));
  EXPECT_ERROR("cgen.check_types.const_assignment",
               check_types(assign(variable("p", pointer_to(const_(f32)))[0], 1)));
  EXPECT_ERROR("cgen.check_types.const_assignment",
               check_types(assign(variable("s", const_(point)).member("x"), 1)));
  EXPECT_ERROR("cgen.check_types.const_assignment",
               check_types(assign(variable("r", reference_to(const_(f32))), 1)));
  EXPECT_ERROR("cgen.check_types.const_assignment",
               check_types(increment(variable("c", const_(i32)))));
  EXPECT_ERROR("cgen.check_types.not_assignable", check_types(assign(i + 1, 2)));
  EXPECT_ERROR("cgen.check_types.not_assignable", check_types(assign(Expr(3), i)));
  EXPECT_ERROR("cgen.check_types.not_assignable", check_types(assign(thread_idx_x, 2)));
  EXPECT_ERROR("cgen.check_types.not_assignable", check_types(increment(i + 1)));
  EXPECT_ERROR("cgen.check_types.not_assignable", check_types(address_of(i + 1)));
  EXPECT_ERROR(
      "cgen.check_types.not_assignable",
      check_types(assign(variable("a", array_of(f32, 3)), variable("b", array_of(f32, 3)))));
  check_types(assign(variable("p", const_(pointer_to(f32)))[0], 1));
}

TEST(CheckTypes, RefusesImpossibleConversions) {
  EXPECT_ERROR("cgen.check_types.conversion", check_types(assign(i, p)));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(assign(p, q)));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(assign(p, 7)));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(assign(s, i)));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(declare(i32, "x", s)));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(declare(pointer_to(f32), "x", variable("c", pointer_to(const_(f32))))));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(declare(array_of(f32, 2), "x", InitializerList{{1, 2, 3}})));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(declare(point, "x", InitializerList{{{"z", 1.0f}}})));
  EXPECT_ERROR(
      "cgen.check_types.conversion",
      check_types(declare(pointer_to(in_space(AddressSpace::shared, f32)), "x",
                          variable("g", pointer_to(in_space(AddressSpace::global, f32))))));
  check_types(assign(p, NullPointer{}));
  check_types(assign(p, 0));
  check_types(declare(point, "x", InitializerList{{{"y", 1.0f}, {"x", 2}}}));
  check_types(declare(array_of(const_(char_type)), "x", literal("text")));
}

TEST(CheckTypes, RefusesWrongCalls) {
  const Expr g = variable("g", function_type(f32, {f32, pointer_to(f32)}));
  check_types(call(g, {1, p}));
  EXPECT_ERROR("cgen.check_types.argument_count", check_types(call(g, {1})));
  EXPECT_ERROR("cgen.check_types.argument_count", check_types(call(g, {1, p, 2})));
  EXPECT_ERROR("cgen.check_types.argument_count", check_types(call(Intrinsic::sqrt, {f, f})));
  EXPECT_ERROR("cgen.check_types.argument_count",
               check_types(make_vector(vector_of(f32, 4), {f, f})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(g, {1, q})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(Intrinsic::sqrt, {i})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(Intrinsic::atomic_add, {f, f})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(Intrinsic::atomic_or, {p, i})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(Intrinsic::popcount, {f})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(call(Intrinsic::imag, {f})));
  EXPECT_ERROR("cgen.check_types.not_callable", check_types(call(i, {1})));
}

TEST(CheckTypes, HoldsCallsAgainstTheModulesOwnFunctions) {
  const Declared two = function(void_type, "two", {param(i32, "a"), param(i32, "b")}, {});
  const auto calling = [&](std::vector<Expr> arguments) {
    const Expr by_name = call("two", std::move(arguments), void_type);
    return Module{"m", {two, function(void_type, "caller", {}, Statement(by_name))}};
  };
  check_types(calling({1, 2}));
  EXPECT_ERROR("cgen.check_types.argument_count", check_types(calling({1})));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(calling({1, p})));
  const Declared k = kernel("k", {param(pointer_to(f32), "x")}, {});
  const Expr launch = KernelLaunch{variable("k", function_type(void_type, {}, true)), 1, 32, {i}};
  const Module module{"m", {k, function(void_type, "host", {}, Statement(launch))}};
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(module));
}

TEST(CheckTypes, RefusesWrongReturns) {
  EXPECT_ERROR("cgen.check_types.return_type", check_types(function(i32, "g", {}, return_())));
  EXPECT_ERROR("cgen.check_types.return_type",
               check_types(function(void_type, "g", {}, return_(1))));
  EXPECT_ERROR("cgen.check_types.return_type", check_types(function(i32, "g", {}, return_(p))));
  EXPECT_ERROR("cgen.check_types.return_type",
               check_types(function(i32, "g", {}, if_(b, while_(b, return_(s))))));
  check_types(function(f32, "g", {}, return_(1)));
}

TEST(CheckTypes, RefusesJumpsOutOfNothing) {
  EXPECT_ERROR("cgen.check_types.outside_loop",
               check_types(function(void_type, "g", {}, break_())));
  EXPECT_ERROR("cgen.check_types.outside_loop", check_types(if_(b, continue_())));
  EXPECT_ERROR("cgen.check_types.outside_loop", check_types(switch_(i).default_(continue_())));
  check_types(while_(b, switch_(i).default_({continue_()})));
}

TEST(CheckTypes, RefusesWrongCases) {
  EXPECT_ERROR("cgen.check_types.duplicate_case",
               check_types(switch_(i).case_({1}, break_()).case_({2, 1}, break_())));
  EXPECT_ERROR("cgen.check_types.duplicate_case",
               check_types(switch_(i).default_(break_()).default_(break_())));
  EXPECT_ERROR("cgen.check_types.condition", check_types(switch_(f).default_(break_())));
  EXPECT_ERROR("cgen.check_types.condition", check_types(switch_(i).case_({1.5}, break_())));
}

TEST(CheckTypes, RefusesWrongConditions) {
  EXPECT_ERROR("cgen.check_types.condition", check_types(if_(s, return_())));
  EXPECT_ERROR("cgen.check_types.condition", check_types(while_(s, return_())));
  EXPECT_ERROR("cgen.check_types.condition", check_types(do_while_(return_(), s)));
  EXPECT_ERROR("cgen.check_types.condition", check_types(select(s, 1, 2)));
  EXPECT_ERROR("cgen.check_types.condition", check_types(Statement(StaticAssert{s, "m"})));
}

TEST(CheckTypes, RefusesWrongAccess) {
  EXPECT_ERROR("cgen.check_types.not_a_pointer", check_types(deref(i)));
  EXPECT_ERROR("cgen.check_types.not_a_pointer",
               check_types(deref(variable("v", pointer_to(void_type)))));
  EXPECT_ERROR("cgen.check_types.not_subscriptable", check_types(i[0]));
  EXPECT_ERROR("cgen.check_types.not_subscriptable", check_types(p[f]));
  EXPECT_ERROR("cgen.check_types.unknown_member", check_types(s.member("z")));
  EXPECT_ERROR("cgen.check_types.unknown_member", check_types(i.member("z")));
}

TEST(CheckTypes, RefusesWrongCasts) {
  EXPECT_ERROR("cgen.check_types.cast", check_types(cast(i32, s)));
  EXPECT_ERROR("cgen.check_types.cast", check_types(cast(pointer_to(f32), f)));
  EXPECT_ERROR("cgen.check_types.cast", check_types(cast(i32, f, CastStyle::reinterpret_cast_)));
  check_types(cast(pointer_to(void_type), p));
  check_types(cast(void_type, s));
}

TEST(CheckTypes, RefusesLiteralsThatDoNotFit) {
  EXPECT_ERROR("cgen.check_types.literal", check_types(Expr(IntLiteral{300, false, u8})));
  EXPECT_ERROR("cgen.check_types.literal", check_types(Expr(IntLiteral{1, true, u32})));
  EXPECT_ERROR("cgen.check_types.literal", check_types(Expr(IntLiteral{1, false, f32})));
  EXPECT_ERROR("cgen.check_types.literal", check_types(Expr(FloatLiteral{1, i32})));
  check_types(Expr(IntLiteral{128, true, i8}));
}

TEST(CheckTypes, RefusesTypesThatDoNotExist) {
  const Type no_types[] = {array_of(function_type(i32, {}), 3),
                           array_of(reference_to(i32), 3),
                           array_of(void_type, 3),
                           array_of(i32, 0),
                           array_of(i32, f),
                           array_of(array_of(i32), 3),
                           pointer_to(reference_to(i32)),
                           reference_to(reference_to(i32)),
                           reference_to(void_type),
                           const_(reference_to(i32)),
                           pointer_to(function_type(array_of(i32, 2), {})),
                           pointer_to(function_type(void_type, {void_type})),
                           vector_of(f32, 5),
                           vector_of(pointer_to(f32), 2),
                           complex_of(i32),
                           Image{4}};
  for (const Type& type : no_types) {
    EXPECT_ERROR("cgen.check_types.bad_type", check_types(Statement(Typedef{type, "t"})));
  }
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(declare(array_of(i32), "x")));
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(declare(auto_type, "x")));
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(declare(reference_to(i32), "x")));
  Declaration bits{f32, "x"};
  bits.bit_width = 3;
  EXPECT_ERROR("cgen.check_types.bad_type",
               check_types(Statement(RecordDefinition{RecordTag::struct_, "r", {bits}})));
  Declaration shared{array_of(f32, 3), "x"};
  shared.memory = MemorySpace::dynamic_shared;
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(Statement(shared)));
  EXPECT_ERROR("cgen.check_types.bad_type",
               check_types(Statement(EnumDefinition{"e", {{"a"}}, false, f32})));
}

TEST(CheckTypes, RefusesVoidObjects) {
  EXPECT_ERROR("cgen.check_types.void_object", check_types(declare(void_type, "x")));
  const std::vector<Parameter> parameters{{const_(void_type), "x"}};
  EXPECT_ERROR("cgen.check_types.void_object",
               check_types(Expr(Lambda{parameters, Statement(Block{})})));
}

TEST(CheckTypes, RefusesStatementsInTheWrongPlace) {
  const auto at_file_scope = [](const Statement& statement) { return Module{"m", {statement}}; };
  for (const Statement& statement :
       {return_(), break_(), barrier(), Statement(assign(i, 1)), Statement(if_(b, return_())),
        Statement(Goto{"l"}), Statement(AccessSpecifier{})}) {
    EXPECT_ERROR("cgen.check_types.misplaced", check_types(at_file_scope(statement)));
  }
  const Statement inner = function(void_type, "inner", {}, {});
  const Statement constructor = Function{{}, "point"};
  for (const Statement& statement :
       {inner, Statement(Namespace{"n"}), Statement(ExternC{}), Statement(Template{{}, inner}),
        Statement(AccessSpecifier{}), Statement(ExplicitInstantiation{void_type, "g"})}) {
    EXPECT_ERROR("cgen.check_types.misplaced",
                 check_types(function(void_type, "g", {}, statement)));
  }
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(at_file_scope(constructor)));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check_types(Statement(RecordDefinition{RecordTag::struct_, "r", {return_()}})));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check_types(Statement(For{return_(), {}, {}, Block{}})));
  check_types(
      at_file_scope(RecordDefinition{RecordTag::class_, "r", {AccessSpecifier{}, constructor}}));
}

TEST(CheckTypes, RefusesWhatKernelsCannotHave) {
  Function g{i32, "g", {}, Statement(Block{{return_(1)}})};
  g.specifiers.is_kernel = true;
  EXPECT_ERROR("cgen.check_types.kernel_result", check_types(Statement(g)));
  EXPECT_ERROR("cgen.check_types.kernel_parameter",
               check_types(kernel("k", {param(reference_to(f32), "x")}, {})));
  EXPECT_ERROR("cgen.check_types.launch_bounds", check_types(kernel("k", {}, {}, {32, -1})));
  Function h{void_type, "h", {}, Statement(Block{})};
  h.required_work_group_size = WorkGroupSize{16, 16, 1};
  EXPECT_ERROR("cgen.check_types.launch_bounds", check_types(Statement(h)));
  h.specifiers.is_kernel = true;
  check_types(Statement(h));
  h.work_group_size_hint = WorkGroupSize{16, 0, 1};
  EXPECT_ERROR("cgen.check_types.launch_bounds", check_types(Statement(h)));
}

TEST(CheckTypes, RefusesMemoryInTheWrongPlace) {
  const auto in = [](MemorySpace memory) {
    Declaration declaration{f32, "x"};
    declaration.memory = memory;
    return declaration;
  };
  check_types(Statement(in(MemorySpace::shared)));
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(Module{"m", {in(MemorySpace::shared)}}));
  check_types(Module{"m", {in(MemorySpace::device)}});
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(Statement(in(MemorySpace::device))));
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(Statement(in(MemorySpace::constant))));
  Declaration initialized = in(MemorySpace::shared);
  initialized.initializer = 1.0f;
  EXPECT_ERROR("cgen.check_types.shared_initializer", check_types(Statement(initialized)));
  Declaration aligned{f32, "x"};
  aligned.align_bytes = 12;
  EXPECT_ERROR("cgen.check_types.bad_alignment", check_types(Statement(aligned)));
}

TEST(CheckTypes, RefusesWrongLaunchesAndAxes) {
  const Expr k = variable("k", function_type(void_type, {}));
  EXPECT_ERROR("cgen.check_types.argument_type", check_types(launch(k, 1.5, 32, {})));
  check_types(launch(k, variable("grid", named("dim3")), 32, {}));
  EXPECT_ERROR("cgen.check_types.bad_axis",
               check_types(Expr(BuiltinIndex{BuiltinKind::block_idx, 3})));
  EXPECT_ERROR("cgen.check_types.not_assignable",
               check_types(Statement(InlineAsm{"nop", {{"=r", i + 1}}})));
}

TEST(CheckTypes, LooksIntoLambdasBranchesAndTemplates) {
  const Statement wrong = assign(i, p);
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(Expr(Lambda{{}, Statement(Block{{wrong}})})));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(Statement(PreprocessorIf{{{PreprocessorTest::ifdef, "A", {wrong}}}})));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(Statement(Template{{{"T"}}, function(void_type, "g", {}, wrong)})));
  EXPECT_ERROR("cgen.check_types.operand_kind",
               check_types(declare(array_of(f32, cast(i32, f % 2)), "x")));
}

TEST(CheckTypes, LeavesOpaqueTypesAlone) {
  const Expr t = variable("t", named("T"));
  for (const Expr& opaque :
       {t + 1, t * p, -t, t[f], t.member("x"), call(t, {1, 2}), deref(t), assign(t, 1),
        assign(i, t), cast(i32, t), call(Intrinsic::sqrt, {t})}) {
    check_types(opaque);
  }
  check_types(if_(t, return_(t)));
}

}  // namespace
}  // namespace rtcg::cgen
