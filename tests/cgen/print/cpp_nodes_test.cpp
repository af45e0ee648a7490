// What C++ has beyond C, each node printed, judged by the compilers, checked and refused in C.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/compile_text.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

using testing::expect_compiles;

const Type t = named("T");
const Type error_type = reference_to(const_(named("std::exception")));
const Expr x = variable("x", i32);
const Expr y = variable("y", i32);
const Expr p = variable("p", pointer_to(i32));

/// Checks types and names, prints, and has every compiler of the dialect judge.
std::string checked(const std::vector<Statement>& items, Dialect dialect = Dialect::cpp) {
  const Module module{"test", items};
  check_types(module);
  check_names(module, dialect);
  const SourceText source = print_module(module, dialect);
  expect_compiles(source, dialect);
  return source.text;
}

Statement in_function(const BlockBuilder& body) {
  return function(void_type, "f", {param(i32, "x"), param(i32, "y"), param(pointer_to(i32), "p")},
                  body);
}

Statement member(Function function) {
  return Statement(std::move(function));
}

/// The checks of a statement in a function with parameters x, y and p.
void check(const Statement& statement) {
  check_types(Module{"m", {in_function(BlockBuilder{statement})}});
}

void check_item(const Statement& item) {
  check_types(Module{"m", {item}});
}

// ---- statements -------------------------------------------------------------------------------

TEST(Defect21, TryHasHandlersAndThrowIsAnExpression) {
  const Statement attempt =
      try_({if_(x < 0, throw_(call("std::runtime_error", {literal("negative")}, Type())))})
          .catch_(param(error_type, "error"), {assign(variable("p", p.type())[0], 1), rethrow()})
          .catch_({i32}, assign(p[0], 2))
          .catch_all(assign(p[0], 3));
  EXPECT_EQ(checked({include_system("stdexcept"), in_function(BlockBuilder{attempt})}),
            R"(#include <stdexcept>

void f(int x, int y, int *p) {
  try {
    if (x < 0) {
      throw std::runtime_error("negative");
    }
  } catch (const std::exception &error) {
    p[0] = 1;
    throw;
  } catch (int) {
    p[0] = 2;
  } catch (...) {
    p[0] = 3;
  }
}
)");
}

TEST(Defect21, LoopsRunOverRanges) {
  const auto values = declare(array_of(i32, 3), "values", InitializerList{{1, 2, 3}});
  const auto pairs = declare(array_of(array_of(i32, 2), 2), "pairs",
                             InitializerList{{InitializerList{{1, 2}}, InitializerList{{3, 4}}}});
  const Statement names = StructuredBinding{reference_to(const_(auto_type)), {"first", "second"}};
  EXPECT_EQ(
      checked({in_function(BlockBuilder{
          values, pairs,
          range_for(i32, "value", values,
                    [](const Expr& value, BlockBuilder& body) { body << add_assign(p[0], value); }),
          range_for(reference_to(auto_type), "value", InitializerList{{x, y}},
                    [](const Expr&, BlockBuilder& body) { body << continue_(); }),
          range_for(names, pairs,
                    add_assign(p[1], variable("first", Type()) * variable("second", Type())))})}),
      R"(#include <initializer_list>

void f(int x, int y, int *p) {
  int values[3] = {1, 2, 3};
  int pairs[2][2] = {{1, 2}, {3, 4}};
  for (int value : values) {
    p[0] += value;
  }
  for (auto &value : {x, y}) {
    continue;
  }
  for (const auto &[first, second] : pairs) {
    p[1] += first * second;
  }
}
)");
}

TEST(Defect21, StructuredBindingsNameElements) {
  const Statement point =
      RecordDefinition{.name = "point", .members = {declare(i32, "a"), declare(f32, "b")}};
  const auto q = declare(type_of(*get_if<RecordDefinition>(point)), "q", InitializerList{{1, 2}});
  EXPECT_EQ(checked({point, in_function(BlockBuilder{
                                q, bind_elements({"a", "b"}, q),
                                bind_elements({"c", "d"}, q, rvalue_reference_to(auto_type)),
                                assign(variable("c", Type()), variable("a", Type()) + x)})}),
            R"(struct point {
  int a;
  float b;
};

void f(int x, int y, int *p) {
  point q = {1, 2};
  auto [a, b] = q;
  auto &&[c, d] = q;
  c = a + x;
}
)");
}

TEST(Defect21, LoopsBeginWithBindings) {
  const auto pair = declare(array_of(i32, 2), "pair", InitializerList{{1, 9}});
  const Expr first = variable("first", Type());
  EXPECT_EQ(checked({in_function(BlockBuilder{
                pair, For{bind_elements({"first", "last"}, pair), first < variable("last", Type()),
                          increment(first), assign(p[0], first)}})}),
            R"(void f(int x, int y, int *p) {
  int pair[2] = {1, 9};
  for (auto [first, last] = pair; first < last; ++first) {
    p[0] = first;
  }
}
)");
}

TEST(Defect21, BranchesAreChosenAtCompileTime) {
  const Expr size = sizeof_(t);
  const Statement choice = if_constexpr(equal(size, 4u), return_(1))
                               .else_if_constexpr(equal(size, 8u), return_(2))
                               .else_if_(x < 0, return_(3))
                               .else_(return_(4));
  EXPECT_EQ(checked({Template{{{"T", {}, {}, false}},
                              function(i32, "g", {param(i32, "x")}, {choice, return_(0)})}}),
            R"(template <typename T>
int g(int x) {
  if constexpr (sizeof(T) == 4u) {
    return 1;
  } else if constexpr (sizeof(T) == 8u) {
    return 2;
  } else if (x < 0) {
    return 3;
  } else {
    return 4;
  }
  return 0;
}
)");
}

TEST(Defect21, ErrorDirectivesKeepTheirTextTogether) {
  for (const Dialect dialect : {Dialect::c, Dialect::cpp, Dialect::cuda, Dialect::opencl}) {
    EXPECT_EQ(checked({PreprocessorIf{{{PreprocessorTest::ifdef,
                                        "NARROW",
                                        {ErrorDirective{"it's \"wide\" /* only\nhere \\"}}}}}},
                      dialect),
              "#ifdef NARROW\n#error \"it's \\\"wide\\\" /* only\\nhere \\\\\"\n#endif\n");
  }
  const auto result =
      testing::compile_text(print_module({"m", {ErrorDirective{"a message"}}}, Dialect::c).text,
                            testing::HostLanguage::c);
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.output.find("a message"), std::string::npos) << result.output;
}

