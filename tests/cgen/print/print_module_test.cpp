#include "rtcg/cgen/print/print_module.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

using testing::expect_compiles;

/// Prints, and has every compiler of the dialect judge.
std::string printed(const std::vector<Statement>& items, Dialect dialect = Dialect::cpp,
                    const PrintOptions& options = {}) {
  const SourceText source = print_module({"test", items}, dialect, options);
  expect_compiles(source, dialect);
  return source.text;
}

const Expr a = variable("a", i32);
const Expr b = variable("b", i32);
const Expr c = variable("c", i32);

/// The same for an expression whose variables have types.
std::string expr_text(const Expr& tree, Dialect dialect = Dialect::c) {
  expect_compiles(tree, dialect);
  return print_expr(tree, dialect);
}

TEST(PrintExpr, PutsParenthesesWhereGroupingNeedsThem) {
  EXPECT_EQ(expr_text((a + b) * c), "(a + b) * c");
  EXPECT_EQ(expr_text(a + b * c), "a + b * c");
  EXPECT_EQ(expr_text(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(expr_text(a - b - c), "a - b - c");
  EXPECT_EQ(expr_text(5 * (a % 2)), "5 * (a % 2)");
  EXPECT_EQ(expr_text(-(-a)), "-(-a)");
  EXPECT_EQ(expr_text(a - -b), "a - -b");
  EXPECT_EQ(expr_text(a - (-5)), "a - -5");
  EXPECT_EQ(expr_text(-Expr(-5)), "-(-5)");
  EXPECT_EQ(expr_text(cast(f32, a + b)), "(float)(a + b)");
  EXPECT_EQ(expr_text(deref(variable("p", pointer_to(i32)) + 1)), "*(p + 1)");
  EXPECT_EQ(expr_text(select(a < b, assign(a, b), c)), "a < b ? a = b : c");
  EXPECT_EQ(expr_text(call(variable("f", function_type(i32, {i32, i32})), {comma(a, b), c})),
            "f((a, b), c)");
}

TEST(PrintExpr, AddsParenthesesThatCompilersAskFor) {
  EXPECT_EQ(expr_text((a && b) || c), "(a && b) || c");
  EXPECT_EQ(expr_text((a + b) << c), "(a + b) << c");
  EXPECT_EQ(expr_text((a & b) < c), "(a & b) < c");
  EXPECT_EQ(expr_text((a < b) < c), "(a < b) < c");
  EXPECT_EQ(expr_text((a | b) | c), "a | b | c");
}

TEST(PrintExpr, WritesLiteralsThatReadBackExactly) {
  EXPECT_EQ(expr_text(Expr(2.0f)), "2.0f");
  EXPECT_EQ(expr_text(Expr(0.1)), "0.1");
  EXPECT_EQ(expr_text(literal(0.1, f32)), "0.1f");
  EXPECT_EQ(expr_text(Expr(1e-30f)), "1e-30f");
  EXPECT_EQ(expr_text(Expr(7u)), "7u");
  EXPECT_EQ(expr_text(Expr(std::int64_t{7})), "7ll");
  EXPECT_EQ(expr_text(Expr(std::int64_t{7}), Dialect::opencl), "7l");
  EXPECT_EQ(expr_text(Expr(INT32_MIN)), "(-2147483647 - 1)");
  EXPECT_EQ(expr_text(Expr(INT64_MIN)), "(-9223372036854775807ll - 1)");
  EXPECT_EQ(expr_text(Expr(-INFINITY)), "-__builtin_inff()");
  EXPECT_EQ(expr_text(Expr(INFINITY), Dialect::cuda), "__int_as_float(0x7f800000)");
  EXPECT_EQ(expr_text(Expr(double{NAN}), Dialect::opencl), "(double)NAN");
  EXPECT_EQ(expr_text(literal(0.5, f16), Dialect::opencl), "(half)0.5f");
  EXPECT_EQ(expr_text(literal(0.5, f16), Dialect::cuda), "__float2half(0.5f)");
  EXPECT_EQ(expr_text(literal("a\"b\\\n?"
                              "?/\x01")),
            R"("a\"b\\\n?\?/\001")");
  EXPECT_EQ(expr_text(literal('\'')), R"('\'')");
}

TEST(PrintDeclarator, TellsPointersToArraysFromArraysOfPointers) {
  EXPECT_EQ(print_declarator(pointer_to(array_of(f32, 3)), "x", Dialect::c), "float (*x)[3]");
  EXPECT_EQ(print_declarator(array_of(pointer_to(f32), 3), "x", Dialect::c), "float *x[3]");
  EXPECT_EQ(print_declarator(pointer_to(function_type(i32, {f32})), "f", Dialect::c),
            "int (*f)(float)");
  EXPECT_EQ(print_declarator(reference_to(const_(f32)), "x", Dialect::cpp), "const float &x");
  EXPECT_EQ(print_declarator(const_(pointer_to(const_(f32))), "x", Dialect::c),
            "const float *const x");
  EXPECT_EQ(print_declarator(pointer_to(in_space(AddressSpace::global, const_(f32))), "x",
                             Dialect::opencl),
            "__global const float *x");
}

TEST(PrintDeclarator, RefusesTypesThatWereNeverStated) {
  EXPECT_ERROR("cgen.print.untyped", print_declarator(Type(), "x", Dialect::c));
  EXPECT_ERROR("cgen.print.untyped", print_declarator(Type(Invalid{}), "x", Dialect::c));
}

TEST(PrintModule, PrintsAKernelInEachDialect) {
  const auto target = param(restrict_pointer_to(f32), "target");
  const auto source = param(restrict_pointer_to(const_(f32)), "source");
  const auto n = param(i32, "n");
  const auto index = declare(i32, "index", cast(i32, thread_idx_x + block_dim_x * block_idx_x));
  BlockBuilder body;
  body << index << if_(index < n, assign(target[index], 2.0f * source[index]));
  const std::vector<Statement> items = {kernel("twice", {target, source, n}, body)};
  EXPECT_EQ(
      printed(items, Dialect::cuda),
      R"(extern "C" __global__ void twice(float *__restrict__ target, const float *__restrict__ source,
    int n) {
  int index = (int)(threadIdx.x + blockDim.x * blockIdx.x);
  if (index < n) {
    target[index] = 2.0f * source[index];
  }
}
)");
  EXPECT_EQ(
      printed(items, Dialect::opencl),
      R"(__kernel void twice(__global float *restrict target, __global const float *restrict source, int n) {
  int index =
      (int)((uint)(ushort)get_local_id(0) +
      (uint)(ushort)get_local_size(0) * (uint)convert_int_sat(get_group_id(0)));
  if (index < n) {
    target[index] = 2.0f * source[index];
  }
}
)");
  const std::string host = printed(items, Dialect::c);
  EXPECT_NE(host.find("#include <rtcg/host_kernel.h>\n\nstatic inline void twice_thread("),
            std::string::npos)
      << host;
  EXPECT_NE(host.find("#pragma omp parallel for collapse(3) if(rtcg_is_parallel(launch, 8))\n"),
            std::string::npos)
      << host;
  EXPECT_NE(host.find("RTCG_PARAMETER_BYTES(twice, 3, "), std::string::npos) << host;
}

