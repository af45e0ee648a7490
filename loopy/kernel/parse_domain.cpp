#include "rtcg/loopy/kernel/parse_domain.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/tokenizer.h"

namespace rtcg::loopy {
namespace {

constexpr const char* domain_syntax = "loopy.parse_domain.syntax";

/// A sum of multiples of names and of at most one rounded part: `x // 2` or `x mod 2`.
struct Value {
  Affine affine{};
  struct Rounded {
    Affine numerator{};
    std::int64_t divisor = 2;
    bool is_remainder = false;
    std::int64_t factor = 1;
  };
  std::optional<Rounded> rounded{};
};

[[noreturn]] void throw_not_affine(const std::string& problem) {
  throw InvalidInput("loopy.parse_domain.not_affine",
                     problem + ": bounds are sums of integer multiples of names");
}

Value combined(const Value& left, const Value& right, std::int64_t factor) {
  Value result{left.affine + right.affine * factor, left.rounded};
  if (right.rounded) {
    if (left.rounded) {
      throw Unsupported("loopy.parse_domain.rounding",
                        "a condition with two rounded parts is not supported: give one of them a "
                        "name by an iname of its own");
    }
    result.rounded = right.rounded;
    result.rounded->factor *= factor;
  }
  return result;
}

Value multiplied(const Value& left, const Value& right) {
  if (left.affine.is_constant() && !left.rounded) {
    return combined(Value{}, right, left.affine.constant());
  }
  if (right.affine.is_constant() && !right.rounded) {
    return combined(Value{}, left, right.affine.constant());
  }
  throw_not_affine("a product of names in a domain");
}

/// `numerator // divisor` or, as a remainder, `numerator mod divisor`; divisor > 0.
Value rounded(const Value& numerator, std::int64_t divisor, bool is_remainder) {
  if (numerator.rounded) {
    throw_not_affine("a rounded part within another");
  }
  if (divisor == 1) {
    return is_remainder ? Value{} : numerator;
  }
  if (numerator.affine.is_constant()) {
    const std::int64_t value = numerator.affine.constant();
    const std::int64_t quotient = divide_rounding_down(value, divisor);
    return Value{is_remainder ? value - divisor * quotient : quotient, std::nullopt};
  }
  return Value{{}, Value::Rounded{numerator.affine, divisor, is_remainder, 1}};
}

/// x mod d - r = 0: d divides x - r.
void add_remainder(ConstraintSet& result, const Value& difference, bool is_equality) {
  const Value::Rounded& part = *difference.rounded;
  const std::int64_t remainder = -difference.affine.constant() * part.factor;
  if (!is_equality || std::abs(part.factor) != 1 || !difference.affine.is_constant() ||
      remainder < 0 || remainder >= part.divisor) {
    throw Unsupported("loopy.parse_domain.rounding",
                      fmt::format("'mod' is supported in the form 'x mod {} = 0', with a "
                                  "remainder from 0 to {}",
                                  part.divisor, part.divisor - 1));
  }
  result.add(Congruence{part.numerator - remainder, part.divisor});
}

/// x // d + rest >= 0 or == 0, and the same with - x // d.
void add_quotient(ConstraintSet& result, const Value& difference, bool is_equality) {
  const Value::Rounded& part = *difference.rounded;
  if (std::abs(part.factor) != 1) {
    throw Unsupported("loopy.parse_domain.rounding",
                      "a multiple of a rounded quotient in a domain is not supported: give the "
                      "quotient a name by an iname of its own");
  }
  const Affine limit = difference.affine * -part.factor;  // x // d against it
  if (is_equality || part.factor == 1) {                  // x // d >= limit
    result.add_nonnegative(part.numerator - limit * part.divisor);
  }
  if (is_equality || part.factor == -1) {  // x // d <= limit
    result.add_nonnegative(limit * part.divisor + (part.divisor - 1) - part.numerator);
  }
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
  if (!difference.rounded) {
    result.add(Constraint{difference.affine, op == "="});
  } else if (difference.rounded->is_remainder) {
    add_remainder(result, difference, op == "=");
  } else {
    add_quotient(result, difference, op == "=");
  }
}

class ConditionParser {
 public:
  explicit ConditionParser(TokenReader& reader) : reader_(reader) {}

  ConstraintSet conditions() {
    ConstraintSet all;
    do {
      all.add(condition());
    } while (reader_.accept("and"));
    if (reader_.is_next("or")) {
      throw Unsupported("loopy.parse_domain.disjunction",
                        "a domain with 'or' is not supported: write a domain and a statement for "
                        "each part");
    }
    return all;
  }

