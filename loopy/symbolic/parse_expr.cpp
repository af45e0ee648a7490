#include "rtcg/loopy/symbolic/parse_expr.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/in_order.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// 2^63: beyond 64 bits unless a minus precedes it.
constexpr std::string_view lowest_integer = "9223372036854775808";

constexpr int deepest_expression = 1000;

class ExprParser {
 public:
  explicit ExprParser(TokenReader& reader) : reader_(reader) {}

  Expr conditional() {
    const Nesting nesting(*this);
    Expr value = logical_or();
    if (reader_.accept("if")) {
      Expr condition = logical_or();
      reader_.expect("else");
      return Conditional{condition, value, conditional()};
    }
    return value;
  }

 private:
  /// Counts how deep the calls of the parser are nested: text must not overflow the stack.
  class Nesting {
   public:
    explicit Nesting(ExprParser& parser) : parser_(parser) {
      if (++parser_.depth_ > deepest_expression) {
        parser_.reader_.fail("the expression is nested too deeply");
      }
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExprParser& parser_;
  };

  /// Whether an operator between two values may come next: most values end an expression.
  [[nodiscard]] bool is_operator_next() const {
    const Token& token = reader_.peek();
    if (token.kind != TokenKind::symbol) {
      return false;
    }
    switch (token.text[0]) {
      case '|':
      case '^':
      case '&':
      case '<':
      case '>':
      case '=':
      case '!':
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return true;
      default:
        return false;
    }
  }

  Expr logical_or() {
    Expr first = logical_and_level();
    if (!reader_.is_next("or")) {
      return first;
    }
    std::vector<Expr> operands = {std::move(first)};
    while (reader_.accept("or")) {
      operands.push_back(logical_and_level());
    }
    return Logical{LogicalOp::or_, std::move(operands)};
  }

  Expr logical_and_level() {
    Expr first = not_level();
    if (!reader_.is_next("and")) {
      return first;
    }
    std::vector<Expr> operands = {std::move(first)};
    while (reader_.accept("and")) {
      operands.push_back(not_level());
    }
    return Logical{LogicalOp::and_, std::move(operands)};
  }

  Expr not_level() {
    if (!reader_.accept("not")) {
      return comparison();
    }
    const Nesting nesting(*this);
    return Not{not_level()};
  }

  Expr comparison() {
    static const std::map<std::string, ComparisonOp, std::less<>> ops = {
        {"<", ComparisonOp::less},    {"<=", ComparisonOp::less_equal},
        {">", ComparisonOp::greater}, {">=", ComparisonOp::greater_equal},
        {"==", ComparisonOp::equal},  {"!=", ComparisonOp::not_equal}};
    Expr left = bit_level(0);
    if (!is_operator_next()) {
      return left;
    }
    // a chain, `0 <= i < n`, means that all of it holds
    std::vector<Expr> parts;
    for (auto op = ops.find(reader_.peek().text);
         reader_.peek().kind == TokenKind::symbol && op != ops.end();
         op = ops.find(reader_.peek().text)) {
      reader_.next();
      Expr right = bit_level(0);
      parts.push_back(Comparison{op->second, left, right});
      left = right;
    }
    if (parts.empty()) {
      return left;
    }
    return parts.size() == 1 ? parts.front() : Expr(Logical{LogicalOp::and_, parts});
  }

  Expr bit_level(int level) {
    static constexpr std::string_view spellings[][2] = {
        {"|", ""}, {"^", ""}, {"&", ""}, {"<<", ">>"}};
    static constexpr BitOp ops[][2] = {{BitOp::or_, BitOp::or_},
                                       {BitOp::xor_, BitOp::xor_},
                                       {BitOp::and_, BitOp::and_},
                                       {BitOp::shift_left, BitOp::shift_right}};
    if (level == 4) {
      return sum();
    }
    Expr left = bit_level(level + 1);
    while (is_operator_next()) {
      const bool first = reader_.accept(spellings[level][0]);
      if (!first && (spellings[level][1].empty() || !reader_.accept(spellings[level][1]))) {
        return left;
      }
      left = Bitwise{ops[level][first ? 0 : 1], left, bit_level(level + 1)};
    }
    return left;
  }