TEST(PrintModule, IsDeterministic) {
  const std::vector<Statement> items = {
      function(f32, "f", {param(f32, "x")}, return_(call(Intrinsic::sqrt, {variable("x", f32)})))};
  EXPECT_EQ(printed(items), printed(items));
}

TEST(PrintModule, NamesTheCppLineOfEachLine) {
  const SourceOrigin here{"user.cpp", 7};
  const Module module{"m", {Statement(Declaration{.type = i32, .name = "x"}, here)}};
  const SourceText text = print_module(module, Dialect::c);
  ASSERT_EQ(text.origins.size(), 1U);
  EXPECT_EQ(text.origins[0].line, 7U);
  EXPECT_EQ(print_module(module, Dialect::c, {.line_directives = true}).text,
            "#line 7 \"user.cpp\"\nint x;\n");
}

// ---- the weaknesses of the original, each shown absent -----------------------------------------

std::vector<Statement> in_function(const std::vector<Statement>& body) {
  return {function(void_type, "f", {param(i32, "a"), param(i32, "b"), param(i32, "c")},
                   BlockBuilder() << Statement(Group{body}))};
}

TEST(Weaknesses, W1OperandsKeepTheirGrouping) {
  EXPECT_EQ(expr_text(assign(variable("x", i32), (a + b) * (c + a))), "x = (a + b) * (c + a)");
}

