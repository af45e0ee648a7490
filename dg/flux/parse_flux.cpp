#include "rtcg/dg/flux/parse_flux.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::dg {
namespace {

constexpr int deepest_nesting = 200;
// expressions share parts, so that a chain of short definitions could grow without bound
constexpr std::size_t most_components = 10000;

// A scalar, or a vector, which may have one component.
struct Value {
  FluxVector vector;
  bool is_scalar = false;

  Value(const FluxExpr& scalar) : vector({scalar}), is_scalar(true) {}
  Value(FluxVector components) : vector(std::move(components)) {}
  [[nodiscard]] const FluxExpr& scalar() const { return vector.components()[0]; }
};

class Parser {
 public:
  Parser(std::string_view text, const FluxNames& names) : text_(text), names_(names) {
    int first = 0;
    for (const FieldGroup& group : names.fields) {
      const FluxVector vector = fields_of(group, first);
      defined_.insert_or_assign(group.name, group.is_scalar ? Value(vector[0]) : Value(vector));
      first += group.count;
    }
  }

  FluxVector read() {
    std::vector<FluxVector> parts;
    while (!is_at_end()) {
      const std::optional<std::string> name = read_definition_name();
      Value value = read_value();
      if (!is_at_end()) {
        expect(';');
      }
      if (name) {
        defined_.insert_or_assign(*name, std::move(value));
      } else {
        parts.push_back(std::move(value.vector));
      }
    }
    if (parts.empty()) {
      throw InvalidInput("dg.parse_flux.empty",
                         fmt::format("the flux '{}' has no components: write an expression that "
                                     "is not just the definition of a name",
                                     text_));
    }
    // a single vector keeps its axes
    return parts.size() == 1 ? parts[0] : concatenate(parts);
  }

 private:
  // ---- characters ----------------------------------------------------------------------------

