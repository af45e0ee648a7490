// Rules as operations of reductions and scans: what they are, and what is none.
#include "rtcg/loopy/analyze/rule_operation.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/measure/statistics.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fuse_kernels.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* loop_of_n = "{[i]: 0 <= i < n}";

Kernel kernel_of(const std::string& statements, const cgen::Type& type = cgen::f32) {
  return make_kernel(loop_of_n, statements, {.default_type = type});
}

std::string c_text(const Kernel& kernel) {
  return generate_text(kernel, Target::host, {.recipe_comment = false});
}

const std::string longest = "longest(a, b) := if(abs(a) < abs(b), b, a)  {neutral=0}\n";

TEST(RuleOperation, IsWrittenWithReduceAndReadBack) {
  const Expr element = access("x", {name("i")});
  EXPECT_EQ(parse_expr("reduce(longest, i, x[i])"), Expr(Reduction{"longest", {"i"}, {element}}));
  EXPECT_EQ(to_string(Expr(Reduction{"longest", {"i"}, {element}})), "reduce(longest, i, x[i])");
  EXPECT_EQ(parse_expr("scan(merge_f32, i, x[i], 1)"),
            scan(Reduction{"merge_f32", {"i"}, {element, 1}}));
  const Kernel kernel = kernel_of(longest + "out[0] = reduce(longest, i, x[i])");
  ASSERT_EQ(kernel.rules.size(), 1U);
  EXPECT_EQ(to_string(kernel.rules.front()),
            "longest(a, b) := if(abs(a) < abs(b), b, a)  {neutral=0}");
  const KernelFile file = parse_kernel_file(to_string(to_kernel_file(kernel)));
  const Kernel again = described_kernel(file);
  EXPECT_EQ(to_string(again.rules.front()), to_string(kernel.rules.front()));
  EXPECT_EQ(c_text(again), c_text(kernel));
}

TEST(RuleOperation, OfSeveralValuesIsReadBack) {
  const Kernel kernel = kernel_of(
      "step(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:-inf}\n"
      "u[0], v[0] = reduce(step, i, x[i], y[i])");
  EXPECT_EQ(to_string(kernel.rules.front()),
            "step(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:-inf}");
  const Kernel again = described_kernel(parse_kernel_file(to_string(to_kernel_file(kernel))));
  EXPECT_EQ(c_text(again), c_text(kernel));
}

TEST(RuleOperation, BecomesAnAccumulatorOfItsValue) {
  const std::string text = c_text(kernel_of(longest + "out[0] = reduce(longest, i, x[i])"));
  EXPECT_NE(text.find("float acc_i = 0.0f;"), std::string::npos) << text;
  EXPECT_NE(text.find("float acc_i_next = x[i];"), std::string::npos) << text;
  EXPECT_NE(text.find("acc_i = fabsf(acc_i) < fabsf(acc_i_next) ? acc_i_next : acc_i;"),
            std::string::npos)
      << text;
}

TEST(RuleOperation, ComputesAllValuesBeforeItOverwritesOneThatIsStillAskedFor) {
  const std::string times =
      "times(a, b, c, d) := make_tuple(a*c - b*d, a*d + b*c)  {neutral=1:0}\n"
      "u[0], v[0] = reduce(times, i, x[i], y[i])";
  const std::string text = c_text(kernel_of(times));
  EXPECT_NE(text.find("acc_i_1 = acc_i_1_combined;"), std::string::npos) << text;
  EXPECT_NE(text.find("acc_i = acc_i_combined;"), std::string::npos) << text;
  const std::string step =
      "step(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n"
      "u[0], v[0] = reduce(step, i, x[i], y[i])";
  EXPECT_EQ(c_text(kernel_of(step)).find("combined"), std::string::npos);
}

TEST(RuleOperation, MayCallOtherRulesAndUseScalarArguments) {
  const Kernel kernel = kernel_of(
      "larger(a, b) := if(a < b, b, a)\n"
      "within(a, b) := min(larger(a, b), limit)  {neutral=-inf}\n"
      "out[0] = reduce(within, i, x[i]) + within(1, 2)");
  ASSERT_NE(find_argument(kernel, "limit"), nullptr);
  EXPECT_FALSE(find_argument(kernel, "limit")->is_array);
  const Kernel expanded = expand_subst(kernel);
  ASSERT_EQ(expanded.rules.size(), 1U);
  EXPECT_EQ(to_string(expanded.rules.front()),
            "within(a, b) := min(if(a < b, b, a), limit)  {neutral=-inf}");
  EXPECT_EQ(to_string(expand_subst(expanded)), to_string(expanded));
  EXPECT_EQ(c_text(expanded), c_text(kernel));
  EXPECT_NE(c_text(kernel).find("limit"), std::string::npos);
}

TEST(RuleOperation, ItsTypeHoldsOperandsNeutralElementAndValue) {
  const auto type_of_result = [](const std::string& rule, const std::string& types) {
    const Kernel kernel = make_kernel(loop_of_n, rule + "\n<> t = reduce(op, i, x[i])\nout[0] = t",
                                      {.arguments = types + "; n: i32"});
    return infer_types(kernel).temporaries.front().type;
  };
  const std::string integers = "x: i32[n]; out: f64[1]";
  EXPECT_EQ(type_of_result("op(a, b) := a | b  {neutral=0}", integers), cgen::i32);
  EXPECT_EQ(type_of_result("op(a, b) := a + 0.5*b  {neutral=0}", integers), cgen::f64);
  EXPECT_EQ(type_of_result("op(a, b) := a + b  {neutral=-inf}", integers), cgen::f64);
  EXPECT_EQ(type_of_result("op(a, b) := a + b  {neutral=cast(i64, 0)}", integers), cgen::i64);
  EXPECT_EQ(type_of_result("op(a, b) := a + b  {neutral=-inf}", "x: f32[n]; out: f32[1]"),
            cgen::f32);
  EXPECT_EQ(type_of_result("op(a, b) := a*b  {neutral=1}", "x: c64[n]; out: c64[1]"),
            cgen::complex_of(cgen::f32));
}