TEST(Weaknesses, W2DeclaratorsNestAsTheTypesDo) {
  EXPECT_EQ(printed({declare(pointer_to(array_of(f32, 3)), "rows"),
                     declare(array_of(pointer_to(f32), 3), "pointers"),
                     declare(pointer_to(function_type(i32, {i32})), "callback")},
                    Dialect::c),
            "float (*rows)[3];\nfloat *pointers[3];\nint (*callback)(int);\n");
}

TEST(Weaknesses, W3ElseBelongsToItsIf) {
  const std::string text = printed(
      in_function({if_(a, Statement(if_(b, assign(c, 1)))).else_(Statement(assign(c, 2)))}));
  EXPECT_EQ(text, R"(void f(int a, int b, int c) {
  if (a) {
    if (b) {
      c = 1;
    }
  } else {
    c = 2;
  }
}
)");
}

TEST(Weaknesses, W4GroupAsBodyIsGuardedAsAWhole) {
  const Statement both = Group{{Statement(assign(b, 1)), Statement(assign(c, 2))}};
  EXPECT_NE(printed(in_function({Statement(If{a, both, {}})})).find(R"(  if (a) {
    b = 1;
    c = 2;
  }
)"),
            std::string::npos);
}

TEST(Weaknesses, W5LoopHeadersTakeDeclarationsAndAssignments) {
  EXPECT_NE(printed(in_function({for_(i32, "i", 0, 10, [](Expr, BlockBuilder&) {})}))
                .find("for (int i = 0; i < 10; ++i) {}\n"),
            std::string::npos);
  EXPECT_NE(printed(in_function({Statement(For{
                        Statement(assign(a, 0)), a < b, increment(a), Statement(Block{}), {}})}))
                .find("for (a = 0; a < b; ++a) {}\n"),
            std::string::npos);
}

TEST(Weaknesses, W6TemplatesKeepTheirHeadAroundKernels) {
  Function generic;
  generic.result = void_type;
  generic.name = "fill";
  generic.parameters = {param(pointer_to(named("T")), "x")};
  generic.body = Statement(Block{});
  generic.specifiers.is_kernel = true;
  EXPECT_EQ(
      printed({Statement(Template{{{"T", {}, {}, false}}, Statement(generic)})}, Dialect::cuda),
      "template <typename T>\n__global__ void fill(T *x) {}\n");
}

TEST(Weaknesses, W7ReferencesAreToConstantsAndRvalues) {
  EXPECT_EQ(printed({declare_function(
                void_type, "f",
                {param(reference_to(const_(f32)), "x"), param(Type(Reference{f32, true}), "y")})}),
            "void f(const float &x, float &&y);\n");
}

TEST(Weaknesses, W8CommentsCannotBreakOut) {
  EXPECT_EQ(printed({comment("evil */ int x;\nends in \\")}, Dialect::c),
            "/*\n * evil * / int x;\n * ends in \\ .\n */\n");
  EXPECT_EQ(printed({comment("ends in \\")}, Dialect::cpp), "// ends in \\ .\n");
}

TEST(Weaknesses, W9PreprocessorLinesStartInTheFirstColumn) {
  EXPECT_EQ(printed(in_function({Statement(PreprocessorIf{
                {{PreprocessorTest::ifdef, "FAST", {Statement(assign(a, 1))}},
                 {PreprocessorTest::if_, "defined(SLOW)", {Statement(assign(a, 2))}}},
                std::vector<Statement>{Statement(assign(a, 3))}})})),
            R"(void f(int a, int b, int c) {
#ifdef FAST
  a = 1;
#elif defined(SLOW)
  a = 2;
#else
  a = 3;
#endif
}
)");
  EXPECT_EQ(
      printed({Statement(Define{"TWICE", "((x) + \\\n(x))", {{"x"}}}), Statement(Undef{"TWICE"})}),
      "#define TWICE(x) ((x) + \\ \\\n(x))\n#undef TWICE\n");
}