 private:
  ConstraintSet condition() {
    if (reader_.accept("exists")) {
      return exists();
    }
    if (reader_.is_next("(") && holds_conditions()) {
      reader_.expect("(");
      ConstraintSet inner = conditions();
      reader_.expect(")");
      return inner;
    }
    ConstraintSet result;
    std::vector<Value> left = side();
    std::optional<std::string> op = comparison();
    if (!op) {
      reader_.fail("expected a comparison: <, <=, =, >= or >");
    }
    for (; op; op = comparison()) {
      std::vector<Value> right = side();
      for (const Value& l : left) {
        for (const Value& r : right) {
          add_comparison(result, l, *op, r);
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
          text == "==" || text == "exists") {
        return true;
      }
    }
    return false;
  }

  std::optional<std::string> comparison() {
    for (const char* op : {"<=", "<", ">=", ">", "==", "="}) {
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
    if (divisor.rounded || !divisor.affine.is_constant() || divisor.affine.constant() <= 0) {
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
    if (name == "floor" && reader_.accept("(")) {
      const Value inner = floor_numerator();
      reader_.expect("/");
      const Value result = rounded_by_next(inner, false);
      reader_.expect(")");
      return result;
    }
    return Value{Affine(name), std::nullopt};
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
      return Value{Affine(name, value), std::nullopt};
    }
    const Token& following = reader_.peek();
    const bool is_adjacent = following.column == token.column + token.text.size();
    if (is_adjacent && (following.kind == TokenKind::name || following.text == "(")) {
      if (value == 0) {  // 0 times a name is a mistake
        reader_.fail_at(token.column, "bounds take decimal integers only, such as 16 for 0x10");
      }
      return multiplied(Value{value, std::nullopt}, factor());
    }
    return Value{value, std::nullopt};
  }

  /// `exists l: i = 2*l`, with or without parentheses.
  ConstraintSet exists() {
    if (++exists_depth_ > 100) {
      reader_.fail("'exists' is nested too deeply");
    }
    const bool in_parentheses = reader_.accept("(");
    std::vector<std::string> names;
    do {
      names.push_back(reader_.expect_name("a name"));
    } while (reader_.accept(","));
    reader_.expect(":");
    ConstraintSet inner = conditions();
    if (in_parentheses) {
      reader_.expect(")");
    }
    for (const std::string& name : names) {
      inner = without_existing(inner, name);
    }
    return inner;
  }

  /// c*l + e = 0 says that c divides e and that l is -e/c: exact, unlike a projection.
  static ConstraintSet without_existing(const ConstraintSet& set, const std::string& name) {
    const auto refuse = [&] {
      throw Unsupported("loopy.parse_domain.exists",
                        fmt::format("'exists {0}' is supported where an equality such as "
                                    "i = 2*{0} says what {0} is",
                                    name));
    };
    const Constraint* definition = nullptr;
    for (const Constraint& constraint : set.constraints()) {
      const std::int64_t factor = std::abs(constraint.expr.coefficient(name));
      if (constraint.is_equality && factor != 0 &&
          (definition == nullptr || factor < std::abs(definition->expr.coefficient(name)))) {
        definition = &constraint;
      }
    }
    ConstraintSet result;
    if (definition == nullptr) {
      if (set.mentions(name)) {
        refuse();
      }
      return set;
    }
    const std::int64_t signed_factor = definition->expr.coefficient(name);
    const std::int64_t factor = std::abs(signed_factor);
    const Affine scaled_value =  // factor * l
        definition->expr.substitute(name, 0) * (signed_factor > 0 ? -1 : 1);
    if (factor > 1) {
      result.add(Congruence{scaled_value, factor});
    }
    for (const Constraint& constraint : set.constraints()) {
      const std::int64_t multiple = constraint.expr.coefficient(name);
      const Affine others = constraint.expr.substitute(name, 0);
      if (&constraint != definition) {
        result.add(multiple == 0 ? constraint
                                 : Constraint{others * factor + scaled_value * multiple,
                                              constraint.is_equality});
      }
    }
    for (const Congruence& congruence : set.congruences()) {
      const std::int64_t multiple = congruence.expr.coefficient(name);
      const Affine others = congruence.expr.substitute(name, 0);
      result.add(multiple == 0 ? congruence
                               : Congruence{others * factor + scaled_value * multiple,
                                            congruence.modulus * factor});
    }
    return result;
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
      expr,
      [](const Integer& e) {
        return Value{e.value, std::nullopt};
      },
      [](const Name& e) {
        return Value{Affine(e.name), std::nullopt};
      },
      [](const Sum& e) {
        Value total;
        for (const Expr& term : e.terms) {
          total = combined(total, value_of(term), 1);
        }
        return total;
      },
      [](const Product& e) {
        Value total{1, std::nullopt};
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

void add_conditions(ConstraintSet& result, const Expr& condition) {
  const Comparison* comparison = get_if<Comparison>(condition);
  const Logical* logical = get_if<Logical>(condition);
  if (comparison != nullptr && comparison->op != ComparisonOp::not_equal) {
    const std::string_view op = spelling(comparison->op);
    add_comparison(result, value_of(comparison->left), op == "==" ? "=" : op,
                   value_of(comparison->right));
  } else if (logical != nullptr && logical->op == LogicalOp::and_) {
    for (const Expr& operand : logical->operands) {
      add_conditions(result, operand);
    }
  } else if (logical != nullptr || comparison != nullptr) {
    throw Unsupported("loopy.parse_domain.disjunction",
                      fmt::format("a domain with '{}' is not supported: describe a domain and a "
                                  "statement for each part",
                                  to_string(condition)));
  } else {
    throw_not_affine(fmt::format("'{}' is not a comparison", to_string(condition)));
  }
}

ConstraintSet read_conditions(TokenReader& reader) {
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
  for (const std::string& each : domain.constraints.names()) {
    if (std::find(domain.inames.begin(), domain.inames.end(), each) == domain.inames.end() &&
        std::find(parameters.begin(), parameters.end(), each) == parameters.end()) {
      throw InvalidInput("loopy.parse_domain.unknown_name",
                         fmt::format("'{}' is neither an iname of the domain nor among the "
                                     "parameters before '->', which are [{}]",
                                     each, fmt::join(parameters, ", ")));
    }
  }
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
    domain.constraints = read_conditions(reader);
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
  ConstraintSet constraints;
  add_conditions(constraints, condition);
  return constraints;
}

ConstraintSet parse_assumptions(std::string_view text) {
  TokenReader reader(text, domain_syntax);
  if (reader.is_at_end()) {
    return {};
  }
  ConstraintSet constraints = read_conditions(reader);
  if (!reader.is_at_end()) {
    reader.fail(fmt::format("'{}' does not belong to the condition", reader.peek().text));
  }
  return constraints;
}

}  // namespace rtcg::loopy