  Expr sum() {
    Expr left = product();
    while (is_operator_next()) {
      if (reader_.accept("+")) {
        left = left + product();
      } else if (reader_.accept("-")) {
        left = left - product();
      } else {
        return left;
      }
    }
    return left;
  }

  Expr product() {
    Expr left = unary();
    while (is_operator_next()) {
      if (reader_.accept("*")) {
        left = left * unary();
      } else if (reader_.accept("//")) {
        left = checked_division(left, [](const Expr& n, const Expr& d) { return floor_div(n, d); });
      } else if (reader_.accept("/")) {
        left = checked_division(left, [](const Expr& n, const Expr& d) { return n / d; });
      } else if (reader_.accept("%")) {
        left = checked_division(left, [](const Expr& n, const Expr& d) { return modulo(n, d); });
      } else {
        return left;
      }
    }
    return left;
  }

  template <class Divide>
  Expr checked_division(const Expr& numerator, const Divide& divide) {
    const std::size_t column = reader_.peek().column;
    const Expr denominator = unary();
    if (as_integer(denominator) == 0) {
      reader_.fail_at(column, "division by zero");
    }
    return divide(numerator, denominator);
  }

  Expr unary() {
    const Nesting nesting(*this);
    if (reader_.accept("-")) {
      if (reader_.peek().text == lowest_integer) {
        reader_.next();
        return INT64_MIN;
      }
      return -unary();
    }
    if (reader_.accept("+")) {
      return unary();
    }
    const Expr base = primary();
    return reader_.accept("**") ? power(base, unary()) : base;
  }

  Expr primary() {
    const Token& token = reader_.peek();
    if (token.kind == TokenKind::number) {
      return number(reader_.next());
    }
    if (reader_.accept("(")) {
      const Expr inner = conditional();
      reader_.expect(")");
      return inner;
    }
    if (reader_.accept("[")) {
      return part_of_array();
    }
    if (token.kind != TokenKind::name) {
      reader_.fail(fmt::format("expected a value, found {}",
                               reader_.is_at_end() ? "the end" : fmt::format("'{}'", token.text)));
    }
    return after_name(reader_.next());
  }

  /// `k]: a[i, k]`, as `a[i, _0]`.
  Expr part_of_array() {
    const std::size_t column = reader_.peek().column;
    Substitution places;
    do {
      const std::string index = reader_.expect_name("an index of a part of an array");
      if (!places.emplace(index, Name{fmt::format("_{}", places.size())}).second) {
        reader_.fail_at(column, fmt::format("'{}' appears twice", index));
      }
    } while (reader_.accept(","));
    reader_.expect("]");
    reader_.expect(":");
    const Expr element = primary();
    if (!is<Access>(element)) {
      reader_.fail_at(column, "a part of an array is written [k]: a[i, k]");
    }
    return substitute(element, places);
  }

  Expr number(const Token& token) {
    const std::size_t imaginary = token.text.find('j');
    if (imaginary == std::string::npos) {
      return real_number(token.text, token.column);
    }
    std::string text = token.text;
    text.erase(imaginary, 1);
    return Call{"make_complex", {0, real_number(text, token.column)}};
  }

  Expr real_number(const std::string& text, std::size_t column) {
    const char last = text.back();
    const bool is_real =
        text.find_first_of(".eE") != std::string::npos || last == 'f' || last == 'd';
    if (!is_real) {
      std::int64_t value = 0;
      const char* end = text.data() + text.size();
      if (std::from_chars(text.data(), end, value).ec != std::errc()) {
        reader_.fail_at(column, fmt::format("the integer {} is beyond 64 bits", text));
      }
      return value;
    }
    Real real{std::strtod(text.c_str(), nullptr), std::nullopt};
    if (last == 'f') {
      real.stated_kind = cgen::ScalarKind::f32;
      real.value = static_cast<double>(static_cast<float>(real.value));
    } else if (last == 'd') {
      real.stated_kind = cgen::ScalarKind::f64;
    }
    return real;
  }