TEST(Weaknesses, W10EveryConstructHasANode) {
  const std::string text = printed(in_function(
      {switch_(a)
           .case_({0, 1}, Body{Statement(assign(b, 1))})
           .case_({2}, Body{return_()})
           .default_(Body{Statement(declare(i32, "t", 3)), Statement(add_assign(b, 4))}),
       Statement(Label{"again"}), Statement(if_(a < b, Statement(Goto{"again"}))),
       do_while_(Body{break_()}, a < b), while_(a < b, continue_()),
       Statement(Declaration{
           .type = auto_type,
           .name = "twice",
           .initializer = Expr(
               Lambda{{param(i32, "x")}, Statement(Block{{return_(variable("x", i32) * 2)}})})}),
       Statement(StaticAssert{Expr(Binary{BinaryOp::equal, sizeof_(i32), 4u}), "int is 32 bits"}),
       Statement(InlineAsm{"nop\nnop", {}, {}, {"memory"}, true})}));
  EXPECT_EQ(text, R"(void f(int a, int b, int c) {
  switch (a) {
    case 0:
    case 1:
      b = 1;
      break;
    case 2:
      return;
    default: {
      int t = 3;
      b += 4;
      break;
    }
  }
again:
  if (a < b) {
    goto again;
  }
  do {
    break;
  } while (a < b);
  while (a < b) {
    continue;
  }
  auto twice = [](int x) {
    return x * 2;
  };
  static_assert(sizeof(int) == 4u, "int is 32 bits");
  asm volatile("nop\n" "nop" : : : "memory");
}
)");
}

TEST(Weaknesses, W10ClassesUnionsEnumsAndNamespaces) {
  Function sum;
  sum.result = i32;
  sum.name = "sum";
  sum.body = Statement(Block{{return_(variable("x", i32) + variable("y", i32))}});
  sum.specifiers.is_const_member = true;
  Function make;
  make.name = "pair";
  make.parameters = {param(i32, "first")};
  make.member_initializers = {{"x", {variable("first", i32)}}, {"y", {Expr(0)}}};
  make.body = Statement(Block{});
  make.specifiers.is_explicit = true;
  const std::string text = printed(
      {Statement(Namespace{
           "tools",
           {Statement(RecordDefinition{
               .tag = RecordTag::class_,
               .name = "pair",
               .members = {Statement(AccessSpecifier{Access::public_}), Statement(make),
                           Statement(sum), Statement(AccessSpecifier{Access::private_}),
                           Statement(Declaration{.type = i32, .name = "x"}),
                           Statement(Declaration{.type = i32, .name = "y", .bit_width = 7})}})}}),
       Statement(RecordDefinition{.tag = RecordTag::union_,
                                  .name = "bits",
                                  .members = {Statement(Declaration{.type = f32, .name = "f"}),
                                              Statement(Declaration{.type = u32, .name = "u"})},
                                  .align_bytes = 16}),
       Statement(EnumDefinition{"color", {{"red"}, {"green", Expr(5)}}, true, u8}),
       Statement(UsingAlias{"number", f64}), Statement(UsingDirective{"tools"}),
       Statement(ExternC{{declare_function(void_type, "g", {})}})});
  EXPECT_EQ(text, R"(namespace tools {
class pair {
public:
  explicit pair(int first) : x(first), y(0) {}
  int sum() const {
    return x + y;
  }
private:
  int x;
  int y : 7;
};
}  // namespace tools

union alignas(16) bits {
  float f;
  unsigned int u;
};

enum class color : unsigned char {
  red,
  green = 5,
};

using number = double;
using namespace tools;

extern "C" {
void g();
}
)");
}

TEST(Weaknesses, W10LaunchesAndTemplateCalls) {
  const Declared k = kernel("k", {param(pointer_to(f32), "x")}, {});
  const auto x = param(pointer_to(f32), "x");
  EXPECT_EQ(printed({k, kernel("starts", {x}, {Statement(launch(k, 4, 128, {x}, Expr(64)))})},
                    Dialect::cuda),
            R"(extern "C" __global__ void k(float *x) {}

extern "C" __global__ void starts(float *x) {
  k<<<4, 128, 64>>>(x);
}
)");
  const Statement generic = Template{{{"T", {}, {}, false}, {"is_wide", boolean, {}, false}},
                                     declare_function(i32, "f", {param(i32, "x")})};
  const Expr three = literal(3, i32);
  EXPECT_EQ(
      printed({generic, function(i32, "g", {param(i32, "a")},
                                 return_(call(variable("f", Type()), {a}, {f32, three > 2})))}),
      R"(template <typename T, bool is_wide>
int f(int x);

int g(int a) {
  return f<float, (3 > 2)>(a);
}
)");
}

