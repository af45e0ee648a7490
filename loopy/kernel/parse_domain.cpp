#include "rtcg/loopy/kernel/parse_domain.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/polyhedral/set_union.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/tokenizer.h"

namespace rtcg::loopy {
namespace {

constexpr const char* domain_syntax = "loopy.parse_domain.syntax";

constexpr std::size_t most_parts = 32;

/// A rounded part: `x // 2` or `x mod 2`.
struct Rounded {
  Affine numerator{};
  std::int64_t divisor = 2;
  bool is_remainder = false;
  std::int64_t factor = 1;
};

/// A sum of multiples of names and of rounded parts.
struct Value {
  Affine affine{};
  std::vector<Rounded> rounded{};
  /// Of the quotients among the names, which are no identifiers.
  ConstraintSet quotients{};
};

[[noreturn]] void throw_not_affine(const std::string& problem) {
  throw InvalidInput("loopy.parse_domain.not_affine",
                     problem + ": bounds are sums of integer multiples of names");
}

Value combined(const Value& left, const Value& right, std::int64_t factor) {
  Value result = left;
  result.affine = left.affine + right.affine * factor;
  for (Rounded part : right.rounded) {
    part.factor *= factor;
    result.rounded.push_back(std::move(part));
  }
  result.quotients.add(right.quotients);
  return result;
}

Value multiplied(const Value& left, const Value& right) {
  if (left.affine.is_constant() && left.rounded.empty()) {
    return combined(Value{}, right, left.affine.constant());
  }
  if (right.affine.is_constant() && right.rounded.empty()) {
    return combined(Value{}, left, right.affine.constant());
  }
  throw_not_affine("a product of names in a domain");
}

bool is_quotient(std::string_view name) {
  return name.starts_with('~');
}

/// The value with names for the quotients of its rounded parts.
Value with_named_quotients(Value value) {
  for (const Rounded& part : std::exchange(value.rounded, {})) {
    const Affine quotient(fmt::format("~{}//{}", to_string(to_expr(part.numerator)), part.divisor));
    const Affine remainder = part.numerator - quotient * part.divisor;
    value.quotients.add_nonnegative(remainder);
    value.quotients.add_nonnegative(Affine(part.divisor - 1) - remainder);
    value.affine = value.affine + (part.is_remainder ? remainder : quotient) * part.factor;
  }
  return value;
}

/// `numerator // divisor` or, as a remainder, `numerator mod divisor`; divisor > 0.
Value rounded(const Value& given, std::int64_t divisor, bool is_remainder) {
  if (divisor == 1) {
    return is_remainder ? Value{} : given;
  }
  const Value numerator = with_named_quotients(given);
  if (numerator.affine.is_constant()) {
    const std::int64_t value = numerator.affine.constant();
    const std::int64_t quotient = divide_rounding_down(value, divisor);
    return Value{is_remainder ? value - divisor * quotient : quotient};
  }
  return Value{{}, {Rounded{numerator.affine, divisor, is_remainder, 1}}, numerator.quotients};
}

/// The set without quotients among its names, in parts.
SetUnion without_quotients(const ConstraintSet& set) {
  SetUnion parts = {set};
  while (true) {
    std::string quotient;
    for (const ConstraintSet& part : parts) {
      for (const std::string& name : part.names()) {
        // the outermost one first: it mentions those within
        if (is_quotient(name) && name.size() > quotient.size()) {
          quotient = name;
        }
      }
    }
    if (quotient.empty()) {
      return parts;
    }
    SetUnion smaller;
    for (const ConstraintSet& part : parts) {
      const std::optional<SetUnion> found = without_existing(part, quotient);
      if (!found || smaller.size() + found->size() > most_parts) {
        throw Unsupported(
            "loopy.parse_domain.rounding",
            fmt::format("'{}' in a domain is not supported here: give it a name by a parameter or "
                        "an iname of its own",
                        quotient.substr(1)));
      }
      smaller.insert(smaller.end(), found->begin(), found->end());
    }
    parts = std::move(smaller);
  }
}

/// x mod d - r = 0: d divides x - r. Says whether the comparison has this form.
bool add_remainder(ConstraintSet& result, const Value& difference, bool is_equality) {
  const Rounded& part = difference.rounded.front();
  const std::int64_t remainder = -difference.affine.constant() * part.factor;
  if (!is_equality || std::abs(part.factor) != 1 || !difference.affine.is_constant()) {
    return false;
  }
  if (remainder < 0 || remainder >= part.divisor) {
    throw Unsupported("loopy.parse_domain.rounding",
                      fmt::format("a remainder by {} is from 0 to {}, never {}", part.divisor,
                                  part.divisor - 1, remainder));
  }
  result.add(Congruence{part.numerator - remainder, part.divisor});
  return true;
}

/// x // d + rest >= 0 or == 0, and the same with - x // d. Says whether the comparison has this
/// form.
bool add_quotient(ConstraintSet& result, const Value& difference, bool is_equality) {
  const Rounded& part = difference.rounded.front();
  if (std::abs(part.factor) != 1) {
    return false;
  }
  const Affine limit = difference.affine * -part.factor;  // x // d against it
  if (is_equality || part.factor == 1) {                  // x // d >= limit
    result.add_nonnegative(part.numerator - limit * part.divisor);
  }
  if (is_equality || part.factor == -1) {  // x // d <= limit
    result.add_nonnegative(limit * part.divisor + (part.divisor - 1) - part.numerator);
  }
  return true;
}

void add_comparison(ConstraintSet& result, const Value& left, std::string_view op,
                    const Value& right) {
  Value difference = combined(right, left, -1);  // right - left
  if (op == ">" || op == ">=") {
    difference = combined(Value{}, difference, -1);
  }
  if (op == "<" || op == ">") {
    difference.affine = difference.affine - 1;
  }
  const bool is_equality = op == "=";
  result.add(difference.quotients);
  if (difference.rounded.size() == 1 &&
      (difference.rounded.front().is_remainder ? add_remainder(result, difference, is_equality)
                                               : add_quotient(result, difference, is_equality))) {
    return;
  }
  if (difference.rounded.empty()) {
    result.add(Constraint{difference.affine, is_equality});
    return;
  }
  const Value named = with_named_quotients({difference.affine, difference.rounded});
  result.add(named.quotients);
  result.add(Constraint{named.affine, is_equality});
}

/// A comparison as a union: `!=` has two parts.
SetUnion comparison_of(const Value& left, std::string_view op, const Value& right) {
  SetUnion parts;
  for (const std::string_view each :
       op == "!=" ? std::vector<std::string_view>{"<", ">"} : std::vector<std::string_view>{op}) {
    ConstraintSet part;
    add_comparison(part, left, each, right);
    const SetUnion plain = without_quotients(part);
    parts.insert(parts.end(), plain.begin(), plain.end());
  }
  return parts;
}

SetUnion checked_size(SetUnion parts) {
  if (parts.size() > 1) {
    const ConstraintSet first = parts.front();
    std::erase_if(parts, [](const ConstraintSet& part) { return part.is_empty(); });
    if (parts.empty()) {
      parts.push_back(first);
    }
  }
  if (parts.size() > most_parts) {
    throw Unsupported("loopy.parse_domain.disjunction",
                      fmt::format("a domain of {} parts is not supported: at most {} are",
                                  parts.size(), most_parts));
  }
  return parts;
}

class ConditionParser {
 public:
  explicit ConditionParser(TokenReader& reader) : reader_(reader) {}