TEST(Defect21, SwitchesAndLabelsTakeBindingsForDeclarations) {
  const auto pair = declare(array_of(i32, 2), "pair", InitializerList{{1, 2}});
  const std::string text = checked({in_function(BlockBuilder{
      pair, switch_(x).case_({0}, {bind_elements({"a", "b"}, pair), break_()}).default_(break_()),
      Label{"last"}, bind_elements({"a", "b"}, pair), if_(x < 0, Goto{"last"})})});
  EXPECT_NE(text.find("case 0: {\n      auto [a, b] = pair;\n      break;\n    }\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("last:;\n  auto [a, b] = pair;\n"), std::string::npos) << text;
}

// ---- expressions ------------------------------------------------------------------------------

std::string expr_text(const Expr& tree) {
  check_types(tree);
  expect_compiles(tree, Dialect::cpp);
  return print_expr(tree, Dialect::cpp);
}

TEST(Defect21, NewAndDeleteBindAsUnaryOperators) {
  EXPECT_EQ(expr_text(new_(i32)), "new int()");
  EXPECT_EQ(expr_text(New{i32}), "new int");
  EXPECT_EQ(expr_text(new_(const_(i32), {x + y})), "new const int(x + y)");
  EXPECT_EQ(expr_text(New{i32, std::vector<Expr>{x}, {}, true}), "new int{x}");
  EXPECT_EQ(expr_text(new_array(f32, x + 1)), "new float[x + 1]");
  EXPECT_EQ(expr_text(New{array_of(i32, 2), std::vector<Expr>{x, y}, {}, true}),
            "new int[2]{x, y}");
  EXPECT_EQ(expr_text(new_array(array_of(pointer_to(f32), 3), x)), "new float *[x][3]");
  EXPECT_EQ(expr_text(New{pointer_to(array_of(i32, 3)), std::vector<Expr>{}}),
            "new (int (*)[3])()");
  EXPECT_EQ(print_expr(New{i32, std::vector<Expr>{x}, {p, y}, false}, Dialect::cpp),
            "new (p, y) int(x)");
  EXPECT_EQ(expr_text(deref(new_(i32, {x})) * y), "*new int(x) * y");
  EXPECT_EQ(expr_text(deref(New{i32})), "*(new int)");
  EXPECT_EQ(expr_text(new_(i32, {x})[y]), "(new int(x))[y]");
  EXPECT_EQ(expr_text(Expr(New{i32}) && (x < y)), "(new int) && x < y");
  EXPECT_EQ(expr_text(delete_(p)), "delete p");
  EXPECT_EQ(expr_text(delete_array(p + x)), "delete[] (p + x)");
  EXPECT_EQ(expr_text(delete_(deref(variable("q", pointer_to(pointer_to(i32)))))), "delete *q");
  EXPECT_EQ(expr_text(comma(delete_(p), x)), "delete p, x");
  EXPECT_EQ(expr_text(cast(void_type, delete_(p))), "(void)delete p");
  const Expr lambda = Lambda{{}, Statement(Block{{return_(new_(i32))}})};
  const std::string text = print_expr(delete_(call(lambda)), Dialect::cpp);
  EXPECT_EQ(text.find("delete ([]() {\n"), 0U) << text;
  EXPECT_TRUE(new_array(array_of(f32, 3), x).type() == pointer_to(array_of(f32, 3)));
  EXPECT_TRUE(new_(const_(i32)).type() == pointer_to(const_(i32)));
  EXPECT_TRUE(delete_(p).type() == void_type);
}

TEST(Defect21, NewTakesMemoryThatIsThere) {
  const std::vector<Statement> items = {
      in_function(BlockBuilder{New{i32, std::vector<Expr>{x}, {p}, false}})};
  EXPECT_EQ(checked(items), R"(#include <new>

void f(int x, int y, int *p) {
  new (p) int(x);
}
)");
  EXPECT_EQ(checked(items, Dialect::cuda), R"(__device__ void f(int x, int y, int *p) {
  new (p) int(x);
}
)");
}

TEST(Defect21, ThrowBindsAsAssignments) {
  EXPECT_EQ(expr_text(throw_(x + y)), "throw x + y");
  EXPECT_EQ(expr_text(throw_(comma(x, y))), "throw (x, y)");
  EXPECT_EQ(expr_text(comma(throw_(x), y)), "throw x, y");
  EXPECT_EQ(expr_text(select(x < y, x, throw_(y))), "x < y ? x : throw y");
  EXPECT_EQ(expr_text(select(x < y, throw_(x), y) + 1), "(x < y ? throw x : y) + 1");
  EXPECT_EQ(expr_text(select(x < y, throw_(select(x < 1, x, y)), p[0])),
            "x < y ? throw x < 1 ? x : y : p[0]");
  EXPECT_EQ(expr_text(cast(void_type, throw_(x))), "(void)(throw x)");
  EXPECT_EQ(expr_text(rethrow()), "throw");
  EXPECT_TRUE(select(x < y, throw_(x), p[0]).type() == i32);
  EXPECT_TRUE(select(x < y, p, throw_(x)).type() == pointer_to(i32));
}

TEST(Defect21, FoldsKeepTheirSide) {
  const Expr xs = variable("xs", t);
  EXPECT_EQ(print_expr(fold_left(BinaryOp::add, xs), Dialect::cpp), "(... + xs)");
  EXPECT_EQ(print_expr(fold_right(BinaryOp::logical_and, xs), Dialect::cpp), "(xs && ...)");
  EXPECT_EQ(print_expr(fold_left(BinaryOp::shift_left, xs, x), Dialect::cpp), "(x << ... << xs)");
  EXPECT_EQ(print_expr(fold_right(BinaryOp::subtract, xs * 2, x + y), Dialect::cpp),
            "((xs * 2) - ... - (x + y))");
  EXPECT_EQ(print_expr(fold_right(BinaryOp::comma, call("g", {xs}, void_type)), Dialect::cpp),
            "(g(xs), ...)");
  EXPECT_EQ(print_expr(fold_left(BinaryOp::comma, -xs, x), Dialect::cpp), "(x, ..., -xs)");
  EXPECT_EQ(print_expr(-fold_left(BinaryOp::add, xs) * 2, Dialect::cpp), "-(... + xs) * 2");
  EXPECT_EQ(print_expr(call("g", {x, expand(xs + 1)}, void_type), Dialect::cpp),
            "g(x, (xs + 1)...)");
  EXPECT_EQ(print_expr(call("g", {expand(call("h", {xs}, i32))}, void_type), Dialect::cpp),
            "g(h(xs)...)");
}

TEST(Defect21, PacksAreParametersAndArguments) {
  const auto xs =
      Parameter{.type = rvalue_reference_to(named("Ts")), .name = "xs", .is_pack = true};
  const Expr pack = variable("xs", xs.type);
  Function sum{auto_type, "sum", {xs}};
  sum.body = Block{{return_(fold_left(BinaryOp::add, pack, 0))}};
  Function forward{auto_type, "forward", {param(i32, "x"), xs}};
  forward.body = Block{{return_(call(variable("sum", Type()), {x, expand(pack * 2)}))}};
  const auto in_template = [](const Function& f) {
    return Statement(Template{{{"Ts", {}, {}, true}}, Statement(f)});
  };
  EXPECT_EQ(checked({in_template(sum), in_template(forward),
                     in_function(BlockBuilder{assign(
                         p[0], call(variable("forward", type_of(forward)), {x, 1, 2.5f, y}))})}),
            R"(template <typename... Ts>
auto sum(Ts &&...xs) {
  return (0 + ... + xs);
}

template <typename... Ts>
auto forward(int x, Ts &&...xs) {
  return sum(x, (xs * 2)...);
}

void f(int x, int y, int *p) {
  p[0] = forward(x, 1, 2.5f, y);
}
)");
}

// ---- declarations -----------------------------------------------------------------------------

Statement shape_class() {
  Function virtual_destructor{{}, "~Shape"};
  virtual_destructor.specifiers.is_virtual = true;
  virtual_destructor.definition = FunctionDefinition::defaulted;
  Function area{f32, "area"};
  area.specifiers = {.is_const_member = true, .is_virtual = true};
  area.definition = FunctionDefinition::pure;
  return RecordDefinition{.name = "Shape", .members = {member(virtual_destructor), member(area)}};
}

Statement square_class() {
  const Type square = named("Square");
  const Expr side = this_(square).member("side");
  Function make{{}, "Square", {param(f32, "length")}};
  make.specifiers.is_explicit = true;
  make.body = Block{{assign(side, variable("length", f32))}};
  Function copy{{}, "Square", {Parameter{reference_to(const_(square))}}};
  copy.definition = FunctionDefinition::deleted;
  Function assign_it{reference_to(square), "operator=", {Parameter{reference_to(const_(square))}}};
  assign_it.definition = FunctionDefinition::deleted;
  Function area{f32, "area"};
  area.specifiers = {
      .is_noexcept = true, .is_const_member = true, .is_override = true, .is_final = true};
  area.body = Block{{return_(side * side)}};
  Function friendly{f32, "side_of", {param(reference_to(const_(square)), "s")}};
  friendly.specifiers.is_friend = true;
  return RecordDefinition{
      .tag = RecordTag::class_,
      .name = "Square",
      .members = {AccessSpecifier{Access::public_}, member(make), member(copy), member(assign_it),
                  member(area), member(friendly),
                  RecordDefinition{.name = "Tester", .is_definition = false, .is_friend = true},
                  AccessSpecifier{Access::private_}, declare(f32, "side")},
      .bases = {{named("Shape")}},
      .is_final = true};
}

TEST(Defect21, ClassesSayWhatTheirFunctionsAre) {
  const auto s = param(reference_to(const_(named("Square"))), "s");
  EXPECT_EQ(checked({shape_class(), square_class(),
                     function(f32, "side_of", {s}, return_(s.member("side")))}),
            R"(struct Shape {
  virtual ~Shape() = default;
  virtual float area() const = 0;
};

class Square final : public Shape {
public:
  explicit Square(float length) {
    this->side = length;
  }
  Square(const Square &) = delete;
  Square &operator=(const Square &) = delete;
  float area() const noexcept override final {
    return this->side * this->side;
  }
  friend float side_of(const Square &s);
  friend struct Tester;
private:
  float side;
};

float side_of(const Square &s) {
  return s.side;
}
)");
}