  std::vector<Expr> list_until(std::string_view close) {
    std::vector<Expr> values;
    if (reader_.accept(close)) {
      return values;
    }
    do {
      values.push_back(conditional());
    } while (reader_.accept(","));
    reader_.expect(close);
    return values;
  }

  /// `p[i].place.x[k]`, as `p.place.x[i, k]`; a tag of p ends the name.
  Expr field(const std::string& name, std::vector<Expr> indices) {
    const std::size_t tag = std::min(name.find('$'), name.size());
    std::string path = name.substr(0, tag);
    while (reader_.accept(".")) {
      path += "." + reader_.expect_name("the name of a field");
      if (reader_.accept("[")) {
        for (Expr& each : list_until("]")) {
          indices.push_back(std::move(each));
        }
      }
    }
    path += name.substr(tag);
    return indices.empty() ? Expr(Name{path}) : Expr(Access{path, std::move(indices)});
  }

  Expr after_name(const Token& token) {
    if (reader_.is_next(".")) {
      return field(token.text, {});
    }
    if (reader_.accept("[[")) {
      const Expr index = conditional();
      reader_.expect("]");
      reader_.expect("]");
      return LinearAccess{token.text, index};
    }
    if (reader_.accept("[")) {
      std::vector<Expr> indices = list_until("]");
      if (indices.empty()) {
        reader_.fail(fmt::format("'{}[]' has no index", token.text));
      }
      if (reader_.is_next(".")) {
        return field(token.text, std::move(indices));
      }
      return Access{token.text, std::move(indices)};
    }
    if (!reader_.accept("(")) {
      if (token.text == "inf" || token.text == "nan") {
        return Real{std::strtod(token.text.c_str(), nullptr), std::nullopt};
      }
      if (token.text.find('$') != std::string::npos) {
        reader_.fail_at(token.column,
                        fmt::format("'{}' is neither an element nor a call: only these take a tag, "
                                    "such as a$near[i]",
                                    token.text));
      }
      return Name{token.text};
    }
    if (token.text == "if") {
      const std::vector<Expr> parts = list_until(")");
      if (parts.size() != 3) {
        reader_.fail(fmt::format("if() takes a condition and two values, found {}", parts.size()));
      }
      return Conditional{parts[0], parts[1], parts[2]};
    }
    if (token.text == "cast") {
      return cast_after_parenthesis();
    }
    if (token.text == "reduce" || token.text == "simul_reduce") {
      const std::string operation = reader_.expect_tagged_name("an operation such as sum");
      reader_.expect(",");
      return typed_reduction(operation);
    }
    if (token.text == scan_function) {
      const std::string operation = reader_.expect_tagged_name("an operation such as sum");
      reader_.expect(",");
      return scan(typed_reduction(operation));
    }
    if (token.text == segmented_scan_function) {
      const Expr begins = conditional();
      reader_.expect(",");
      const std::string operation = reader_.expect_tagged_name("an operation such as sum");
      reader_.expect(",");
      return Call{segmented_scan_function, {begins, scan(typed_reduction(operation))}};
    }
    const std::size_t end = token.text.find('_');
    const bool is_whole = end == std::string::npos;
    if (is_written_as_call(token.text.substr(0, end)) &&
        (is_whole || parse_scalar_type(std::string_view(token.text).substr(end + 1)))) {
      return typed_reduction(token.text);
    }
    return Call{token.text, list_until(")")};
  }

  Expr cast_after_parenthesis() {
    const std::size_t column = reader_.peek().column;
    const std::string name = reader_.expect_name("a type");
    const auto type = parse_scalar_type(name);
    if (!type) {
      reader_.fail_at(column,
                      fmt::format("'{}' is not a type: write f32, f64, i32, i64, ...", name));
    }
    reader_.expect(",");
    const Expr operand = conditional();
    reader_.expect(")");
    return Cast{*type, operand};
  }

