#include "rtcg/loopy/analyze/infer_types.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/loopy/analyze/typed_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

std::string type_of_argument(const Kernel& kernel, const std::string& name) {
  return cgen::describe(find_argument(kernel, name)->type.value());
}
std::string type_of_temporary(const Kernel& kernel, const std::string& name) {
  return cgen::describe(find_temporary(kernel, name)->type.value());
}

TEST(InferTypes, TypesWhatIsWritten) {
  const Kernel kernel = infer_types(
      loop({array("a", cgen::f32), array("out", Type{})}, {assign("s", at("out"), 2 * at("a"))}));
  EXPECT_EQ(type_of_argument(kernel, "out"), "f32");
}

TEST(InferTypes, AccumulatesInTheTypeOfTheTerms) {
  for (const Expr& start : {Expr(0), Expr(0.0)}) {
    Kernel kernel =
        loop({array("a", cgen::f32), array("out", Type{})},
             {assign("s", name("acc"), start), assign("t", name("acc"), name("acc") + at("a")),
              assign("u", at("out"), name("acc"))});
    kernel.temporaries = {{.name = "acc"}};
    kernel = infer_types(kernel);
    EXPECT_EQ(type_of_temporary(kernel, "acc"), "f32");
    EXPECT_EQ(type_of_argument(kernel, "out"), "f32");
  }
}

TEST(InferTypes, SettlesVariablesThatDependOnEachOther) {
  Kernel kernel = loop({array("a", cgen::f32)}, {assign("s", name("old"), 0.0),
                                                 assign("t", name("next"), name("old") + at("a")),
                                                 assign("u", name("old"), name("next"))});
  kernel.temporaries = {{.name = "old"}, {.name = "next"}};
  kernel = infer_types(kernel);
  EXPECT_EQ(type_of_temporary(kernel, "old"), "f32");
  EXPECT_EQ(type_of_temporary(kernel, "next"), "f32");
}

TEST(InferTypes, TypesLoneConstants) {
  Kernel kernel = loop({}, {assign("s", name("x"), 1), assign("t", name("y"), 2.5)});
  kernel.temporaries = {{.name = "x"}, {.name = "y"}};
  kernel = infer_types(kernel);
  EXPECT_EQ(type_of_temporary(kernel, "x"), "i32");
  EXPECT_EQ(type_of_temporary(kernel, "y"), "f64");
}

TEST(InferTypes, TypesWhatIsReadByItsTarget) {
  const Kernel kernel =
      infer_types(loop({array("a", Type{}),
                        array("out", cgen::f32),
                        {.name = "alpha"},
                        {.name = "n"},
                        array("map", Type{})},
                       {assign("s", at("out"), name("alpha") * access("a", {at("map")}))}));
  EXPECT_EQ(type_of_argument(kernel, "a"), "f32");
  EXPECT_EQ(type_of_argument(kernel, "alpha"), "f32");
  EXPECT_EQ(type_of_argument(kernel, "n"), "i32");
}

TEST(InferTypes, TypesTargetsOfArgmax) {
  Kernel kernel = loop({array("a", cgen::f64)}, {});
  kernel.instructions = {
      {.id = "s",
       .kind = Assignment{{name("best"), name("place")},
                          Reduction{"argmax", {"i"}, {call("abs", {at("a")}), i}}}}};
  kernel.temporaries = {{.name = "best"}, {.name = "place"}};
  kernel = infer_types(kernel);
  EXPECT_EQ(type_of_temporary(kernel, "best"), "f64");
  EXPECT_EQ(type_of_temporary(kernel, "place"), "i32");
}

TEST(InferTypes, RefusesUntypedAndNamesAll) {
  const Kernel kernel =
      loop({array("a", Type{}), array("b", Type{}), array("out", Type{})},
           {assign("z", at("out"), 0), assign("s", at("out"), at("out") + at("a") * at("b"))});
  EXPECT_ERROR("loopy.infer_types.untyped", infer_types(kernel));
  try {
    static_cast<void>(infer_types(kernel));
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "in kernel 'loopy_kernel' these have no type: 'a', which is only read: state its "
              "type; 'b', which is only read: state its type; 'out', which would follow from 'a', "
              "'b'");
  }
}

TEST(InferTypes, RefusesRealAndComplexWriters) {
  const std::vector<Instruction> statements = {assign("s", at("out"), at("a")),
                                               assign("t", at("out"), at("z"))};
  const Argument z = array("z", cgen::complex_of(cgen::f32));
  EXPECT_ERROR("loopy.infer_types.conflict",
               infer_types(loop({array("a", cgen::f32), z, array("out", Type{})}, statements)));
  EXPECT_ERROR("loopy.infer_types.conflict",
               infer_types(loop({array("a", cgen::f32), z, array("out", cgen::f32)}, statements)));
}

// what a reduction adds up has no surroundings whose type its constants could take
TEST(InferTypes, GivesConstantsInReductionsTheTypeOfTheStatement) {
  const auto value = [](const char* text, const char* arguments) {
    const Kernel kernel =
        infer_types(make_kernel("{[i, j]: 0 <= i, j < 8}", text, {.arguments = arguments}));
    return to_string(get_if<Assignment>(kernel.instructions.front())->value);
  };
  const char* f32 = "a, b: f32[8]";
  EXPECT_EQ(value("b[i] = sum(j, 1.0 if a[j] > 0.5 else 0.0)", f32),
            "sum(j, if(a[j] > 0.5, 1.0f, 0.0f))");
  EXPECT_EQ(value("b[i] = 2*a[i]*sum(j, 0.25*j) + 0.5", f32), "2*a[i]*sum(j, 0.25f*j) + 0.5");
  EXPECT_EQ(value("b[i] = sum(j, 0.5*a[j])", f32), "sum(j, 0.5*a[j])");
  EXPECT_EQ(value("b[i] = sum(j, 0.5d if a[j] > 0.5 else 0.0)", f32),
            "sum(j, if(a[j] > 0.5, 0.5d, 0.0))");
  EXPECT_EQ(value("b[i] = sum(j, 1.0 if a[j] > 0.5 else 0.0)", "a: f64[8]; b: f32[8]"),
            "sum(j, if(a[j] > 0.5, 1.0, 0.0))");
  EXPECT_EQ(value("b[i] = sum(j, 1.0 if a[j] > 0.5 else 0.0)", "a: f32[8]; b: i32[8]"),
            "sum(j, if(a[j] > 0.5, 1.0, 0.0))");
}

TEST(InferTypes, KeepsStatedTypes) {
  const Kernel kernel = infer_types(
      loop({array("a", cgen::f64), array("out", cgen::f32)}, {assign("s", at("out"), at("a"))}));
  EXPECT_EQ(type_of_argument(kernel, "out"), "f32");
}

}  // namespace
}  // namespace rtcg::loopy
