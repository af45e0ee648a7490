#include "rtcg/cgen/check/check_names.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/build/block_builder.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

void check(const std::vector<Statement>& items, Dialect dialect = Dialect::cuda) {
  check_names(Module{"m", items}, dialect);
}

Statement in_function(const std::vector<Statement>& statements) {
  return function(void_type, "f", {}, Statement(Block{statements}));
}

const Expr x = variable("x", i32);
const Expr y = variable("y", i32);

TEST(CheckNames, RefusesUndeclaredNames) {
  EXPECT_ERROR("cgen.check_names.undeclared", check({in_function({assign(x, 1)})}));
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({in_function({assign(x, 1), declare(i32, "x")})}));
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({in_function({Block{{declare(i32, "x")}}, assign(x, 1)})}));
  EXPECT_ERROR("cgen.check_names.undeclared", check({in_function({call("g", {}, void_type)})}));
  EXPECT_ERROR("cgen.check_names.undeclared", check({declare(array_of(f32, x), "a")}));
  EXPECT_ERROR("cgen.check_names.undeclared", check({in_function({RawExpr{"x + 1", i32, {"x"}}})}));
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({in_function({RawStatement{"x = 1;", {}, {"x"}}})}));
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({in_function({for_(i32, "i", 0, 9, [](Expr, BlockBuilder&) {}),
                                   assign(variable("i", i32), 1)})}));
  EXPECT_ERROR(
      "cgen.check_names.undeclared",
      check({in_function({PreprocessorIf{{{PreprocessorTest::ifdef, "A", {assign(x, 1)}}}}})}));
}

TEST(CheckNames, NamesTheLine) {
  const Expr use = variable("x", i32);
  const std::string line = std::to_string(__LINE__ - 1);
  try {
    check({in_function({assign(use, 1)})});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message().find("'x' is used, but nothing before declares it (built at "), 0U);
    EXPECT_NE(error.message().find("check_names_test.cpp:" + line), std::string::npos);
  }
}

TEST(CheckNames, KnowsScopes) {
  check({declare(i32, "x"), in_function({assign(x, 1), Block{{declare(i32, "x"), assign(x, 2)}}})});
  check({function(void_type, "g", {param(i32, "x")}, {assign(x, 1)}),
         function(void_type, "h", {param(i32, "x")}, {call("g", {x}, void_type)})});
  check({in_function({RawStatement{"int x = 1;", {"x"}, {}}, assign(x, 2)})});
  check({Define{"x", "1"}, in_function({declare(i32, "a", x)})});
  check({EnumDefinition{"color", {{"red"}, {"blue", 5}}},
         in_function({declare(i32, "a", variable("red", i32))})});
  check({Namespace{"", {declare(i32, "x")}}, in_function({assign(x, 1)})});
  check({Namespace{"n", {declare(i32, "x")}}, UsingDirective{"n"}, in_function({assign(x, 1)})});
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({Namespace{"n", {declare(i32, "x")}}, in_function({assign(x, 1)})}));
  check({in_function(
      {declare(i32, "y", 1),
       declare(auto_type, "l",
               Lambda{{{i32, "x"}}, Block{{return_(x + y)}}, CaptureDefault::by_value})})});
  check({Template{{{"T"}, {"x", i32}}, function(i32, "g", {}, return_(x))}});
}

TEST(CheckNames, LetsMembersSeeEachOther) {
  const Statement get = function(i32, "get", {}, return_(x));
  check({RecordDefinition{RecordTag::struct_, "s", {get, declare(i32, "x")}}});
  EXPECT_ERROR("cgen.check_names.undeclared",
               check({RecordDefinition{RecordTag::struct_, "s", {declare(i32, "x")}},
                      in_function({assign(x, 1)})}));
  EXPECT_ERROR(
      "cgen.check_names.duplicate",
      check({RecordDefinition{RecordTag::struct_, "s", {declare(i32, "x"), declare(f32, "x")}}}));
}

TEST(CheckNames, AcceptsWhatItIsTold) {
  check_names(Statement(assign(x, 1)), Dialect::c, {"x"});
  EXPECT_ERROR("cgen.check_names.undeclared", check_names(Statement(assign(x, 1)), Dialect::c));
  check({in_function({call("std::abort", {}, void_type)})});
}

TEST(CheckNames, RefusesDuplicates) {
  EXPECT_ERROR("cgen.check_names.duplicate",
               check({in_function({declare(i32, "x"), declare(f32, "x")})}));
  EXPECT_ERROR("cgen.check_names.duplicate",
               check({function(void_type, "g", {param(i32, "x")}, {declare(i32, "x")})}));
  EXPECT_ERROR("cgen.check_names.duplicate",
               check({function(void_type, "g", {param(i32, "x"), param(i32, "x")}, {})}));
  EXPECT_ERROR("cgen.check_names.duplicate", check({in_function({}), in_function({})}));
  EXPECT_ERROR("cgen.check_names.duplicate", check({declare(i32, "f"), in_function({})}));
  EXPECT_ERROR("cgen.check_names.duplicate", check({EnumDefinition{"e", {{"a"}, {"a"}}}}));
  EXPECT_ERROR("cgen.check_names.duplicate",
               check({in_function({declare(i32, "x"), RawStatement{"int x;", {"x"}, {}}})}));
  EXPECT_ERROR("cgen.check_names.duplicate", check({Define{"A", "1"}, Define{"A", "2"}}));
}