  /// `sum` or, with the type of what is added up, `sum_f32`, and what follows it; other names are
  /// those of rules.
  Reduction typed_reduction(const std::string& name) {
    const std::size_t end = name.find('_');
    const auto type = end == std::string::npos || !is_known_operation(name.substr(0, end))
                          ? std::nullopt
                          : parse_scalar_type(std::string_view(name).substr(end + 1));
    if (!type) {
      return reduction(name);
    }
    Reduction typed = reduction(name.substr(0, end));
    if (typed.operation == "any" || typed.operation == "all") {
      reader_.fail(fmt::format("'{}' says a type, but {} is true or false", name, typed.operation));
    }
    typed.operands.front() = Cast{*type, typed.operands.front()};
    return typed;
  }

  /// After `operation(`: inames, a comma, operands.
  Reduction reduction(const std::string& operation) {
    Reduction result{operation, {}, {}};
    if (reader_.accept("(")) {
      do {
        result.inames.push_back(reader_.expect_name("an iname"));
      } while (reader_.accept(","));
      reader_.expect(")");
    } else {
      result.inames.push_back(reader_.expect_name("an iname"));
    }
    reader_.expect(",");
    result.operands = list_until(")");
    result.order = take_order(result.operands);
    const bool is_tuple = operation == "argmin" || operation == "argmax";
    const bool is_rule = !is_known_operation(operation) && !result.operands.empty();
    if (!is_rule && result.operands.size() != (is_tuple ? 2U : 1U)) {
      reader_.fail(fmt::format("{} over inames takes {}, found {}", operation,
                               is_tuple ? "a value and its place" : "one value",
                               result.operands.size()));
    }
    return result;
  }

  TokenReader& reader_;
  int depth_ = 0;
};

}  // namespace

Expr read_expr(TokenReader& reader) {
  return ExprParser(reader).conditional();
}

Expr parse_expr(std::string_view text) {
  TokenReader reader(text, "loopy.parse_expr.syntax");
  Expr expr = read_expr(reader);
  if (!reader.is_at_end()) {
    reader.fail(fmt::format("'{}' does not belong to the expression", reader.peek().text));
  }
  return expr;
}

std::optional<cgen::Type> parse_scalar_type(std::string_view name) {
  static const std::map<std::string, cgen::Type, std::less<>> types = {
      {"bool", cgen::boolean},
      {"i8", cgen::i8},
      {"int8", cgen::i8},
      {"i16", cgen::i16},
      {"int16", cgen::i16},
      {"i32", cgen::i32},
      {"int32", cgen::i32},
      {"int", cgen::i32},
      {"i64", cgen::i64},
      {"int64", cgen::i64},
      {"u8", cgen::u8},
      {"uint8", cgen::u8},
      {"u16", cgen::u16},
      {"uint16", cgen::u16},
      {"u32", cgen::u32},
      {"uint32", cgen::u32},
      {"u64", cgen::u64},
      {"uint64", cgen::u64},
      {"f16", cgen::f16},
      {"float16", cgen::f16},
      {"bf16", cgen::bf16},
      {"f32", cgen::f32},
      {"float32", cgen::f32},
      {"float", cgen::f32},
      {"f64", cgen::f64},
      {"float64", cgen::f64},
      {"double", cgen::f64},
      {"c64", cgen::complex_of(cgen::f32)},
      {"complex64", cgen::complex_of(cgen::f32)},
      {"c128", cgen::complex_of(cgen::f64)},
      {"complex128", cgen::complex_of(cgen::f64)}};
  if (const auto found = types.find(name); found != types.end()) {
    return found->second;
  }
  // vectors: float4, f32x4
  for (const int lanes : {2, 3, 4, 8, 16}) {
    const std::string ending = std::to_string(lanes);
    if (!name.ends_with(ending)) {
      continue;
    }
    std::string_view element = name.substr(0, name.size() - ending.size());
    const bool has_cross = element.ends_with('x');
    if (has_cross) {
      element.remove_suffix(1);
    }
    const bool is_c_name = element == "float" || element == "double" || element == "int";
    const auto found = types.find(element);
    if (found != types.end() && is<cgen::Scalar>(found->second) && (has_cross || is_c_name)) {
      return cgen::vector_of(found->second, lanes);
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::loopy