  void skip_blanks() {
    while (place_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[place_])) != 0) {
      ++place_;
    }
  }
  bool is_at_end() {
    skip_blanks();
    return place_ == text_.size();
  }
  bool is_next(std::string_view symbol) {
    skip_blanks();
    return text_.substr(place_).starts_with(symbol);
  }
  bool accept(std::string_view symbol) {
    if (!is_next(symbol)) {
      return false;
    }
    place_ += symbol.size();
    return true;
  }
  void expect(char symbol) {
    if (!accept(std::string_view(&symbol, 1))) {
      fail("dg.parse_flux.syntax", fmt::format("'{}' is missing", symbol));
    }
  }
  std::string read_name() {
    skip_blanks();
    const std::size_t first = place_;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    while (place_ < text_.size() && is_part(text_[place_])) {
      ++place_;
    }
    return std::string(text_.substr(first, place_ - first));
  }
  [[noreturn]] void fail(const char* code, const std::string& problem) const {
    throw InvalidInput(code, fmt::format("at column {} of the flux '{}' {}", place_ + 1,
                                         std::string(text_), problem));
  }

  // `name =`, if that is next.
  std::optional<std::string> read_definition_name() {
    skip_blanks();
    const std::size_t first = place_;
    std::string name = read_name();
    if (is_identifier(name) && accept("=")) {
      return name;
    }
    place_ = first;
    return std::nullopt;
  }

  // ---- expressions ---------------------------------------------------------------------------

  // Errors of vector operations get their place in the text.
  Value read_value() {
    const std::size_t first = place_;
    try {
      return read_sum();
    } catch (const InvalidInput& error) {
      if (error.code().starts_with("dg.parse_flux.")) {
        throw;
      }
      throw InvalidInput(
          error.code(), fmt::format("in the flux term '{}', before column {} of the flux, {}",
                                    text_.substr(first, text_.find(';', first) - first), place_ + 1,
                                    error.message()));
    }
  }

  Value read_sum() {
    Value value = read_product();
    while (true) {
      if (accept("+")) {
        value = combine(value, read_product(), [](const auto& l, const auto& r) { return l + r; });
      } else if (accept("-")) {
        value = combine(value, read_product(), [](const auto& l, const auto& r) { return l - r; });
      } else {
        return value;
      }
    }
  }

  Value read_product() {
    Value value = read_signed();
    while (true) {
      if (!is_next("**") && accept("*")) {
        const Value factor = read_signed();
        if (!value.is_scalar && !factor.is_scalar) {
          not_a_scalar("a product of vectors, which is 'dot' or 'cross'", factor);
        }
        value = value.is_scalar && factor.is_scalar ? Value(value.scalar() * factor.scalar())
                : value.is_scalar                   ? Value(value.scalar() * factor.vector)
                                                    : Value(factor.scalar() * value.vector);
      } else if (accept("/")) {
        const Value divisor = read_signed();
        if (!divisor.is_scalar) {
          not_a_scalar("a division by a vector", divisor);
        }
        value = value.is_scalar ? Value(value.scalar() / divisor.scalar())
                                : Value(value.vector / divisor.scalar());
      } else {
        return value;
      }
    }
  }

  Value read_signed() {
    const Nesting nesting(*this);
    if (accept("-")) {
      const Value value = read_signed();
      return value.is_scalar ? Value(-value.scalar()) : Value(-value.vector);
    }
    if (accept("+")) {
      return read_signed();
    }
    Value base = read_component();
    if (accept("**")) {
      const Value exponent = read_signed();
      return pow(scalar(base, "the base of a power"), scalar(exponent, "an exponent"));
    }
    return base;
  }

  Value read_component() {
    Value value = read_primary();
    while (accept("[")) {
      if (value.is_scalar) {
        fail("dg.parse_flux.not_a_vector",
             fmt::format("'{}' is a scalar, which has no components", to_string(value.scalar())));
      }
      const int first = read_integer();
      if (accept(":")) {
        const int end = read_integer();
        value = value.vector.slice(first, end - first);
      } else {
        value = value.vector[first];
      }
      expect(']');
    }
    return value;
  }

  int read_integer() {
    skip_blanks();
    int value = 0;
    const char* first = text_.data() + place_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      fail("dg.parse_flux.syntax", "a whole number is missing");
    }
    place_ += static_cast<std::size_t>(end - first);
    return value;
  }

  Value read_primary() {
    skip_blanks();
    if (accept("(")) {
      Value value = read_sum();
      expect(')');
      return value;
    }
    if (accept("[")) {
      std::vector<FluxVector> parts;
      for (const Value& value : read_list(']')) {
        parts.push_back(value.vector);
      }
      const FluxVector vector(concatenate(parts).components());
      if (vector.count() > most_components) {
        fail("dg.parse_flux.syntax", "a vector grows too long");
      }
      return vector;
    }
    const unsigned char next =
        place_ < text_.size() ? static_cast<unsigned char>(text_[place_]) : 0;
    if (std::isdigit(next) != 0 || next == '.') {
      return read_number();
    }
    const std::string name = read_name();
    if (name.empty()) {
      fail("dg.parse_flux.syntax", is_at_end()
                                       ? std::string("an expression is missing")
                                       : fmt::format("'{}' begins no expression", text_[place_]));
    }
    if (accept("(")) {
      return call(name, read_list(')'));
    }
    return named(name);
  }

  Value read_number() {
    double value = 0;
    const char* first = text_.data() + place_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      fail("dg.parse_flux.syntax", "there is no number that a double can hold");
    }
    place_ += static_cast<std::size_t>(end - first);
    return FluxExpr(value);
  }

  // Values up to the symbol that closes the list.
  std::vector<Value> read_list(char closing) {
    std::vector<Value> values;
    if (accept(std::string_view(&closing, 1))) {
      return values;
    }
    do {
      values.push_back(read_sum());
    } while (accept(","));
    expect(closing);
    return values;
  }

  // ---- meanings ------------------------------------------------------------------------------

  Value named(const std::string& name) {
    const auto defined = defined_.find(name);
    if (defined != defined_.end()) {
      return defined->second;
    }
    const auto constant = names_.constants.find(name);
    if (constant != names_.constants.end()) {
      return FluxExpr(constant->second);
    }
    if (contains(names_.materials, name)) {
      return material(name);
    }
    const auto boundary = names_.boundary_values.find(name);
    if (boundary != names_.boundary_values.end()) {
      return boundary_values(name, boundary->second);
    }
    if (names_.parameters && contains(*names_.parameters, name)) {
      return parameter(name);
    }
    if (const std::optional<Value> value = builtin(name)) {
      return *value;
    }
    if (names_.parameters) {
      fail("dg.parse_flux.unknown_name",
           fmt::format("'{}' is not a field, parameter or other name: declare it; {}", name,
                       what_has_sides()));
    }
    undeclared_.insert(name);
    return parameter(name);
  }

  // An undeclared name is a parameter, which has no sides. A side or jump of it means a mistyped
  // field or an undeclared material, and would silently be the parameter, or zero.
  void check_has_sides(const std::string& function, const Value& value) const {
    std::set<const FluxNode*> visited;
    std::string undeclared;
    const std::function<bool(const FluxExpr&)> has_sides = [&](const FluxExpr& expr) {
      if (!visited.insert(&expr.node()).second) {
        return false;
      }
      if (expr.kind() == FluxKind::parameter && undeclared_.contains(expr.node().name)) {
        undeclared = expr.node().name;
      }
      return detail::is_two_sided(expr.kind()) ||
             std::any_of(expr.operands().begin(), expr.operands().end(), has_sides);
    };
    const std::vector<FluxExpr>& parts = value.vector.components();
    if (!std::any_of(parts.begin(), parts.end(), has_sides) && !undeclared.empty()) {
      fail("dg.parse_flux.no_sides",
           fmt::format("there is '{}({})', but nothing in it has two sides: '{}' is not a field or "
                       "material; {}",
                       function, value.is_scalar ? to_string(parts[0]) : to_string(value.vector),
                       undeclared, what_has_sides()));
    }
  }

  [[nodiscard]] std::string what_has_sides() const {
    std::vector<std::string> fields;
    for (const FieldGroup& group : names_.fields) {
      fields.push_back(group.name);
    }
    return fmt::format("the fields are {}{}{}", fmt::join(fields, ", "),
                       names_.materials.empty() ? "" : ", the materials ",
                       fmt::join(names_.materials, ", "));
  }

  std::optional<Value> builtin(const std::string& name) const {
    if (name == "n") {
      return Value(normal(names_.dimension));
    }
    if (name == "x") {
      return Value(coordinates(names_.dimension));
    }
    const std::map<std::string, FluxExpr> scalars = {{"order", order()},
                                                     {"mesh_size", mesh_size()},
                                                     {"face_jacobian", face_jacobian()},
                                                     {"element_jacobian", element_jacobian()},
                                                     {"pi", FluxExpr(M_PI)}};
    const auto place = scalars.find(name);
    return place == scalars.end() ? std::nullopt : std::optional<Value>(place->second);
  }

  Value call(const std::string& name, const std::vector<Value>& values) {
    const auto need = [&](std::size_t count) {
      if (values.size() != count) {
        fail("dg.parse_flux.argument_count",
             fmt::format("'{}' got {} argument{}, but takes {}", name, values.size(),
                         values.size() == 1 ? "" : "s", count));
      }
    };
    const auto at = [&](std::size_t i) { return scalar(values[i], "an argument of " + name); };
    if (contains(names_.functions, name)) {
      std::vector<FluxExpr> arguments;
      for (std::size_t i = 0; i < values.size(); ++i) {
        arguments.push_back(at(i));
      }
      return user_function(name, std::move(arguments));
    }
    if (const std::optional<Value> value = call_on_vectors(name, values, need)) {
      return *value;
    }
    if (name == "abs" || name == "sqrt" || name == "penalty") {
      need(1);
      return name == "abs" ? abs(at(0)) : name == "sqrt" ? sqrt(at(0)) : pow(penalty(), at(0));
    }
    if (name == "min" || name == "max" || name == "pow") {
      need(2);
      return name == "min"   ? min(at(0), at(1))
             : name == "max" ? max(at(0), at(1))
                             : pow(at(0), at(1));
    }
    fail("dg.parse_flux.unknown_function",
         fmt::format(
             "'{}' is not a function: there are interior, exterior, jump, average, dot, cross, "
             "norm, if_positive, min, max, abs, sqrt, pow, penalty",
             name));
  }

  // Functions that also take vectors.
  std::optional<Value> call_on_vectors(const std::string& name, const std::vector<Value>& values,
                                       const std::function<void(std::size_t)>& need) {
    if (name == "interior" || name == "exterior" || name == "jump" || name == "average") {
      need(1);
      check_has_sides(name, values[0]);
      const auto apply = [&](const auto& value) -> Value {
        return name == "interior"   ? interior(value)
               : name == "exterior" ? exterior(value)
               : name == "jump"     ? jump(value)
                                    : average(value);
      };
      return values[0].is_scalar ? apply(values[0].scalar()) : apply(values[0].vector);
    }
    if (name == "norm") {
      need(1);
      return Value(norm(values[0].vector));
    }
    if (name == "dot" || name == "cross") {
      need(2);
      for (const Value& value : values) {
        if (value.is_scalar) {
          fail("dg.parse_flux.not_a_vector",
               fmt::format("'{}' takes vectors, but got '{}'", name, to_string(value.scalar())));
        }
      }
      return name == "dot" ? Value(dot(values[0].vector, values[1].vector))
                           : Value(cross(values[0].vector, values[1].vector));
    }
    if (name == "if_positive") {
      need(3);
      const FluxExpr condition = scalar(values[0], "a condition");
      return combine(values[1], values[2], [&](const auto& then_value, const auto& else_value) {
        return if_positive(condition, then_value, else_value);
      });
    }
    return std::nullopt;
  }

  template <class Operation>
  Value combine(const Value& left, const Value& right, Operation&& operation) {
    if (left.is_scalar != right.is_scalar) {
      not_a_scalar(fmt::format("a vector combined with the scalar '{}'",
                               to_string((left.is_scalar ? left : right).scalar())),
                   left.is_scalar ? right : left);
    }
    return left.is_scalar ? Value(operation(left.scalar(), right.scalar()))
                          : Value(operation(left.vector, right.vector));
  }

  const FluxExpr& scalar(const Value& value, const std::string& what) const {
    if (!value.is_scalar) {
      not_a_scalar(what + " that is a vector", value);
    }
    return value.scalar();
  }

  [[noreturn]] void not_a_scalar(const std::string& what, const Value& value) const {
    fail("dg.parse_flux.not_a_scalar",
         fmt::format("there is {}: '{}'", what, to_string(value.vector)));
  }

  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Counts how deep signs, parentheses and calls are nested while it lives.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser(parser) {
      if (++parser.depth_ > deepest_nesting) {
        parser.fail("dg.parse_flux.syntax", "the expression is nested too deeply");
      }
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Parser& parser;
  };

  std::string_view text_;
  const FluxNames& names_;
  std::size_t place_ = 0;
  int depth_ = 0;
  std::map<std::string, Value> defined_;
  std::set<std::string> undeclared_;  // names that are parameters because they are not declared
};

}  // namespace

FluxVector parse_flux(std::string_view text, const FluxNames& names) {
  return Parser(text, names).read();
}

}  // namespace rtcg::dg
