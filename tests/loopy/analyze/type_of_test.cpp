#include "rtcg/loopy/analyze/type_of.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/describe.h"
#include "tests/loopy/analyze/typed_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

std::string type_of_value(const Expr& value) {
  const Kernel kernel = loop(
      {array("a", cgen::f32), array("d", cgen::f64), array("h", cgen::f16), array("b", cgen::i8),
       array("k", cgen::i32), array("l", cgen::i64), array("flag", cgen::boolean),
       array("z", cgen::complex_of(cgen::f32)), array("u", Type{})},
      {});
  return cgen::describe(type_of(kernel, value));
}

TEST(TypeOf, PromotesAsInC) {
  EXPECT_EQ(type_of_value(at("k") + at("a")), "f32");
  EXPECT_EQ(type_of_value(at("l") * at("a")), "f32");
  EXPECT_EQ(type_of_value(at("a") + at("d")), "f64");
  EXPECT_EQ(type_of_value(at("h") + at("a")), "f32");
  EXPECT_EQ(type_of_value(at("h") + at("k")), "f16");
  EXPECT_EQ(type_of_value(at("b") + at("b")), "i8");
  EXPECT_EQ(type_of_value(at("k") + at("l")), "i64");
  EXPECT_EQ(type_of_value(at("flag") + at("flag")), "i32");
  EXPECT_EQ(type_of_value(at("z") * at("d")), cgen::describe(cgen::complex_of(cgen::f64)));
}

TEST(TypeOf, LetsConstantsTakeTheTypeTheyMeet) {
  EXPECT_EQ(type_of_value(at("b") + 1), "i8");
  EXPECT_EQ(type_of_value(at("a") * 2.0), "f32");
  EXPECT_EQ(type_of_value(at("a") * (Expr(1) / Expr(3))), "f32");
  EXPECT_EQ(type_of_value(at("a") * (i * 2.0)), "f32");
  EXPECT_EQ(type_of_value(at("k") * 2.0), "f64");
  EXPECT_EQ(type_of_value(at("a") * Real{2.0, cgen::ScalarKind::f64}), "f64");
  EXPECT_EQ(type_of_value(Expr(std::int64_t{1} << 31)), "i64");
  EXPECT_EQ(type_of_value(at("flag") + 1), "i32");
}

TEST(TypeOf, KnowsEveryKindOfExpression) {
  EXPECT_EQ(type_of_value(at("k") / at("k")), "f64");
  EXPECT_EQ(type_of_value(at("a") / at("k")), "f32");
  EXPECT_EQ(type_of_value(floor_div(at("l"), 3)), "i64");
  EXPECT_EQ(type_of_value(modulo(i, 4)), "i32");
  EXPECT_EQ(type_of_value(power(at("a"), 2)), "f32");
  EXPECT_EQ(type_of_value(power(at("a"), at("l"))), "f32");
  EXPECT_EQ(type_of_value(power(at("a"), at("d"))), "f64");
  EXPECT_EQ(type_of_value(power(at("k"), -1)), "f64");
  EXPECT_EQ(type_of_value(compare(ComparisonOp::less, at("a"), at("d"))), "bool");
  EXPECT_EQ(type_of_value(Not{at("flag")}), "bool");
  EXPECT_EQ(type_of_value(Bitwise{BitOp::shift_left, at("b"), at("l")}), "i8");
  EXPECT_EQ(type_of_value(Bitwise{BitOp::and_, at("flag"), at("flag")}), "bool");
  EXPECT_EQ(type_of_value(Conditional{at("flag"), at("a"), 0}), "f32");
  EXPECT_EQ(type_of_value(Cast{cgen::f16, at("a")}), "f16");
  EXPECT_EQ(type_of_value(LinearAccess{"d", i}), "f64");
  EXPECT_EQ(type_of_value(Reduction{"sum", {"i"}, {at("flag")}}), "i32");
  EXPECT_EQ(type_of_value(Reduction{"any", {"i"}, {at("k")}}), "bool");
}