TEST(RuleOperation, IsCountedByWhatItComputes) {
  const Kernel kernel =
      infer_types(kernel_of("op(a, b) := a + b - a*b  {neutral=0}\n"
                            "out[0] = reduce(op, i, 2*x[i])"));
  const Statistics statistics = count_operations(kernel);
  const auto times = [&](const std::string& operation) {
    return statistics.operations.at({operation, "f32"}).evaluate({{"n", 10}});
  };
  EXPECT_EQ(times("add"), 20);
  EXPECT_EQ(times("multiply"), 20);
}

TEST(RuleOperation, KeepsToItsReductionsWhenKernelsAreFused) {
  const Kernel first =
      kernel_of("op(a, b) := max(a, b)  {neutral=-inf}\nu[0] = reduce(op, i, x[i])");
  const Kernel second =
      kernel_of("op(a, b) := min(a, b)  {neutral=inf}\nv[0] = 2*reduce(op, i, x[i])");
  const Kernel fused = fuse_kernels(first, second);
  const std::string text = to_string(fused);
  EXPECT_NE(text.find("u[0] = reduce(op, i, x[i])"), std::string::npos) << text;
  EXPECT_NE(text.find("v[0] = 2*reduce(op_b, i_b, x[i_b])"), std::string::npos) << text;
  EXPECT_NE(text.find("op_b(a, b) := min(a, b)  {neutral=inf}"), std::string::npos) << text;
}

TEST(RuleOperation, OfATypedKernelIsARuleWithNeutralElements) {
  Kernel kernel = kernel_of("out[0] = sum(i, x[i])");
  const Expr a = name("a");
  const Expr b = name("b");
  kernel.rules.push_back({"op", {"a", "b"}, Expr(call("max", {a, b})), {0}});
  kernel.instructions.front().kind =
      Assignment{{access("out", {0})}, Reduction{"op", {"i"}, {access("x", {name("i")})}}};
  const Kernel parsed =
      kernel_of("op(a, b) := max(a, b)  {neutral=0}\nout[0] = reduce(op, i, x[i])");
  EXPECT_EQ(c_text(kernel), c_text(parsed));
}

TEST(RuleOperation, RefusesUnknownOnesAndNamesThoseThatThereAre) {
  const std::string call = "out[0] = reduce(longst, i, x[i])";
  EXPECT_ERROR("loopy.realize_reductions.unknown_operation", kernel_of(longest + call));
  EXPECT_ERROR("loopy.realize_reductions.unknown_operation", c_text(kernel_of(call)));
  try {
    static_cast<void>(kernel_of(longest + call));
    FAIL();
  } catch (const InvalidInput& error) {
    const std::string text = error.message();
    EXPECT_NE(text.find("the rules longest"), std::string::npos) << text;
    EXPECT_NE(text.find("is 'longest' meant?"), std::string::npos) << text;
  }
}

TEST(RuleOperation, RefusesWhatIsNoOperation) {
  const std::string call = "\nout[0] = reduce(op, i, x[i])";
  EXPECT_ERROR("loopy.rule_operation.no_neutral", kernel_of("op(a, b) := a + b" + call));
  EXPECT_ERROR("loopy.rule_operation.parameters",
               kernel_of("op(a, b, c) := a + b  {neutral=0}" + call));
  EXPECT_ERROR("loopy.rule_operation.parameters",
               kernel_of("op(a, b) := a + b  {neutral=0:0}" + call));
  EXPECT_ERROR("loopy.rule_operation.parameters",
               kernel_of("op(a, b) := make_tuple(a, b)  {neutral=0}" + call));
  EXPECT_ERROR("loopy.rule_operation.value_count",
               kernel_of("op(a, b) := a + b  {neutral=0}\nout[0], p[0] = reduce(op, i, x[i], i)"));
  EXPECT_ERROR("loopy.rule_operation.name_taken",
               kernel_of("max(a, b) := a + b  {neutral=0}\nout[0] = reduce(max, i, x[i])"));
  EXPECT_ERROR("loopy.rule_operation.neutral",
               kernel_of("op(a, b) := a + b  {neutral=x[0]}" + call));
  EXPECT_ERROR("loopy.parse_statements.syntax", kernel_of("op(a, b) := a + b  {neutrl=0}" + call));
}

TEST(RuleOperation, RefusesToReadMoreThanItsOperands) {
  const auto refused = [](const std::string& body) {
    const std::string text = "op(a, b) := " + body +
                             "  {neutral=0}\n<> t = y[0]\n"
                             "out[0] = reduce(op, i, x[i]) + t";
    EXPECT_ERROR("loopy.rule_operation.reads", kernel_of(text));
  };
  refused("a + b*y[0]");
  refused("a + b*i");
  refused("a + b*t");
  refused("a + sum(i, b)");
}

}  // namespace
}  // namespace rtcg::loopy
