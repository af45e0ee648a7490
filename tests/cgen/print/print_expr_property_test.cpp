// Random trees against the compiler's own opinion: grouping of expressions, nesting of declarators.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/compile_text.h"

namespace rtcg::cgen {
namespace {

using testing::compile_text;
using testing::HostLanguage;

int scaled(int count) {
  const char* factor = std::getenv("RTCG_PROPERTY_FACTOR");
  return count * (factor == nullptr ? 1 : std::atoi(factor));
}

std::uint64_t combine(std::uint64_t operation, std::uint64_t left, std::uint64_t right) {
  std::uint64_t x = operation * 0x9e3779b97f4a7c15ULL + left * 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 29;
  x = x * 0x94d049bb133111ebULL + right * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

constexpr int variables = 5;

std::uint64_t value_of_variable(int index) {
  return combine(1000, index + 1, 7);
}

/// Every operator is a different scrambling of its operands, so any wrong grouping shows.
struct Sample {
  Expr tree;
  std::uint64_t value;
};

class RandomTrees {
 public:
  explicit RandomTrees(unsigned seed) : random_(seed) {}

  Sample make(int depth) {
    if (depth == 0 || one_in(8)) {
      const int index = below(variables);
      return {variable("v" + std::to_string(index), i32),
              index == 0 ? value_of_first : value_of_variable(index)};
    }
    switch (below(10)) {
      case 0: {
        static constexpr UnaryOp operations[] = {UnaryOp::plus,           UnaryOp::negate,
                                                 UnaryOp::bit_not,        UnaryOp::logical_not,
                                                 UnaryOp::dereference,    UnaryOp::address_of,
                                                 UnaryOp::pre_increment,  UnaryOp::pre_decrement,
                                                 UnaryOp::post_increment, UnaryOp::post_decrement};
        const UnaryOp op = operations[below(10)];
        const Sample operand = make(depth - 1);
        return {Expr(Unary{op, operand.tree}),
                combine(100 + static_cast<int>(op), operand.value, 0)};
      }
      case 1: {
        const Sample condition = make(depth - 1);
        const Sample yes = make(depth - 1);
        const Sample no = make(depth - 1);
        return {select(condition.tree, yes.tree, no.tree),
                (condition.value & 1) != 0 ? yes.value : no.value};
      }
      case 2: {
        static constexpr BinaryOp operations[] = {BinaryOp::add, BinaryOp::subtract,
                                                  BinaryOp::shift_left, BinaryOp::bit_xor};
        const int which = below(5);
        const Sample target = make(depth - 1);
        const Sample value = make(depth - 1);
        const auto op = which == 4 ? std::optional<BinaryOp>() : operations[which];
        return {Expr(AssignExpr{op, target.tree, value.tree}),
                combine(200 + which, target.value, value.value)};
      }
      case 3: {
        const Sample array = make(depth - 1);
        const Sample index = make(depth - 1);
        return {array.tree[index.tree], combine(300, array.value, index.value)};
      }
      case 4: {
        const Sample first = make(depth - 1);
        const Sample second = make(depth - 1);
        return {call(variable("f", Type()), {first.tree, second.tree}),
                combine(400, first.value, second.value)};
      }
      case 5: {
        const Sample made = make(depth - 1);
        const Expr pointer = new_(named("H"), {made.tree});
        return {below(2) == 0 ? deref(pointer) : pointer[0], made.value};
      }
      default: {
        const auto op = static_cast<BinaryOp>(below(static_cast<int>(BinaryOp::comma) + 1));
        const Sample left = make(depth - 1);
        const Sample right = make(depth - 1);
        return {Expr(Binary{op, left.tree, right.tree}),
                combine(500 + static_cast<int>(op), left.value, right.value)};
      }
    }
  }

  std::uint64_t value_of_first = value_of_variable(0);

  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

 private:
  bool one_in(int count) { return below(count) == 0; }
  std::mt19937 random_;
};

std::string scrambling_class() {
  std::string text = R"(#include <cstdint>
#include <cstdio>
using U = std::uint64_t;
static U combine(U operation, U left, U right) {
  U x = operation * 0x9e3779b97f4a7c15ULL + left * 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 29;
  x = x * 0x94d049bb133111ebULL + right * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}
struct H {
  U v;
  explicit operator bool() const { return v & 1; }
  H operator[](H i) const { return {combine(300, v, i.v)}; }
  H operator=(H o) const { return {combine(204, v, o.v)}; }
  H(const H &) = default;
  H(U x) : v(x) {}
)";
  const char* unary[] = {"+", "-", "~", "!", "*", "&", "++", "--"};
  for (int i = 0; i < 8; ++i) {
    text += std::string("  H operator") + unary[i] + "() const { return {combine(" +
            std::to_string(100 + i) + ", v, 0)}; }\n";
  }
  text +=
      "  H operator++(int) const { return {combine(108, v, 0)}; }\n"
      "  H operator--(int) const { return {combine(109, v, 0)}; }\n};\n";
  const char* compound[] = {"+=", "-=", "<<=", "^="};
  for (int i = 0; i < 4; ++i) {
    text += std::string("static H operator") + compound[i] + "(H a, H b) { return {combine(" +
            std::to_string(200 + i) + ", a.v, b.v)}; }\n";
  }
  for (int i = 0; i <= static_cast<int>(BinaryOp::comma); ++i) {
    text += "static H operator" + std::string(spelling(static_cast<BinaryOp>(i))) +
            "(H a, H b) { return {combine(" + std::to_string(500 + i) + ", a.v, b.v)}; }\n";
  }
  text += "static H f(H a, H b) { return {combine(400, a.v, b.v)}; }\n";
  for (int i = 0; i < variables; ++i) {
    text += "static const H v" + std::to_string(i) + "{" + std::to_string(value_of_variable(i)) +
            "ULL};\n";
  }
  return text +
         "static int wrong = 0;\n"
         "static void check(int i, U found, U right) {\n"
         "  if (found != right && wrong++ < 3) std::printf(\"tree %d\\n\", i);\n}\n";
}

TEST(PrintExprProperty, GroupsLikeTheCompiler) {
  const int count = scaled(10000);
  RandomTrees trees(20261120);
  constexpr int batch = 10000;
  for (int begin = 0; begin < count; begin += batch) {
    std::string text = scrambling_class();
    const int end = std::min(begin + batch, count);
    std::string all;
    for (int i = begin; i < end; ++i) {
      if (i % 50 == 0 || i == begin) {  // g++ takes longer for one long function
        text += (i == begin ? "" : "}\n");
        text += "static void part" + std::to_string(i) + "() {\n";
        all += "  part" + std::to_string(i) + "();\n";
      }
      const Sample sample = trees.make(2 + trees.below(4));
      text += "  check(" + std::to_string(i) + ", H((" + print_expr(sample.tree, Dialect::cpp) +
              ")).v, " + std::to_string(sample.value) + "ULL);\n";
    }
    text += "}\nint main() {\n" + all +
            "  std::printf(\"%d wrong of the batch\\n\", wrong);\n  return wrong != 0;\n}\n";
    // twice as fast without exceptions
    const auto result =
        compile_text(text, HostLanguage::cpp,
                     "-O0 -fno-exceptions -Wno-unused-function -Wno-unused-value", true);
    ASSERT_EQ(result.status, 0) << result.output.substr(0, 3000);
    EXPECT_NE(result.output.find("0 wrong"), std::string::npos) << result.output;
  }
}

TEST(PrintExprProperty, FoldsLikeTheCompiler) {
  const int count = scaled(200);
  RandomTrees random(21);
  std::string text = scrambling_class();
  std::string all;
  const auto any_operator = [&] {
    return static_cast<BinaryOp>(random.below(static_cast<int>(BinaryOp::comma) + 1));
  };
  const auto combined = [](BinaryOp op, std::uint64_t left, std::uint64_t right) {
    return combine(500 + static_cast<std::uint64_t>(op), left, right);
  };
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<unsigned>(random.below(1 << 30));
    const BinaryOp op = any_operator();
    const bool is_left = random.below(2) == 0;
    const Sample initial = random.make(2);
    const bool has_initial = random.below(2) == 0;
    std::vector<std::uint64_t> values;
    Expr pattern = 0;
    for (int element = 0; element < 3; ++element) {
      RandomTrees trees(seed);
      trees.value_of_first = value_of_variable(10 + element);
      const Sample sample = trees.make(2);
      // so that the pack is named for sure
      pattern = Expr(Binary{BinaryOp::multiply, sample.tree, variable("v0", i32)});
      values.push_back(combined(BinaryOp::multiply, sample.value, trees.value_of_first));
    }
    if (has_initial) {
      values.insert(is_left ? values.begin() : values.end(), initial.value);
    }
    std::uint64_t value = is_left ? values.front() : values.back();
    for (std::size_t k = 1; k < values.size(); ++k) {
      value = is_left ? combined(op, value, values[k])
                      : combined(op, values[values.size() - 1 - k], value);
    }
    const Expr fold = Fold{op, substitute(pattern, {{"v0", variable("xs", i32)}}),
                           has_initial ? std::optional(initial.tree) : std::nullopt, is_left};
    const BinaryOp around = any_operator();
    const Expr tree = Binary{around, fold, variable("v1", i32)};
    const std::string name = "fold" + std::to_string(i);
    text += "template <class... Ts> static H " + name + "(Ts... xs) { return (" +
            print_expr(tree, Dialect::cpp) + "); }\n";
    all += "  check(" + std::to_string(i) + ", " + name + "(";
    for (int element = 0; element < 3; ++element) {
      all +=
          (element > 0 ? ", H(" : "H(") + std::to_string(value_of_variable(10 + element)) + "ULL)";
    }
    all += ").v, " + std::to_string(combined(around, value, value_of_variable(1))) + "ULL);\n";
  }
  text += "int main() {\n" + all + "  return wrong != 0;\n}\n";
  const auto result =
      compile_text(text, HostLanguage::cpp, "-O0 -Wno-unused-function -Wno-unused-value", true);
  EXPECT_EQ(result.status, 0) << result.output.substr(0, 3000);
}

/// A random type and the same type written with alias templates, which need no precedence.
struct SampleType {
  Type type;
  std::string alias;
};

SampleType random_type(RandomTrees& random, int depth, bool may_be_array, bool may_be_function) {
  if (depth == 0) {
    static const std::pair<Type, const char*> scalars[] = {
        {i32, "int"}, {f32, "float"}, {u8, "unsigned char"}, {i64, "long long"}};
    const auto& [type, name] = scalars[random.below(4)];
    return random.below(3) == 0 ? SampleType{const_(type), std::string("C<") + name + ">"}
                                : SampleType{type, name};
  }
  switch (random.below(5)) {
    case 0:
    case 1: {
      const SampleType pointee = random_type(random, depth - 1, true, true);
      const SampleType pointer{pointer_to(pointee.type), "P<" + pointee.alias + ">"};
      return random.below(3) == 0 ? SampleType{const_(pointer.type), "C<" + pointer.alias + ">"}
                                  : pointer;
    }
    case 2:
      if (may_be_array) {
        const SampleType element = random_type(random, depth - 1, true, false);
        const int extent = 1 + random.below(9);
        return {array_of(element.type, extent),
                "A<" + element.alias + ", " + std::to_string(extent) + ">"};
      }
      break;
    case 3:
      if (may_be_function) {
        const SampleType result = random_type(random, depth - 1, false, false);
        const SampleType first = random_type(random, std::min(depth - 1, 2), false, false);
        const bool is_variadic = random.below(4) == 0;
        return {function_type(result.type, {first.type}, is_variadic),
                std::string(is_variadic ? "V<" : "F<") + result.alias + ", " + first.alias + ">"};
      }
      break;
    default:
      break;
  }
  return random_type(random, depth - 1, may_be_array, may_be_function);
}

TEST(PrintDeclaratorProperty, NestsLikeTheCompiler) {
  const int count = scaled(5000);
  RandomTrees random(4711);
  std::string text =
      "#include <type_traits>\n"
      "template <class T> using P = T *;\n"
      "template <class T> using C = const T;\n"
      "template <class T, int n> using A = T[n];\n"
      "template <class R, class T> using F = R(T);\n"
      "template <class R, class T> using V = R(T, ...);\n"
      "template <class T> using L = T &;\n";
  for (int i = 0; i < count; ++i) {
    SampleType sample = random_type(random, random.below(7), true, true);
    if (random.below(6) == 0) {
      sample = {reference_to(sample.type), "L<" + sample.alias + ">"};
    }
    const std::string name = "x" + std::to_string(i);
    text += "extern " + print_declarator(sample.type, name, Dialect::cpp) + ";\n";
    text += "static_assert(std::is_same_v<decltype(" + name + "), " + sample.alias + ">);\n";
    // an abstract declarator, too
    text += "static_assert(std::is_same_v<" + print_declarator(sample.type, "", Dialect::cpp) +
            ", " + sample.alias + ">);\n";
  }
  const auto result = compile_text(text, HostLanguage::cpp, "-Wno-ignored-qualifiers");
  EXPECT_EQ(result.status, 0) << result.output.substr(0, 3000);
}

}  // namespace
}  // namespace rtcg::cgen