TEST(Defect21, AttributesGoWithDefinitionsOfTheCompiler) {
  Function cold{{}, "Box"};
  cold.definition = FunctionDefinition::defaulted;
  cold.attributes = {{"cold", AttributeStyle::gnu}};
  Function pure{i32, "volume"};
  pure.specifiers.is_virtual = true;
  pure.definition = FunctionDefinition::pure;
  pure.attributes = {{"noinline", AttributeStyle::gnu}};
  EXPECT_EQ(checked({RecordDefinition{.name = "Box", .members = {member(cold), member(pure)}}}),
            R"(struct Box {
  __attribute__((cold)) Box() = default;
  virtual int volume() __attribute__((noinline)) = 0;
};
)");
}

TEST(Defect21, TypesFollowFromExpressions) {
  const auto a = param(t, "a");
  const auto b = param(named("U"), "b");
  const auto head = std::vector<TemplateParameter>{{"T", {}, {}, false}, {"U", {}, {}, false}};
  EXPECT_EQ(
      checked({Template{head, function(decltype_of(a + b), "add", {a, b}, return_(a + b))},
               Template{head,
                        declare_function(pointer_to(const_(decltype_of(a * b))), "scaled", {a, b})},
               function(decltype_auto(), "first", {param(pointer_to(i32), "p")}, return_(p[0])),
               in_function(BlockBuilder{declare(decltype_of(x + 1ll), "wide", x),
                                        declare(const_(decltype_of(p[0])), "place", p[1])})}),
      R"(template <typename T, typename U>
auto add(T a, U b) -> decltype(a + b) {
  return a + b;
}

template <typename T, typename U>
auto scaled(T a, U b) -> const decltype(a * b) *;

decltype(auto) first(int *p) {
  return p[0];
}

void f(int x, int y, int *p) {
  decltype(x + 1ll) wide = x;
  const decltype(p[0]) place = p[1];
}
)");
}