  SetUnion conditions() {
    SetUnion all = conjunction();
    while (reader_.accept("or")) {
      const SetUnion more = conjunction();
      all.insert(all.end(), more.begin(), more.end());
      all = checked_size(std::move(all));
    }
    return all;
  }

 private:
  SetUnion conjunction() {
    SetUnion all = {ConstraintSet()};
    do {
      all = checked_size(intersection(all, condition()));
    } while (reader_.accept("and"));
    return all;
  }

  SetUnion condition() {
    if (reader_.accept("exists")) {
      return exists();
    }
    if (reader_.is_next("(") && holds_conditions()) {
      reader_.expect("(");
      SetUnion inner = conditions();
      reader_.expect(")");
      return inner;
    }
    SetUnion result = {ConstraintSet()};
    std::vector<Value> left = side();
    std::optional<std::string> op = comparison();
    if (!op) {
      reader_.fail("expected a comparison: <, <=, =, !=, >= or >");
    }
    for (; op; op = comparison()) {
      std::vector<Value> right = side();
      for (const Value& l : left) {
        for (const Value& r : right) {
          result = checked_size(intersection(result, comparison_of(l, *op, r)));
        }
      }
      left = std::move(right);
    }
    return result;
  }

  /// Whether the parenthesis that is next encloses conditions, not a value.
  [[nodiscard]] bool holds_conditions() const {
    int depth = 0;
    for (std::size_t ahead = 0; reader_.peek(ahead).kind != TokenKind::end; ++ahead) {
      const std::string& text = reader_.peek(ahead).text;
      depth += text == "(" ? 1 : 0;
      depth -= text == ")" ? 1 : 0;
      if (depth == 0) {
        return false;
      }
      if (text == "<" || text == "<=" || text == ">" || text == ">=" || text == "=" ||
          text == "==" || text == "!=" || text == "exists") {
        return true;
      }
    }
    return false;
  }