TEST(CheckNames, AllowsDeclaringAhead) {
  check({declare_function(void_type, "f", {}), in_function({})});
  check({RecordDefinition{.name = "s", .is_definition = false}, RecordDefinition{.name = "s"},
         declare(named("s"), "t")});
  // overloads
  check({function(void_type, "g", {param(i32, "a")}, {}),
         function(void_type, "g", {param(f32, "a")}, {})});
  check({PreprocessorIf{{{PreprocessorTest::ifdef, "A", {declare(i32, "x")}}},
                        std::vector<Statement>{declare(f32, "x")}},
         in_function({assign(x, 1)})});
}

TEST(CheckNames, RefusesReservedWordsOfTheDialect) {
  const Statement kernel_name = declare(i32, "kernel");
  check({kernel_name}, Dialect::cuda);
  EXPECT_ERROR("cgen.check_names.reserved", check({kernel_name}, Dialect::opencl));
  const Statement class_name = declare(i32, "class");
  check({class_name}, Dialect::c);
  EXPECT_ERROR("cgen.check_names.reserved", check({class_name}, Dialect::cpp));
  EXPECT_ERROR("cgen.check_names.reserved", check({declare(i32, "blockIdx")}, Dialect::cuda));
  EXPECT_ERROR("cgen.check_names.reserved", check({declare(i32, "while")}, Dialect::c));
  EXPECT_ERROR("cgen.check_names.reserved",
               check({function(void_type, "g", {param(i32, "float4")}, {})}, Dialect::opencl));
  check({function(i32, "main", {}, return_(0))}, Dialect::cpp);
}

TEST(CheckNames, RefusesWhatIsNotSpeltLikeAName) {
  for (const char* wrong : {"1x", "a b", "a-b", "x;int y", "\xc3\xa9"}) {
    EXPECT_ERROR("cgen.check_names.not_an_identifier", check({declare(i32, wrong)}));
  }
  EXPECT_ERROR("cgen.check_names.not_an_identifier", check({in_function({Label{"a b"}})}));
  EXPECT_ERROR("cgen.check_names.not_an_identifier",
               check({Define{"A", "1", std::vector<std::string>{"a b"}}}));
  check({function(void_type, "operator+", {}, {}), function(void_type, "s::g", {}, {})});
}

TEST(CheckNames, HoldsUsesAgainstDeclarations) {
  EXPECT_ERROR("cgen.check_names.other_type",
               check({in_function({declare(f32, "x"), assign(x, 1)})}));
  EXPECT_ERROR("cgen.check_names.other_type",
               check({function(void_type, "g", {param(pointer_to(const_(f32)), "x")},
                               {assign(variable("x", pointer_to(f32))[0], 1)})}));
  check({in_function({declare(const_(i32), "x", 1), declare(i32, "y", x)})});
  check({in_function({declare(auto_type, "x", 1), assign(x, 1)})});
  check({function(void_type, "g", {param(restrict_pointer_to(f32), "p")},
                  {assign(variable("p", pointer_to(f32))[0], 1)})});
}

TEST(CheckNames, RefusesMissingAndRepeatedLabels) {
  check({in_function({Goto{"end"}, if_(literal(true), Goto{"end"}), Label{"end"}}),
         function(void_type, "g", {}, {Label{"end"}, EmptyStatement{}})});
  EXPECT_ERROR("cgen.check_names.missing_label", check({in_function({Goto{"end"}})}));
  EXPECT_ERROR("cgen.check_names.missing_label",
               check({in_function({Goto{"end"}}), function(void_type, "g", {}, {Label{"end"}})}));
  EXPECT_ERROR("cgen.check_names.duplicate_label",
               check({in_function({Label{"end"}, Block{{Label{"end"}}}})}));
}

TEST(CheckNames, RefusesLineBreaksInDirectives) {
  EXPECT_ERROR("cgen.check_names.line_break", check({Include{"a.h\n#define x"}}));
  EXPECT_ERROR("cgen.check_names.line_break", check({Pragma{"once\nint x;"}}));
  EXPECT_ERROR("cgen.check_names.line_break", check({Define{"A", "1\n2"}}));
  EXPECT_ERROR("cgen.check_names.line_break", check({LineDirective{1, "a\nb"}}));
  EXPECT_ERROR("cgen.check_names.line_break",
               check({PreprocessorIf{{{PreprocessorTest::if_, "A\nB", {}}}}}));
}

}  // namespace
}  // namespace rtcg::cgen