TEST(Defect21, TemplatesRequire) {
  const auto generic = [](const Expr& requirement) {
    return Statement(Template{{{"T", {}, {}, false}},
                              function(t, "g", {param(t, "x")}, return_(variable("x", t))),
                              requirement});
  };
  const Expr integral = variable("std::integral<T>", boolean);
  const Expr floating = variable("std::floating_point<T>", boolean);
  const Expr small = sizeof_(t) <= 8u;
  const Expr sums = RawExpr{"requires(T x) { x + x; }", boolean, {"T"}, true};
  const auto clause = [&](const Expr& requirement) {
    const std::string text = checked({include_system("concepts"), generic(requirement)});
    const std::size_t begin = text.find("requires");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(checked({include_system("concepts"), generic(integral)}), R"(#include <concepts>

template <typename T>
requires std::integral<T>
T g(T x) {
  return x;
}
)");
  EXPECT_EQ(clause(integral || floating), "requires std::integral<T> || std::floating_point<T>");
  EXPECT_EQ(clause(integral && small && sums),
            "requires std::integral<T> && (sizeof(T) <= 8u) && requires(T x) { x + x; }");
  EXPECT_EQ(clause((integral || floating) && !small),
            "requires (std::integral<T> || std::floating_point<T>) && (!(sizeof(T) <= 8u))");
  EXPECT_EQ(clause(integral || (floating && small)),
            "requires std::integral<T> || (std::floating_point<T> && sizeof(T) <= 8u)");
  EXPECT_EQ(clause(literal(true)), "requires true");
}

TEST(Defect21, NamespacesHaveOtherNames) {
  const Statement tools =
      Namespace{"tools", {Namespace{"fast", {function(i32, "one", {}, return_(1))}}}};
  EXPECT_EQ(checked({tools, NamespaceAlias{"quick", "tools::fast"}, NamespaceAlias{"t", "tools"},
                     in_function(BlockBuilder{NamespaceAlias{"q", "quick"},
                                              assign(p[0], call("q::one", {}, i32))})}),
            R"(namespace tools {
namespace fast {
int one() {
  return 1;
}
}  // namespace fast
}  // namespace tools

namespace quick = tools::fast;
namespace t = tools;

void f(int x, int y, int *p) {
  namespace q = quick;
  p[0] = q::one();
}
)");
  // a using directive goes through the alias
  const Statement plain = Namespace{"plain", {function(i32, "two", {}, return_(2))}};
  (void)checked({plain, NamespaceAlias{"a", "plain"}, NamespaceAlias{"b", "a"}, UsingDirective{"b"},
                 in_function(BlockBuilder{assign(p[0], call("two", {}, i32))})});
}

// ---- all together -------------------------------------------------------------------------------

/// What host and device have, and a function `run` that uses it and returns 0.
std::vector<Statement> classes_and_packs() {
  const Parameter xs{.type = reference_to(const_(named("Ts"))), .name = "xs", .is_pack = true};
  const Expr sum = fold_left(BinaryOp::add, variable("xs", xs.type), 0);
  Function total{decltype_of(sum), "total", {xs}};
  total.body = Block{{return_(sum)}};
  const Statement numbers =
      Namespace{"numbers",
                {Template{{{"Ts", {}, {}, true}},
                          total,
                          fold_right(BinaryOp::logical_and, sizeof_(named("Ts")) >= 4u)}}};
  const Statement width =
      Template{{{"T", {}, {}, false}},
               function(i32, "width", {param(t, "x")},
                        if_constexpr(equal(sizeof_(t), 8u), return_(variable("x", t) * 2))
                            .else_(return_(variable("x", t))))};
  const auto square = param(reference_to(const_(named("Square"))), "s");
  const auto shape = declare(pointer_to(named("Shape")), "shape", new_(named("Square"), {3.0f}));
  const auto area = declare(decltype_auto(), "area", call(shape.member("area")));
  const auto heap = declare(pointer_to(i32), "heap",
                            Expr(New{array_of(i32, 4), std::vector<Expr>{1, 2, 3, 4}, {}, true}));
  const auto pair = declare(array_of(i32, 2), "pair", InitializerList{{5, 6}});
  const auto all = declare(i32, "all", 0);
  const Expr first = variable("first", Type());
  BlockBuilder body;
  body << shape << area << delete_(shape) << if_(not_equal(area, 9.0f), return_(1)) << heap << pair
       << bind_elements({"first", "second"}, pair, reference_to(auto_type))
       << assign(first, heap[1]) << delete_array(heap) << all
       << range_for(i32, "value", pair,
                    [&](const Expr& value, BlockBuilder& b) { b << add_assign(all, value); })
       << if_(not_equal(all, 8), return_(2))
       << if_(not_equal(call(variable("n::total", Type()), {1, 2, 3}), 6), return_(3))
       << if_(not_equal(call(variable("width", Type()), {2.5}), 5), return_(4))
       << if_(not_equal(call(variable("width", Type()), {2.5f}), 2), return_(5)) << return_(0);
  return {PreprocessorIf{{{PreprocessorTest::ifdef, "RTCG_NEVER", {ErrorDirective{"never"}}}}},
          shape_class(),
          square_class(),
          function(f32, "side_of", {square}, return_(square.member("side"))),
          Namespace{"tools", {numbers}},
          NamespaceAlias{"n", "tools::numbers"},
          width,
          function(i32, "run", {}, body)};
}

TEST(Defect21, AllOfItRunsOnTheHost) {
  const auto value = param(i32, "value");
  const auto number = param(i32, "number");
  const Declared caught =
      function(i32, "caught", {value},
               try_({if_(value < 0, throw_(value)),
                     declare(i32, "whole", select(value, value, throw_(2.5f))),
                     return_(variable("whole", i32))})
                   .catch_(number, return_(-number))
                   .catch_all(try_(rethrow())
                                  .catch_({reference_to(const_(f32))}, return_(7))
                                  .catch_all(return_(8))));
  std::vector<Statement> items = classes_and_packs();
  items.push_back(caught);
  items.push_back(
      function(i32, "main", {},
               {if_(not_equal(call(caught, {-3}), 3), return_(11)),
                if_(not_equal(call(caught, {0}), 7), return_(12)),
                if_(not_equal(call(caught, {4}), 4), return_(13)), return_(call("run", {}, i32))}));
  const std::string text = checked(items);
  const auto result = testing::compile_text(text, testing::HostLanguage::cpp, "", true);
  EXPECT_EQ(result.status, 0) << result.output << text;
}