  std::optional<std::string> comparison() {
    for (const char* op : {"<=", "<", ">=", ">", "==", "=", "!="}) {
      if (reader_.accept(op)) {
        return std::string(op) == "==" ? "=" : op;
      }
    }
    return std::nullopt;
  }

  std::vector<Value> side() {
    std::vector<Value> values = {sum()};
    while (reader_.accept(",")) {
      values.push_back(sum());
    }
    return values;
  }

  Value sum() {
    Value result = product();
    while (true) {
      if (reader_.accept("+")) {
        result = combined(result, product(), 1);
      } else if (reader_.accept("-")) {
        result = combined(result, product(), -1);
      } else {
        return result;
      }
    }
  }

  Value product() {
    Value result = factor();
    while (true) {
      if (reader_.accept("*")) {
        result = multiplied(result, factor());
      } else if (reader_.accept("//")) {
        result = rounded_by_next(result, false);
      } else if (reader_.accept("mod") || reader_.accept("%")) {
        result = rounded_by_next(result, true);
      } else if (reader_.is_next("/")) {
        reader_.fail("'/' is allowed only in floor(n / 2); n // 2 is the same");
      } else {
        return result;
      }
    }
  }

  Value rounded_by_next(const Value& numerator, bool is_remainder) {
    const std::size_t column = reader_.peek().column;
    const Value divisor = factor();
    if (!divisor.rounded.empty() || !divisor.affine.is_constant() ||
        divisor.affine.constant() <= 0) {
      reader_.fail_at(column, "a divisor in a domain is a positive integer");
    }
    return rounded(numerator, divisor.affine.constant(), is_remainder);
  }

  Value factor() {
    bool is_negative = false;
    while (reader_.accept("-")) {
      is_negative = !is_negative;
    }
    return is_negative ? combined(Value{}, unsigned_factor(), -1) : unsigned_factor();
  }

  Value unsigned_factor() {
    if (reader_.accept("(")) {
      const Value inner = sum();
      reader_.expect(")");
      return inner;
    }
    if (reader_.peek().kind == TokenKind::number) {
      return number();
    }
    const std::string name = reader_.expect_name("a name, a number or a parenthesis");
    const bool is_ceil = name == "ceil";
    if ((name == "floor" || is_ceil) && reader_.accept("(")) {
      const Value inner = combined(Value{}, floor_numerator(), is_ceil ? -1 : 1);
      reader_.expect("/");
      const Value result = rounded_by_next(inner, false);
      reader_.expect(")");
      return combined(Value{}, result, is_ceil ? -1 : 1);
    }
    return Value{Affine(name)};
  }

  /// The part before the `/` of a floor(): `n`, `2*n`, `(n + 1)`.
  Value floor_numerator() {
    Value result = factor();
    while (reader_.accept("*")) {
      result = multiplied(result, factor());
    }
    return result;
  }

  /// An integer, alone or right before the name or parenthesis that it multiplies: `2l`.
  Value number() {
    const Token token = reader_.next();
    std::string digits = token.text;
    // the tokenizer takes the d of `2d` for the suffix of a real number
    std::string name;
    if (const std::size_t suffix = digits.find_first_of("dfj"); suffix != std::string::npos) {
      name = digits.substr(suffix);
      digits.resize(suffix);
    }
    std::int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (stop != end || error != std::errc()) {
      reader_.fail_at(token.column, "bounds take integers of 64 bits only");
    }
    if (!name.empty()) {
      return Value{Affine(name, value)};
    }
    const Token& following = reader_.peek();
    const bool is_adjacent = following.column == token.column + token.text.size();
    if (is_adjacent && (following.kind == TokenKind::name || following.text == "(")) {
      if (value == 0) {  // 0 times a name is a mistake
        reader_.fail_at(token.column, "bounds take decimal integers only, such as 16 for 0x10");
      }
      return multiplied(Value{value}, factor());
    }
    return Value{value};
  }