TEST(Defect21, GnuAttributesStandAfterTheSpecifiers) {
  const auto with_attribute = [](const char* text, const Statement& tree) {
    Function f = *get_if<Function>(tree);
    f.attributes = {{text, AttributeStyle::gnu}};
    return f;
  };
  Function inner = with_attribute("noinline", function(i32, "f", {param(i32, "a")}, return_(a)));
  inner.specifiers.is_static = true;
  for (const Dialect dialect : {Dialect::c, Dialect::cpp}) {
    EXPECT_EQ(printed({Statement(inner)}, dialect),
              "static __attribute__((noinline)) int f(int a) {\n  return a;\n}\n");
  }
  Function outer = inner;
  outer.specifiers = {};
  outer.specifiers.is_extern_c = true;
  EXPECT_EQ(printed({Statement(outer)}),
            "extern \"C\" __attribute__((noinline)) int f(int a) {\n  return a;\n}\n");
  outer.body.reset();
  EXPECT_EQ(printed({Statement(outer)}), "extern \"C\" int f(int a) __attribute__((noinline));\n");
}

TEST(Defect21, KernelsTakeClusterDimensions) {
  const Statement plain = kernel("k", {param(pointer_to(f32), "x")}, {});
  Function k = *get_if<Function>(plain);
  k.attributes = {{"cluster_dims(2, 1, 1)", AttributeStyle::gnu}};
  EXPECT_EQ(printed({Statement(k)}, Dialect::cuda),
            "extern \"C\" __global__ __attribute__((cluster_dims(2, 1, 1))) void k(float *x) {}\n");
}

TEST(Defect21, OpenClRefusesBitFieldsAndPointersToFunctions) {
  Declaration bits{u32, "bits"};
  bits.bit_width = 3;
  RecordDefinition record;
  record.name = "packed";
  record.members = {Statement(bits)};
  EXPECT_ERROR("cgen.lower.no_bit_field",
               print_module({"m", {Statement(record)}}, Dialect::opencl));
  EXPECT_EQ(printed({Statement(record)}, Dialect::c),
            "struct packed {\n  unsigned int bits : 3;\n};\n");
  const Statement takes =
      declare_function(void_type, "f", {param(pointer_to(function_type(i32, {i32})), "g")});
  EXPECT_ERROR("cgen.lower.no_function_pointer", print_module({"m", {takes}}, Dialect::opencl));
  EXPECT_EQ(printed({takes}, Dialect::c), "void f(int (*g)(int));\n");
}

TEST(Defect21, TemplatesCanBeSpecialised) {
  const Statement generic = Template{{{"T", {}, {}, false}}, declare_function(i32, "f", {})};
  const Statement special = Template{{}, function(i32, "f<float>", {}, return_(literal(1, i32)))};
  check_names({"m", {generic, special}}, Dialect::cpp);
  EXPECT_EQ(printed({generic, special}), R"(template <typename T>
int f();

template <>
int f<float>() {
  return 1;
}
)");
  EXPECT_ERROR("cgen.check_names.undeclared", check_names({"m", {special}}, Dialect::cpp));
  EXPECT_ERROR("cgen.check_names.not_an_identifier",
               check_names({"m", {declare_function(i32, "f<float>", {})}}, Dialect::cpp));
}

// Messages are the same on every machine.
TEST(Defect22, MessagesNameNoFoldersOfTheBuild) {
  try {
    check_names({"m", {declare_function(i32, "no name", {})}}, Dialect::cpp);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message().find('/'), std::string::npos) << error.message();
  }
}

TEST(Weaknesses, W11LongLinesAreWrapped) {
  Expr sum = variable("term_0", i32);
  for (int i = 1; i < 40; ++i) {
    sum = sum + variable("term_" + std::to_string(i), i32);
  }
  const std::string text = print_statement(assign(a, sum), Dialect::c);
  std::size_t longest = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    longest = std::max(longest, end - begin);
  }
  EXPECT_LE(longest, 100U);
  EXPECT_NE(text.find(" +\n    term_"), std::string::npos) << text;
}