TEST(Defect21, DevicesTakeAllButExceptions) {
  std::vector<Statement> items = classes_and_packs();
  const auto result = param(pointer_to(i32), "result");
  items.push_back(kernel("k", {result}, assign(result[0], call("run", {}, i32))));
  const std::string text = checked(items, Dialect::cuda);
  for (const char* part :
       {"\n  virtual __device__ ~Shape() = default;\n",
        "\n  virtual __device__ float area() const = 0;\n",
        "\n  Square(const Square &) = delete;\n",
        "\n  __device__ float area() const noexcept override final {\n",
        "\n  friend __device__ float side_of(const Square &s);\n",
        "\nrequires ((sizeof(Ts) >= 4u) && ...)\n__device__ auto total(const Ts &...xs) -> "
        "decltype((0 + ... + xs)) {\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
}

// ---- refusals ---------------------------------------------------------------------------------

Statement with(const FunctionSpecifiers& specifiers,
               FunctionDefinition definition = FunctionDefinition::by_body) {
  Function f{i32, "g"};
  f.specifiers = specifiers;
  f.definition = definition;
  return f;
}

Statement in_class(const Statement& part) {
  return RecordDefinition{.name = "S", .members = {part}};
}

/// One sample of each new node and member of a node.
std::vector<Statement> samples() {
  const Parameter pack{.type = t, .name = "xs", .is_pack = true};
  return {in_function({try_(assign(p[0], 1)).catch_all(assign(p[0], 2))}),
          in_function({throw_(x)}),
          in_function({range_for(i32, "v", variable("values", array_of(i32, 2)),
                                 [](const Expr&, BlockBuilder&) {})}),
          in_function({bind_elements({"a"}, variable("values", array_of(i32, 1)), auto_type)}),
          in_function({if_constexpr(x, assign(p[0], 1))}),
          in_function({new_(i32)}),
          in_function({delete_(p)}),
          in_function({this_()}),
          in_function({call("g", {expand(x)}, i32)}),
          in_function({fold_left(BinaryOp::add, x)}),
          in_function({declare(decltype_of(x), "z")}),
          declare_function(i32, "g", {pack}),
          with({.is_override = true}),
          with({.is_final = true}),
          with({.is_friend = true}),
          with({}, FunctionDefinition::defaulted),
          with({}, FunctionDefinition::deleted),
          with({}, FunctionDefinition::pure),
          RecordDefinition{.name = "S", .members = {declare(i32, "m")}, .is_final = true},
          RecordDefinition{.name = "S", .is_definition = false, .is_friend = true},
          Template{{{"T", {}, {}, false}}, declare_function(i32, "g", {}), literal(true)},
          NamespaceAlias{"a", "b"}};
}

TEST(Defect21, DialectsOfCRefuseWhatOnlyCppHas) {
  for (const Dialect dialect : {Dialect::c, Dialect::opencl}) {
    for (const Statement& sample : samples()) {
      EXPECT_ERROR("cgen.lower.cpp_only", print_module({"m", {sample}}, dialect));
    }
  }
}

TEST(Defect21, DevicesThrowNothing) {
  const Statement attempt = try_(assign(p[0], 1)).catch_all(assign(p[0], 2));
  const auto made = [](const Statement& statement, const FunctionSpecifiers& specifiers) {
    Function f{void_type, "f", {param(i32, "x"), param(pointer_to(i32), "p")}};
    f.body = Block{{statement}};
    f.specifiers = specifiers;
    return Statement(f);
  };
  const std::vector<Statement> statements = {attempt, throw_(x), if_(x, throw_(x))};
  for (const Statement& statement : statements) {
    for (const FunctionSpecifiers& device :
         {FunctionSpecifiers{}, FunctionSpecifiers{.is_kernel = true},
          FunctionSpecifiers{.is_device = true},
          FunctionSpecifiers{.is_device = true, .is_host = true}}) {
      const Statement item = made(statement, device);
      EXPECT_ERROR("cgen.lower.no_exceptions", print_module({"m", {item}}, Dialect::cuda));
      EXPECT_ERROR("cgen.lower.no_exceptions",
                   print_module({"m", {in_class(item)}}, Dialect::cuda));
    }
    const Lambda lambda{.body = statement, .is_device = true};
    EXPECT_ERROR("cgen.lower.no_exceptions",
                 print_module({"m", {made(Statement(lambda), {.is_host = true})}}, Dialect::cuda));
    const Statement host = made(statement, {.is_host = true});
    EXPECT_NE(print_module({"m", {host}}, Dialect::cuda).text.find("__host__ void f("),
              std::string::npos);
    EXPECT_NO_THROW((void)print_module({"m", {made(statement, {})}}, Dialect::cpp));
  }
}

TEST(Defect21, ChecksRefuseMisplacedStatements) {
  const Statement nothing = EmptyStatement{};
  EXPECT_ERROR("cgen.check_types.misplaced", check(Try{nothing, {}}));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check(try_(nothing).catch_all(nothing).catch_({i32}, nothing)));
  EXPECT_ERROR("cgen.check_types.misplaced", check_item(try_(nothing).catch_all(nothing)));
  const Expr values = variable("values", array_of(i32, 2));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check(range_for(declare(i32, "v", 1), values, nothing)));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check(range_for(bind_elements({"v"}, x), values, nothing)));
  EXPECT_ERROR("cgen.check_types.misplaced", check(range_for(assign(x, 1), values, nothing)));
  EXPECT_ERROR("cgen.check_types.misplaced", check_item(in_class(NamespaceAlias{"a", "b"})));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check_item(in_class(bind_elements({"a"}, variable("b", Type())))));
  EXPECT_ERROR("cgen.check_types.outside_loop", check(try_(break_()).catch_all(nothing)));
  check(range_for(declare(i32, "v"), values, {continue_(), break_()}));
}