  /// `exists l: i = 2*l`, with or without parentheses.
  SetUnion exists() {
    if (++exists_depth_ > 100) {
      reader_.fail("'exists' is nested too deeply");
    }
    const bool in_parentheses = reader_.accept("(");
    std::vector<std::string> names;
    do {
      names.push_back(reader_.expect_name("a name"));
    } while (reader_.accept(","));
    reader_.expect(":");
    SetUnion inner = conditions();
    if (in_parentheses) {
      reader_.expect(")");
    }
    for (const std::string& name : names) {
      SetUnion smaller;
      for (const ConstraintSet& part : inner) {
        const std::optional<SetUnion> found = without_existing(part, name);
        if (!found) {
          throw Unsupported("loopy.parse_domain.exists",
                            fmt::format("'exists {0}' is supported where an equality such as "
                                        "i = 2*{0} says what {0} is, where the bounds of {0} "
                                        "leave room for an integer, or for a few values of {0}",
                                        name));
        }
        smaller.insert(smaller.end(), found->begin(), found->end());
      }
      inner = checked_size(std::move(smaller));
    }
    return inner;
  }

  TokenReader& reader_;
  int exists_depth_ = 0;  // how many of them were opened
};

// ---- conditions as expressions

std::int64_t positive_divisor(const Expr& divisor) {
  const auto number = as_integer(divisor);
  if (!number || *number <= 0) {
    throw_not_affine(fmt::format("the divisor '{}' is not a positive integer", to_string(divisor)));
  }
  return *number;
}

Value value_of(const Expr& expr) {
  return match(
      expr, [](const Integer& e) { return Value{e.value}; },
      [](const Name& e) { return Value{Affine(e.name)}; },
      [](const Sum& e) {
        Value total;
        for (const Expr& term : e.terms) {
          total = combined(total, value_of(term), 1);
        }
        return total;
      },
      [](const Product& e) {
        Value total{1};
        for (const Expr& factor : e.factors) {
          total = multiplied(total, value_of(factor));
        }
        return total;
      },
      [](const FloorDiv& e) {
        return rounded(value_of(e.numerator), positive_divisor(e.denominator), false);
      },
      [](const Modulo& e) {
        return rounded(value_of(e.numerator), positive_divisor(e.denominator), true);
      },
      [&](const auto&) -> Value {
        throw_not_affine(fmt::format("'{}' in a domain", to_string(expr)));
      });
}

SetUnion parts_of(const Expr& condition) {
  if (const Comparison* comparison = get_if<Comparison>(condition)) {
    const std::string_view op = spelling(comparison->op);
    return checked_size(comparison_of(value_of(comparison->left), op == "==" ? "=" : op,
                                      value_of(comparison->right)));
  }
  const Logical* logical = get_if<Logical>(condition);
  if (logical == nullptr) {
    throw_not_affine(fmt::format("'{}' is not a comparison", to_string(condition)));
  }
  SetUnion all = parts_of(logical->operands.front());
  for (std::size_t i = 1; i < logical->operands.size(); ++i) {
    const SetUnion more = parts_of(logical->operands[i]);
    if (logical->op == LogicalOp::and_) {
      all = intersection(all, more);
    } else {
      all.insert(all.end(), more.begin(), more.end());
    }
    all = checked_size(std::move(all));
  }
  return all;
}

/// What is no union.
ConstraintSet only_part(const SetUnion& parts) {
  if (parts.size() != 1) {
    throw Unsupported("loopy.parse_domain.disjunction",
                      fmt::format("an assumption is one set of conditions joined by 'and': this "
                                  "one has {} parts",
                                  parts.size()));
  }
  return parts.front();
}

SetUnion read_conditions(TokenReader& reader) {
  return ConditionParser(reader).conditions();
}

/// `[n, m] ->`, if it is there; otherwise nothing.
std::optional<std::vector<std::string>> read_parameters(TokenReader& reader) {
  if (!reader.accept("[")) {
    return std::nullopt;
  }
  std::vector<std::string> parameters;
  if (!reader.accept("]")) {
    do {
      parameters.push_back(reader.expect_name("a parameter"));
    } while (reader.accept(","));
    reader.expect("]");
  }
  reader.expect("->");
  return parameters;
}

void check_names(const Domain& domain, const std::vector<std::string>& parameters) {
  std::vector<std::string> names = domain.constraints.names();
  for (const ConstraintSet& part : domain.other_parts) {
    const std::vector<std::string> more = part.names();
    names.insert(names.end(), more.begin(), more.end());
  }
  for (const std::string& each : names) {
    if (std::find(domain.inames.begin(), domain.inames.end(), each) == domain.inames.end() &&
        std::find(parameters.begin(), parameters.end(), each) == parameters.end()) {
      throw InvalidInput("loopy.parse_domain.unknown_name",
                         fmt::format("'{}' is neither an iname of the domain nor among the "
                                     "parameters before '->', which are [{}]",
                                     each, fmt::join(parameters, ", ")));
    }
  }
}

Domain make_domain(std::vector<std::string> inames, SetUnion conditions) {
  if (conditions.size() > 1) {
    conditions = disjoint_parts(conditions);
    for (const ConstraintSet& part : conditions) {
      for (const Congruence& each : part.congruences()) {
        const bool is_of_points = std::any_of(
            inames.begin(), inames.end(),
            [&](const std::string& iname) { return each.expr.coefficient(iname) != 0; });
        if (!is_of_points) {  // a part for each remainder of a parameter
          throw Unsupported(
              "loopy.parse_domain.rounding",
              fmt::format("'{}' in a domain is a condition on parameters: give a rounded multiple, "
                          "such as 2*(n // 2), a name by a parameter of its own",
                          to_string(modulo(to_expr(each.expr), Expr(each.modulus)))));
        }
      }
    }
  }
  return {std::move(inames), conditions.front(), {conditions.begin() + 1, conditions.end()}};
}

Domain read_domain(TokenReader& reader) {
  const auto parameters = read_parameters(reader);
  reader.expect("{");
  reader.expect("[");
  Domain domain;
  if (!reader.accept("]")) {
    do {
      const std::size_t column = reader.peek().column;
      std::string iname = reader.expect_name("an iname");
      if (std::find(domain.inames.begin(), domain.inames.end(), iname) != domain.inames.end()) {
        reader.fail_at(column, fmt::format("iname '{}' appears twice", iname));
      }
      domain.inames.push_back(std::move(iname));
    } while (reader.accept(","));
    reader.expect("]");
  }
  if (reader.accept(":") && !reader.is_next("}")) {
    domain = make_domain(std::move(domain.inames), read_conditions(reader));
  }
  reader.expect("}");
  if (parameters) {
    check_names(domain, *parameters);
  }
  return domain;
}

}  // namespace

std::vector<Domain> parse_domains(std::string_view text) {
  TokenReader reader(text, domain_syntax);
  std::vector<Domain> domains;
  while (!reader.is_at_end()) {
    domains.push_back(read_domain(reader));
    for (std::size_t i = 0; i + 1 < domains.size(); ++i) {
      for (const std::string& iname : domains.back().inames) {
        const std::vector<std::string>& others = domains[i].inames;
        if (std::find(others.begin(), others.end(), iname) != others.end()) {
          throw InvalidInput("loopy.parse_domain.duplicate_iname",
                             fmt::format("iname '{}' belongs to two domains: give one of them "
                                         "another name",
                                         iname));
        }
      }
    }
    reader.accept(";");
    reader.accept(",");
  }
  return domains;
}

ConstraintSet to_constraints(const Expr& condition) {
  return only_part(parts_of(condition));
}

Domain to_domain(std::vector<std::string> inames, const Expr& condition) {
  return make_domain(std::move(inames), parts_of(condition));
}

ConstraintSet parse_assumptions(std::string_view text) {
  TokenReader reader(text, domain_syntax);
  if (reader.is_at_end()) {
    return {};
  }
  ConstraintSet constraints = only_part(read_conditions(reader));
  if (!reader.is_at_end()) {
    reader.fail(fmt::format("'{}' does not belong to the condition", reader.peek().text));
  }
  return constraints;
}

}  // namespace rtcg::loopy