TEST(Weaknesses, W11LongLinesAreWrappedOutsideOfSubscripts) {
  const auto element = [](const std::string& array, int offset) {
    const Expr far = variable("a_name_of_some_length", i32) * 1024 + variable("another_name", i32);
    return variable(array, pointer_to(f32))[far + offset];
  };
  // after `=`
  EXPECT_EQ(print_statement(assign(element("result", 12345), element("x", 7)), Dialect::c),
            "result[a_name_of_some_length * 1024 + another_name + 12345] =\n"
            "    x[a_name_of_some_length * 1024 + another_name + 7];\n");
  EXPECT_EQ(print_statement(declare(const_(f32), "difference_of_the_two_neighbours",
                                    call("scaled_difference", {element("x", 1), 2.0F}, f32))
                                .declaration(),
                            Dialect::c),
            "const float difference_of_the_two_neighbours =\n"
            "    scaled_difference(x[a_name_of_some_length * 1024 + another_name + 1], 2.0f);\n");
  // at an operator, where there is one outside of brackets
  EXPECT_EQ(print_statement(assign(element("y", 5), element("x", 7) * element("x", 8)), Dialect::c),
            "y[a_name_of_some_length * 1024 + another_name + 5] =\n"
            "    x[a_name_of_some_length * 1024 + another_name + 7] *\n"
            "    x[a_name_of_some_length * 1024 + another_name + 8];\n");
  // after `f(`
  EXPECT_EQ(print_statement(call("copy_to_shared_memory_of_the_block",
                                 {address_of(element("a_rather_long_array_name", 11)),
                                  address_of(element("x", 12))},
                                 void_type),
                            Dialect::c),
            "copy_to_shared_memory_of_the_block(\n"
            "    &a_rather_long_array_name[a_name_of_some_length * 1024 + another_name + 11],\n"
            "    &x[a_name_of_some_length * 1024 + another_name + 12]);\n");
}

TEST(Weaknesses, W12LinesKnowWhatBuiltThem) {
  const Statement first = assign(a, 1);
  const unsigned line = __LINE__ - 1;
  const SourceText source = print_module({"m", in_function({first})}, Dialect::cpp);
  ASSERT_EQ(source.origins.size(), 3U);  // the head, the statement, the brace
  EXPECT_EQ(source.origins[1].line, line);
  EXPECT_STREQ(source.origins[1].file, __FILE__);
}

TEST(Weaknesses, W13TreesAreValues) {
  const Expr sum = a + b;
  const Expr again = variable("a", i32) + variable("b", i32);
  EXPECT_TRUE(sum == again);
  EXPECT_EQ(sum.hash(), again.hash());
  EXPECT_FALSE(sum == b + a);
  const Expr changed = substitute(sum, {{"a", c}});
  EXPECT_TRUE(changed == c + b);
  EXPECT_TRUE(sum == again);
}

TEST(Weaknesses, W14WalksReachEveryPart) {
  const std::vector<Statement> items = {
      Statement(PreprocessorIf{{{PreprocessorTest::ifdef, "FAST", {Statement(assign(a, 1))}}},
                               std::vector<Statement>{Statement(assign(b, 1))}}),
      Statement(EnumDefinition{"color", {{"red", c}}, false, {}}),
      for_(i32, "i", variable("start", i32), 10, [](Expr, BlockBuilder&) {}),
      declare(vector_of(f32, 4), "v")};
  std::set<std::string> names;
  bool has_vector = false;
  walk(Module{"m", items}, {[&](const Type& type) {
                              has_vector |= is<Vector>(type);
                              return true;
                            },
                            [&](const Expr& e) {
                              if (const auto* variable = get_if<Variable>(e)) {
                                names.insert(variable->name);
                              }
                              return true;
                            },
                            {}});
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c", "i", "start"}));
  EXPECT_TRUE(has_vector);
}

TEST(Weaknesses, W15NamesAreChecked) {
  const auto check = [](const std::vector<Statement>& body) {
    check_names(Module{"m", in_function(body)}, Dialect::cuda);
  };
  check({assign(a, b)});
  EXPECT_ERROR("cgen.check_names.undeclared", check({assign(a, variable("nowhere", i32))}));
  EXPECT_ERROR("cgen.check_names.duplicate", check({declare(i32, "t"), declare(i32, "t")}));
  EXPECT_ERROR("cgen.check_names.reserved", check({declare(i32, "blockIdx")}));
}

TEST(Weaknesses, W16FloatsKeepTheirTypeAndStringsTheirCharacters) {
  EXPECT_EQ(expr_text(2.0f * variable("x", f32)), "2.0f * x");
  EXPECT_EQ(expr_text(literal("say \"hi\"\n")), R"("say \"hi\"\n")");
}

}  // namespace
}  // namespace rtcg::cgen