TEST(TypeOf, KnowsFunctions) {
  EXPECT_EQ(type_of_value(call("sin", {at("a")})), "f32");
  EXPECT_EQ(type_of_value(call("sqrt", {at("k")})), "f64");
  EXPECT_EQ(type_of_value(call("fmax", {at("a"), 0.0})), "f32");
  EXPECT_EQ(type_of_value(call("min", {at("k"), at("l")})), "i64");
  EXPECT_EQ(type_of_value(call("real", {at("z")})), "f32");
  EXPECT_EQ(type_of_value(call("abs", {at("z")})), "f32");
  EXPECT_EQ(type_of_value(call("conj", {at("z")})), cgen::describe(cgen::complex_of(cgen::f32)));
  EXPECT_EQ(type_of_value(call("make_complex", {at("a"), at("a")})),
            cgen::describe(cgen::complex_of(cgen::f32)));
  EXPECT_EQ(type_of_value(call("isnan", {at("a")})), "bool");
}

TEST(TypeOf, LetsComplexConstantsTakeTheTypeTheyMeet) {
  const std::string c64 = cgen::describe(cgen::complex_of(cgen::f32));
  const std::string c128 = cgen::describe(cgen::complex_of(cgen::f64));
  const Expr imaginary = call("make_complex", {0, 2});
  EXPECT_EQ(type_of_value(imaginary), c128);
  EXPECT_EQ(type_of_value(imaginary * at("z")), c64);
  EXPECT_EQ(type_of_value(at("a") + imaginary), c64);
  EXPECT_EQ(type_of_value(at("d") * imaginary), c128);
  EXPECT_EQ(type_of_value((imaginary + 0.5) * at("k") * at("a")), c64);
  EXPECT_EQ(type_of_value(call("make_complex", {0, Real{2, cgen::ScalarKind::f64}}) * at("z")),
            c128);
  EXPECT_EQ(type_of_value(call("make_complex", {at("k"), 2}) * at("z")), c128);
}

TEST(TypeOf, GivesUnknownForUntypedNames) {
  const Kernel kernel = loop({array("u", Type{})}, {});
  EXPECT_TRUE(is<cgen::Unknown>(type_of(kernel, at("u") * 2.0)));
  EXPECT_TRUE(is<cgen::Unknown>(type_of(kernel, name("nobody"))));
}

TEST(TypeOf, TypesRulesWithTheirArguments) {
  Kernel kernel = loop({array("a", cgen::f32), array("d", cgen::f64)}, {});
  kernel.rules = {{"square", {"x"}, name("x") * name("x")},
                  {"twice", {"x"}, call("square", {name("x")}) * 2.0}};
  EXPECT_EQ(cgen::describe(type_of(kernel, call("twice", {at("a")}))), "f32");
  EXPECT_EQ(cgen::describe(type_of(kernel, call("twice", {at("d")}))), "f64");
}

TEST(TypeOf, TypesEachTargetOfArgmax) {
  const Kernel kernel = loop({array("a", cgen::f64)}, {});
  const auto types = types_of_targets(kernel, Reduction{"argmax", {"i"}, {at("a"), i}});
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(cgen::describe(types[0]), "f64");
  EXPECT_EQ(cgen::describe(types[1]), "i32");
}

TEST(TypeOf, RefusesUnknownFunction) {
  EXPECT_ERROR("loopy.type_of.unknown_function", type_of_value(call("sqrtt", {at("a")})));
  try {
    type_of_value(call("sqrtt", {at("a")}));
  } catch (const InvalidInput& error) {
    EXPECT_NE(error.message().find("'sqrt'"), std::string::npos) << error.message();
  }
}

TEST(TypeOf, RefusesWrongNumberOfArguments) {
  EXPECT_ERROR("loopy.type_of.argument_count", type_of_value(call("sin", {at("a"), 1})));
}

TEST(TypeOf, RefusesRecursiveRules) {
  Kernel kernel = loop({}, {});
  kernel.rules = {{"f", {"x"}, call("g", {name("x")})}, {"g", {"x"}, call("f", {name("x")})}};
  EXPECT_ERROR("loopy.type_of.recursive_rule", type_of(kernel, call("f", {1})));
}

}  // namespace
}  // namespace rtcg::loopy