TEST(Defect21, ChecksKnowWhereThisIs) {
  EXPECT_ERROR("cgen.check_types.misplaced", check(this_()));
  const auto member_function = [](const FunctionSpecifiers& specifiers, const std::string& name) {
    Function f{void_type, name};
    f.body = Block{{Statement(this_().member("m"))}};
    f.specifiers = specifiers;
    return Statement(f);
  };
  check_item(in_class(member_function({}, "g")));
  check_item(in_class(Template{{{"T", {}, {}, false}}, member_function({}, "g")}));
  check_item(member_function({}, "S::g"));
  check_item(in_class(declare(i32, "n", this_().member("m"))));
  check_types(Expr(this_()));
  EXPECT_ERROR("cgen.check_types.misplaced", check_item(member_function({}, "g")));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check_item(in_class(member_function({.is_static = true}, "g"))));
  EXPECT_ERROR("cgen.check_types.misplaced",
               check_item(in_class(member_function({.is_friend = true}, "g"))));
  // a lambda of a member function has it
  Function outer{void_type, "g"};
  outer.body = Block{{Statement(Lambda{.body = Statement(this_()), .captures = {{"this"}}})}};
  check_item(in_class(outer));
  check_names(Module{"m", {in_class(outer)}}, Dialect::cpp);
}

TEST(Defect21, ChecksKnowRangesAndBindings) {
  const Statement nothing = EmptyStatement{};
  const auto over = [&](const Expr& range, const Type& type = auto_type) {
    check(range_for(Statement(Declaration{type, "v"}), range, nothing));
  };
  over(variable("c", named("std::vector<int>")));
  over(variable("c", array_of(i32, 2)), reference_to(i32));
  over(variable("c", array_of(const_(i32), 2)), reference_to(const_(i32)));
  over(InitializerList{{1, 2}});
  EXPECT_ERROR("cgen.check_types.not_a_range", over(x));
  EXPECT_ERROR("cgen.check_types.not_a_range", over(p));
  EXPECT_ERROR("cgen.check_types.not_a_range", over(variable("c", array_of(i32))));
  EXPECT_ERROR("cgen.check_types.conversion",
               over(variable("c", array_of(const_(i32), 2)), reference_to(i32)));
  EXPECT_ERROR("cgen.check_types.conversion",
               over(variable("c", array_of(i32, 2)), pointer_to(i32)));
  EXPECT_ERROR("cgen.check_types.void_object", over(variable("c", array_of(i32, 2)), void_type));
  const Type point = Record{RecordTag::struct_, "point", {{"a", f32}, {"b", f32}}};
  const auto names = [&](std::vector<std::string> list, const Type& of,
                         const Type& type = auto_type) {
    check(bind_elements(std::move(list), variable("v", of), type));
  };
  names({"a", "b"}, point, reference_to(const_(auto_type)));
  names({"a", "b"}, array_of(i32, 2));
  names({"a", "b", "c"}, named("std::tuple", {i32, i32, i32}));
  const char* code = "cgen.check_types.structured_binding";
  EXPECT_ERROR(code, names({"a", "b", "c"}, point));
  EXPECT_ERROR(code, names({"a"}, array_of(i32, 2)));
  EXPECT_ERROR(code, names({"a"}, i32));
  EXPECT_ERROR(code, names({}, point));
  EXPECT_ERROR(code, names({"a", "b"}, point, i32));
  EXPECT_ERROR("cgen.check_types.bad_type", check(StructuredBinding{auto_type, {"a"}}));
}

TEST(Defect21, ChecksKnowWhatIsMadeAndThrown) {
  check_types(new_(i32, {x}));
  check_types(new_(named("Square"), {x, y, p}));
  check_types(new_(Record{RecordTag::class_, "Box"}, {x, y}));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(new_(i32, {p})));
  EXPECT_ERROR("cgen.check_types.conversion", check_types(new_(i32, {x, y})));
  EXPECT_ERROR("cgen.check_types.conversion",
               check_types(Expr(New{array_of(i32, 2), std::vector<Expr>{1, 2, 3}, {}, true})));
  EXPECT_ERROR("cgen.check_types.void_object", check_types(new_(void_type)));
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(new_(reference_to(i32))));
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(Expr(New{array_of(i32)})));
  EXPECT_ERROR("cgen.check_types.bad_type", check_types(new_array(i32, 1.5f)));
  EXPECT_ERROR("cgen.check_types.not_a_pointer", check_types(delete_(x)));
  EXPECT_ERROR("cgen.check_types.not_a_pointer",
               check_types(delete_(variable("v", pointer_to(void_type)))));
  EXPECT_ERROR("cgen.check_types.not_a_pointer",
               check_types(delete_array(variable("a", array_of(i32, 2)))));
  EXPECT_ERROR("cgen.check_types.void_object", check_types(throw_(call("g", {}, void_type))));
  EXPECT_ERROR("cgen.check_types.operand_kind", check_types(delete_(p) + 1));
  const auto catches = [](const Parameter& exception) { check(try_({}).catch_(exception, {})); };
  catches({error_type, "e"});
  EXPECT_ERROR("cgen.check_types.void_object", catches({void_type}));
  EXPECT_ERROR("cgen.check_types.bad_type", catches({rvalue_reference_to(i32), "e"}));
  EXPECT_ERROR("cgen.check_types.bad_type", catches({reference_to(auto_type), "e"}));
  EXPECT_ERROR("cgen.check_types.specifier", catches({i32, "e", Expr(1)}));
  EXPECT_ERROR("cgen.check_types.bad_type", check(declare(decltype_auto(), "z")));
  const Statement whole = Template{{}, declare_function(i32, "g", {}), literal(1, i32)};
  EXPECT_ERROR("cgen.check_types.condition", check_item(whole));
}

TEST(Defect21, ChecksKnowWherePacksExpand) {
  check_types(call("g", {expand(x)}, i32));
  check_types(Expr(CompoundLiteral{t, {{expand(x)}}}));
  check_types(new_(t, {expand(x)}));
  check_types(call(variable("g", function_type(i32, {i32, i32})), {expand(x)}));
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(expand(x)));
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(expand(x) + 1));
  EXPECT_ERROR("cgen.check_types.misplaced", check(expand(x)));
  EXPECT_ERROR("cgen.check_types.misplaced", check_types(fold_left(BinaryOp::add, expand(x))));
  const Parameter pack{.type = t, .name = "xs", .default_value = Expr(1), .is_pack = true};
  EXPECT_ERROR("cgen.check_types.specifier", check_item(declare_function(i32, "g", {pack})));
  const Function takes{i32, "g", {{i32, "a"}, {.type = t, .name = "xs", .is_pack = true}}};
  EXPECT_TRUE(type_of(takes) == function_type(i32, {i32}, true));
}

TEST(Defect21, ChecksKnowWhichSpecifiersGoTogether) {
  const char* code = "cgen.check_types.specifier";
  for (const Statement& outside :
       {with({.is_override = true}), with({.is_final = true}), with({.is_friend = true}),
        with({.is_virtual = true}, FunctionDefinition::pure)}) {
    EXPECT_ERROR(code, check_item(outside));
    check_item(in_class(outside));
  }
  EXPECT_ERROR(code, check_item(in_class(with({.is_friend = true, .is_override = true}))));
  EXPECT_ERROR(code, check_item(in_class(with({.is_static = true, .is_final = true}))));
  EXPECT_ERROR(code, check_item(in_class(with({}, FunctionDefinition::pure))));
  EXPECT_ERROR(code, check_item(with({}, FunctionDefinition::defaulted)));
  Function twice{i32, "g"};
  twice.body = Block{};
  twice.definition = FunctionDefinition::deleted;
  EXPECT_ERROR(code, check_item(twice));
  Function constructor{{}, "S"};
  constructor.specifiers.is_override = true;
  EXPECT_ERROR(code, check_item(in_class(constructor)));
  Function destructor{{}, "~S"};
  destructor.specifiers.is_override = true;
  check_item(in_class(destructor));
  check_item(with({}, FunctionDefinition::deleted));
  EXPECT_ERROR(code, check_item(in_class(RecordDefinition{.name = "F", .is_friend = true})));
  const RecordDefinition declared_friend{.name = "F", .is_definition = false, .is_friend = true};
  EXPECT_ERROR(code, check_item(declared_friend));
  check_item(in_class(declared_friend));
  EXPECT_ERROR(code,
               check_item(RecordDefinition{.name = "F", .is_definition = false, .is_final = true}));
  // a friend is no member
  Function friendly{i32, "friendly"};
  friendly.specifiers.is_friend = true;
  const RecordDefinition with_friend{.name = "S", .members = {declare(i32, "m"), friendly}};
  EXPECT_EQ(get_if<Record>(type_of(with_friend))->fields.size(), 1U);
}

TEST(Defect21, NamesHaveTheirScopes) {
  const auto names = [](const std::vector<Statement>& body) {
    BlockBuilder builder;
    for (const Statement& statement : body) {
      builder << statement;
    }
    check_names(Module{"m", {in_function(builder)}}, Dialect::cpp);
  };
  const Expr v = variable("v", Type());
  const Expr error = variable("error", Type());
  const auto values = declare(array_of(i32, 2), "values");
  const Statement loop = range_for(declare(i32, "v"), values, assign(x, v));
  names({values, loop});
  EXPECT_ERROR("cgen.check_names.undeclared", names({values, loop, assign(x, v)}));
  EXPECT_ERROR("cgen.check_names.undeclared", names({range_for(declare(i32, "v"), v, {})}));
  const Statement attempt =
      try_(declare(i32, "v")).catch_(param(i32, "error"), assign(x, error)).catch_all({});
  names({attempt});
  EXPECT_ERROR("cgen.check_names.undeclared",
               names({try_(declare(i32, "v")).catch_all(assign(x, v))}));
  EXPECT_ERROR("cgen.check_names.undeclared",
               names({try_({}).catch_(param(i32, "error"), {}).catch_all(assign(x, error))}));
  EXPECT_ERROR("cgen.check_names.duplicate",
               names({try_({}).catch_(param(i32, "error"), {declare(i32, "error")})}));
  names({values, bind_elements({"v", "w"}, values), assign(x, v)});
  EXPECT_ERROR("cgen.check_names.duplicate", names({values, bind_elements({"v", "v"}, values)}));
  EXPECT_ERROR("cgen.check_names.reserved", names({values, bind_elements({"v", "this"}, values)}));
  EXPECT_ERROR("cgen.check_names.undeclared", names({new_array(i32, v)}));
  EXPECT_ERROR("cgen.check_names.undeclared", names({declare(decltype_of(v), "w")}));
  EXPECT_ERROR("cgen.check_names.undeclared", names({throw_(v)}));
  EXPECT_ERROR("cgen.check_names.undeclared", names({fold_left(BinaryOp::add, v)}));
  EXPECT_ERROR("cgen.check_names.not_an_identifier", names({NamespaceAlias{"a b", "c"}}));
  EXPECT_ERROR("cgen.check_names.duplicate",
               names({NamespaceAlias{"a", "b"}, NamespaceAlias{"a", "c"}}));
  names({NamespaceAlias{"a", "b"}, NamespaceAlias{"a", "b"}});
  // a friend is a function of the scope around the class
  Function friendly = *get_if<Function>(function(i32, "friendly", {}, return_(1)).declaration());
  friendly.specifiers.is_friend = true;
  const Statement with_friend = RecordDefinition{.name = "S", .members = {member(friendly)}};
  check_names(Module{"m", {with_friend, in_function({call("friendly", {}, i32)})}}, Dialect::cpp);
  EXPECT_ERROR("cgen.check_names.duplicate",
               check_names(Module{"m", {with_friend, declare(i32, "friendly")}}, Dialect::cpp));
  const auto requires_it = [](const Expr& requirement) {
    check_names(
        Module{"m",
               {Template{{{"T", {}, {}, false}}, declare_function(i32, "g", {}), requirement}}},
        Dialect::cpp);
  };
  requires_it(RawExpr{"sizeof(T) == 4", boolean, {"T"}});
  EXPECT_ERROR("cgen.check_names.undeclared", requires_it(variable("is_small", boolean)));
}

std::string verified(const std::vector<Statement>& body) {
  BlockBuilder builder;
  builder << declare(array_of(i32, 8), "tile") << declare(array_of(i32, 2), "pair");
  for (const Statement& statement : body) {
    builder << statement;
  }
  return why_not_valid(Module{"m", {kernel("k", {param(pointer_to(i32), "p")}, builder)}},
                       Dialect::cuda, {VerifyDepth::everything})
      .value_or("");
}

TEST(Defect21, VerifierKnowsTheNewStatements) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const Expr tile = variable("tile", array_of(i32, 8));
  const Expr pair = variable("pair", array_of(i32, 2));
  const Expr v = variable("v", i32);
  const auto over = [](const Expr& range, const Body& body) {
    return range_for(declare(i32, "v"), range, body);
  };
  EXPECT_EQ(verified({over(pair, {assign(tile[v], 1), barrier()})}), "");
  EXPECT_TRUE(has(verified({over(pair, assign(tile[8], 1))}), "takes elements from"));
  EXPECT_TRUE(has(verified({try_(assign(tile[8], 1)).catch_all({})}), "takes elements from"));
  EXPECT_TRUE(
      has(verified({over(pair, {barrier(), if_(thread_idx_x < 3, break_())})}), "not all threads"));
  const Statement ids =
      bind_elements({"a", "b"}, CompoundLiteral{named("pair_of_ids"), {{thread_idx_x, 1}}});
  EXPECT_TRUE(has(verified({ids, if_(variable("a", Type()), barrier())}), "not all threads"));
  EXPECT_TRUE(has(verified({try_(assign(p[0], 1)).catch_all(barrier())}), "not all threads"));
  EXPECT_TRUE(has(verified({if_(thread_idx_x < 3, throw_(1)), barrier()}), "not all threads"));
  EXPECT_TRUE(has(verified({try_({}).catch_all(assign(p[0], v))}), "'v'"));
}

// ---- trees ------------------------------------------------------------------------------------

TEST(Defect21, TreesOfTheNewNodesAreValues) {
  const std::vector<Statement> first = samples();
  const std::vector<Statement> second = samples();
  std::set<std::string> texts;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i] == second[i]) << i;
    EXPECT_EQ(first[i].hash(), second[i].hash()) << i;
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(first[i] == first[k]) << i << " " << k;
    }
    const Rewriter keeps{[](const Type& type) { return type; }, [](const Expr& e) { return e; },
                         [](const Statement& s) { return s; }};
    EXPECT_EQ(&rewrite(first[i], keeps).node(), &first[i].node()) << i;
    // every part is reached and can be replaced, and the text shows it
    const Rewriter renames{
        [](const Type& type) { return type == i32 ? i64 : type; },
        [](const Expr& e) { return is<Variable>(e) ? variable("renamed", i64) : e; },
        {}};
    const Statement renamed = rewrite(first[i], renames);
    const std::string text = print_statement(renamed, Dialect::cpp);
    EXPECT_EQ(text.find("int"), std::string::npos) << text;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), first.size());
}

TEST(Defect21, EveryMemberOfTheNewNodesCounts) {
  const auto differ = [](const auto& base, const auto& changed) {
    using Tree = std::conditional_t<ExprKind<std::remove_cvref_t<decltype(base)>>, Expr, Statement>;
    const Tree left = base;
    const Tree right = changed;
    EXPECT_FALSE(left == right);
    EXPECT_NE(left.hash(), right.hash());
  };
  const New made{i32, std::vector<Expr>{x}, {p}, false};
  differ(made, New{u32, made.arguments, made.placement, false});
  differ(made, New{i32, {}, made.placement, false});
  differ(made, New{i32, made.arguments, {}, false});
  differ(made, New{i32, made.arguments, made.placement, true});
  differ(New{i32}, New{i32, std::vector<Expr>{}});
  differ(Delete{p}, Delete{p, true});
  differ(Throw{}, Throw{x});
  differ(This{}, This{pointer_to(i32)});
  const Fold fold{BinaryOp::add, x};
  differ(fold, Fold{BinaryOp::add, x, {}, true});
  differ(fold, Fold{BinaryOp::add, x, y});
  differ(fold, Fold{BinaryOp::multiply, x});
  differ(PackExpansion{x}, PackExpansion{y});
  const Statement body = Block{};
  differ(If{x, body}, If{x, body, {}, true});
  differ(RangeFor{x, declare(i32, "v"), body}, RangeFor{x, declare(i32, "w"), body});
  differ(Try{body, {{{}, body}}}, Try{body, {{Parameter{i32}, body}}});
  differ(StructuredBinding{auto_type, {"a"}}, StructuredBinding{auto_type, {"b"}});
  differ(ErrorDirective{"a"}, ErrorDirective{"b"});
  differ(NamespaceAlias{"a", "b"}, NamespaceAlias{"a", "c"});
  EXPECT_FALSE(decltype_of(x) == decltype_of(y));
  EXPECT_FALSE(decltype_of(x) == decltype_auto());
}

TEST(Defect21, SubstitutionRespectsTheNewScopes) {
  const auto text = [](const Statement& statement) {
    return print_statement(substitute(statement, {{"x", 5}}), Dialect::cpp);
  };
  EXPECT_EQ(text(range_for(declare(i32, "x"), x, assign(y, x))),
            "for (int x : 5) {\n  y = x;\n}\n");
  EXPECT_EQ(text(range_for(declare(i32, "v"), y, assign(y, x))),
            "for (int v : y) {\n  y = 5;\n}\n");
  EXPECT_EQ(text(try_(assign(y, x)).catch_(param(i32, "x"), assign(y, x)).catch_all(assign(y, x))),
            "try {\n  y = 5;\n} catch (int x) {\n  y = x;\n} catch (...) {\n  y = 5;\n}\n");
  EXPECT_EQ(text(Block{{assign(y, x), bind_elements({"x", "z"}, x), assign(y, x)}}),
            "{\n  y = 5;\n  auto [x, z] = 5;\n  y = x;\n}\n");
  EXPECT_EQ(free_names(Statement(
                try_(declare(i32, "a", x)).catch_(param(i32, "b"), assign(variable("b", i32), y)))),
            (std::set<std::string>{"x", "y"}));
  const Statement same = try_(assign(y, 1)).catch_all(assign(y, 2));
  EXPECT_EQ(&substitute(same, {{"x", 5}}).node(), &same.node());
}

TEST(Defect21, GroupsAreTheBodiesOfTheNewStatements) {
  const Statement both = Group{{Statement(assign(x, 1)), Statement(assign(y, 2))}};
  EXPECT_EQ(print_statement(RangeFor{p, declare(i32, "v"), both}, Dialect::cpp),
            "for (int v : p) {\n  x = 1;\n  y = 2;\n}\n");
  EXPECT_EQ(print_statement(Try{both, {{{}, both}}}, Dialect::cpp),
            "try {\n  x = 1;\n  y = 2;\n} catch (...) {\n  x = 1;\n  y = 2;\n}\n");
}

}  // namespace
}  // namespace rtcg::cgen
