#include "rtcg/loopy/create/describe.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/create/kernel_parts.h"
#include "rtcg/loopy/create/parse_arguments.h"
#include "rtcg/loopy/create/parse_special.h"
#include "rtcg/loopy/create/raw_code.h"
#include "rtcg/loopy/create/statement_scopes.h"
#include "rtcg/loopy/kernel/parse_domain.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::describe {

enum class DeclarationKind { iname, parameter, array, temporary, rule };

struct Declaration {
  DeclarationKind kind{};
  std::string name{};
  SourceOrigin where{};
  Argument argument{};
  Temporary temporary{};
  SubstitutionRule rule{};
  Mentions mentions{};  // of shapes, strides, values and the body
};

struct StatementTree {
  enum class Kind { single, block, loop, branches };
  struct Branch {
    std::optional<Expr> condition{};
    std::vector<Statement> statements{};
  };
  Kind kind = Kind::single;
  ParsedStatement statement{};  // of kind single
  Mentions mentions{};
  SourceOrigin where{};
  std::vector<std::function<void(ParsedStatement&)>> options{};
  NameSet inames{};                // of kind loop
  std::vector<Branch> branches{};  // one, but for kind branches
};

namespace {

std::string message_at(const SourceOrigin& where, const std::string& message) {
  return where.file == nullptr ? message : fmt::format("{}: {}", place_of(where), message);
}

[[noreturn]] void fail(const char* code, const SourceOrigin& where, const std::string& message) {
  throw InvalidInput(code, message_at(where, message));
}

/// What `body` gives; its errors get the place.
template <class Body>
auto located(const SourceOrigin& where, const Body& body) {
  try {
    return body();
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), message_at(where, error.message()));
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), message_at(where, error.message()));
  }
}

Mentions joined(const Mentions& left, const Mentions& right) {
  if (left == nullptr || right == nullptr || left == right) {
    return left == nullptr ? right : left;
  }
  std::vector<DeclarationPointer> all = *left;
  for (const DeclarationPointer& each : *right) {
    if (std::find(left->begin(), left->end(), each) == left->end()) {
      all.push_back(each);
    }
  }
  return all.size() == left->size() ? left
                                    : std::make_shared<const std::vector<DeclarationPointer>>(all);
}

Mentions mention_of(DeclarationPointer declaration) {
  return std::make_shared<const std::vector<DeclarationPointer>>(1, std::move(declaration));
}

Mentions mentions_of(const std::vector<Value>& values, Mentions all = nullptr) {
  for (const Value& each : values) {
    all = joined(all, each.mentions());
  }
  return all;
}

std::vector<Expr> exprs_of(const std::vector<Value>& values) {
  std::vector<Expr> exprs;
  exprs.reserve(values.size());
  for (const Value& each : values) {
    exprs.push_back(each.expr());
  }
  return exprs;
}

DeclarationPointer declared(Declaration declaration) {
  if (!is_identifier(declaration.name)) {
    fail("loopy.describe.name", declaration.where,
         fmt::format("'{}' is not a name: letters, digits and underscores, the first no digit",
                     declaration.name));
  }
  return std::make_shared<const Declaration>(std::move(declaration));
}

Value scalar(Declaration declaration) {
  Expr expr = Name{declaration.name};
  return {std::move(expr), mention_of(declared(std::move(declaration)))};
}

bool same_meaning(const Declaration& left, const Declaration& right) {
  const auto same_type = [](const std::optional<Type>& l, const std::optional<Type>& r) {
    return l.has_value() == r.has_value() && (!l || l->hash() == r->hash());
  };
  const Argument& a = left.argument;
  const Argument& b = right.argument;
  const Temporary& s = left.temporary;
  const Temporary& t = right.temporary;
  return left.kind == right.kind && same_type(a.type, b.type) && a.shape == b.shape &&
         a.strides_elements == b.strides_elements && a.offset_elements == b.offset_elements &&
         a.address_space == b.address_space && same_type(s.type, t.type) && s.shape == t.shape &&
         s.address_space == t.address_space && s.initial_values == t.initial_values &&
         left.rule.parameters == right.rule.parameters && left.rule.body == right.rule.body &&
         left.rule.neutral == right.rule.neutral;
}

std::string_view spelling_of(DeclarationKind kind) {
  constexpr std::string_view words[] = {"an iname", "a parameter", "an array", "a temporary",
                                        "a rule"};
  return words[static_cast<int>(kind)];
}

/// Whether the user said more of an argument than its name.
bool is_stated(const Declaration& declaration) {
  const Argument& argument = declaration.argument;
  return argument.type || !argument.shape.empty() || argument.address_space != AddressSpace::global;
}

Value binary(const Value& left, const Value& right,
             Expr (*combine)(const Expr& left, const Expr& right)) {
  return {combine(left.expr(), right.expr()), joined(left.mentions(), right.mentions())};
}

Condition compared(ComparisonOp op, const Value& left, const Value& right) {
  return {Comparison{op, left.expr(), right.expr()}, joined(left.mentions(), right.mentions())};
}

Value bitwise(BitOp op, const Value& left, const Value& right) {
  return {Bitwise{op, left.expr(), right.expr()}, joined(left.mentions(), right.mentions())};
}

/// `a and b and c` is one node, as in text.
Condition logical(LogicalOp op, const Value& left, const Value& right) {
  const Logical* first = get_if<Logical>(left.expr());
  Logical result{op, {}};
  if (first != nullptr && first->op == op) {
    result.operands = first->operands;
  } else {
    result.operands = {left.expr()};
  }
  result.operands.push_back(right.expr());
  return {std::move(result), joined(left.mentions(), right.mentions())};
}

Statement single(InstructionKinds::Variant kind, Mentions mentions, SourceOrigin where) {
  StatementTree tree;
  tree.statement.instruction.kind = std::move(kind);
  tree.mentions = std::move(mentions);
  tree.where = where;
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Statement assignment(const Value& target, const Value& value, SourceOrigin where) {
  return single(Assignment{{target.expr()}, value.expr()},
                joined(target.mentions(), value.mentions()), where);
}

/// The target is not a copy of itself: `t += 1` reads the element, not an Element.
Value read(const Value& target) {
  return {target.expr(), target.mentions()};
}

void refuse_division_by_zero(const Expr& expr, const SourceOrigin& where) {
  const auto check = [&](const Expr& part, const Expr& denominator) {
    if (as_integer(denominator) == 0) {
      fail("loopy.describe.division_by_zero", where,
           fmt::format("division by zero in '{}'", to_string(part)));
    }
  };
  walk(expr, [&](const Expr& part) {
    if (const Quotient* quotient = get_if<Quotient>(part)) {
      check(part, quotient->denominator);
    } else if (const FloorDiv* division = get_if<FloorDiv>(part)) {
      check(part, division->denominator);
    } else if (const Modulo* remainder = get_if<Modulo>(part)) {
      check(part, remainder->denominator);
    }
    return true;
  });
}

/// What names stand for, in the order of their first use.
class Names {
 public:
  void add(const Mentions& mentions, const SourceOrigin& where) {
    if (mentions != nullptr) {
      for (const DeclarationPointer& each : *mentions) {
        add(each, where);
      }
    }
  }
  void add(const DeclarationPointer& declaration, const SourceOrigin& where) {
    const auto [known, is_new] = by_name_.emplace(declaration->name, declaration);
    if (is_new) {
      all_.push_back(declaration);
      add(declaration->mentions, where);
    } else if (known->second != declaration && !same_meaning(*known->second, *declaration)) {
      const SourceOrigin& first = known->second->where;
      fail("loopy.describe.two_meanings", where,
           fmt::format("'{}' is {} here and {} {}: give one of them another name, or describe it "
                       "once",
                       declaration->name, spelling_of(declaration->kind),
                       spelling_of(known->second->kind),
                       first.file == nullptr ? "elsewhere" : "at " + place_of(first)));
    }
  }
  [[nodiscard]] const Declaration* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
  }
  [[nodiscard]] const std::vector<DeclarationPointer>& all() const { return all_; }

 private:
  std::map<std::string, DeclarationPointer, std::less<>> by_name_;
  std::vector<DeclarationPointer> all_;
};

}  // namespace

// ---- values

Expr Value::too_large() {
  fail("loopy.describe.literal", {}, "an integer above 2^63 - 1: constants have 64 bits, signed");
}

Value operator+(const Value& left, const Value& right) {
  return binary(left, right, loopy::operator+);
}
Value operator-(const Value& left, const Value& right) {
  return binary(left, right, loopy::operator-);
}
Value operator-(const Value& operand) {
  return {-operand.expr(), operand.mentions()};
}
Value operator*(const Value& left, const Value& right) {
  return binary(left, right, loopy::operator*);
}
Value operator/(const Value& left, const Value& right) {
  return binary(left, right, loopy::operator/);
}
Value operator%(const Value& left, const Value& right) {
  return binary(left, right, loopy::modulo);
}
Value floor_div(const Value& numerator, const Value& denominator) {
  return binary(numerator, denominator, loopy::floor_div);
}
Value power(const Value& base, const Value& exponent) {
  return binary(base, exponent, loopy::power);
}
Value operator&(const Value& left, const Value& right) {
  return bitwise(BitOp::and_, left, right);
}
Value operator|(const Value& left, const Value& right) {
  return bitwise(BitOp::or_, left, right);
}
Value operator^(const Value& left, const Value& right) {
  return bitwise(BitOp::xor_, left, right);
}
Value operator<<(const Value& left, const Value& right) {
  return bitwise(BitOp::shift_left, left, right);
}
Value operator>>(const Value& left, const Value& right) {
  return bitwise(BitOp::shift_right, left, right);
}
Condition operator<(const Value& left, const Value& right) {
  return compared(ComparisonOp::less, left, right);
}
Condition operator<=(const Value& left, const Value& right) {
  return compared(ComparisonOp::less_equal, left, right);
}
Condition operator>(const Value& left, const Value& right) {
  return compared(ComparisonOp::greater, left, right);
}
Condition operator>=(const Value& left, const Value& right) {
  return compared(ComparisonOp::greater_equal, left, right);
}
Condition operator==(const Value& left, const Value& right) {
  return compared(ComparisonOp::equal, left, right);
}
Condition operator!=(const Value& left, const Value& right) {
  return compared(ComparisonOp::not_equal, left, right);
}
Condition operator&&(const Value& left, const Value& right) {
  return logical(LogicalOp::and_, left, right);
}
Condition operator||(const Value& left, const Value& right) {
  return logical(LogicalOp::or_, left, right);
}
Condition operator!(const Value& operand) {
  return {Not{operand.expr()}, operand.mentions()};
}

Value select(const Value& condition, const Value& then_value, const Value& else_value) {
  return {Conditional{condition.expr(), then_value.expr(), else_value.expr()},
          mentions_of({condition, then_value, else_value})};
}
Value cast(const Type& type, const Value& operand) {
  return {Cast{type, operand.expr()}, operand.mentions()};
}
Value literal(cgen::ScalarKind kind, double number) {
  return Expr(
      Real{kind == cgen::ScalarKind::f32 ? static_cast<double>(static_cast<float>(number)) : number,
           kind});
}
Value imaginary(const Value& number) {
  return call("make_complex", 0, number);
}
Value call_of(std::string function, const std::vector<Value>& arguments) {
  return {Call{std::move(function), exprs_of(arguments)}, mentions_of(arguments)};
}
Value abs(const Value& x) {
  return call("abs", x);
}
Value sqrt(const Value& x) {
  return call("sqrt", x);
}
Value exp(const Value& x) {
  return call("exp", x);
}
Value log(const Value& x) {
  return call("log", x);
}
Value sin(const Value& x) {
  return call("sin", x);
}
Value cos(const Value& x) {
  return call("cos", x);
}
Value min(const Value& a, const Value& b) {
  return call("min", a, b);
}
Value max(const Value& a, const Value& b) {
  return call("max", a, b);
}

// ---- handles

Iname::Iname(const std::string& name, SourceOrigin where)
    : Value(scalar({.kind = DeclarationKind::iname, .name = name, .where = where})) {}
Iname::operator std::string_view() const {
  return mentions()->front()->name;
}

Param::Param(const std::string& name, std::optional<Type> type, SourceOrigin where)
    : Value(scalar({.kind = DeclarationKind::parameter,
                    .name = name,
                    .where = where,
                    .argument = {.name = name, .type = std::move(type)}})) {}
Param::operator std::string_view() const {
  return mentions()->front()->name;
}

Indexed::operator std::string_view() const {
  return declaration_->name;
}

Value Indexed::element(std::vector<Value> indices, SourceOrigin where) const {
  const std::vector<Expr>& shape = declaration_->kind == DeclarationKind::array
                                       ? declaration_->argument.shape
                                       : declaration_->temporary.shape;
  if (!shape.empty() && shape.size() != indices.size()) {
    fail("loopy.describe.index_count", where,
         fmt::format("'{}' has {} {}, found {} {}", declaration_->name, shape.size(),
                     shape.size() == 1 ? "axis" : "axes", indices.size(),
                     indices.size() == 1 ? "index" : "indices"));
  }
  return {Access{declaration_->name + tag_, exprs_of(indices)},
          mentions_of(indices, mention_of(declaration_))};
}

Element Indexed::linear(const Value& index) const {
  return {Value(LinearAccess{declaration_->name, index.expr()},
                joined(mention_of(declaration_), index.mentions())),
          SourceOrigin{}};
}

Array::Array(const std::string& name, std::optional<Type> type, const std::vector<Value>& shape,
             SourceOrigin where)
    : Indexed(declared({.kind = DeclarationKind::array,
                        .name = name,
                        .where = where,
                        .argument = {.name = name,
                                     .type = std::move(type),
                                     .is_array = !shape.empty(),
                                     .shape = exprs_of(shape),
                                     .is_shape_stated = !shape.empty()},
                        .mentions = mentions_of(shape)})) {}

Array Array::order(Order order) const {
  Declaration copy = *declaration_;
  copy.argument.strides_elements =
      order == Order::fortran ? fortran_order_strides(copy.argument.shape) : std::vector<Expr>{};
  return Array(declared(std::move(copy)), tag_);
}

Array Array::strides(const std::vector<Value>& strides_elements, SourceOrigin where) const {
  Declaration copy = *declaration_;
  if (strides_elements.size() != copy.argument.shape.size()) {
    fail("loopy.describe.index_count", where,
         fmt::format("'{}' has {} stated axes, but {} strides", copy.name,
                     copy.argument.shape.size(), strides_elements.size()));
  }
  copy.argument.strides_elements = exprs_of(strides_elements);
  copy.mentions = mentions_of(strides_elements, copy.mentions);
  return Array(declared(std::move(copy)), tag_);
}

Array Array::offset(const Value& elements) const {
  Declaration copy = *declaration_;
  copy.argument.offset_elements = elements.expr();
  copy.mentions = joined(copy.mentions, elements.mentions());
  return Array(declared(std::move(copy)), tag_);
}

Array Array::in(AddressSpace space) const {
  Declaration copy = *declaration_;
  copy.argument.address_space = space;
  return Array(declared(std::move(copy)), tag_);
}

Array Array::tagged(const std::string& tag) const {
  return Array(declaration_, "$" + tag);
}

Temp::Temp(const DeclarationPointer& declaration)
    : Value(Expr(Name{declaration->name}), mention_of(declaration)), Indexed(declaration) {}

Temp::Temp(const std::string& name, std::optional<Type> type, const std::vector<Value>& shape,
           SourceOrigin where)
    : Temp(declared({.kind = DeclarationKind::temporary,
                     .name = name,
                     .where = where,
                     .temporary = {.name = name, .type = std::move(type), .shape = exprs_of(shape)},
                     .mentions = mentions_of(shape)})) {}

Temp Temp::table(const std::vector<Value>& values, SourceOrigin where) const {
  Declaration copy = declaration();
  std::size_t count = 1;
  for (const Expr& length : copy.temporary.shape) {
    count *= static_cast<std::size_t>(std::max<std::int64_t>(0, as_integer(length).value_or(0)));
  }
  if (copy.temporary.shape.empty() || count == 0 || count != values.size()) {
    fail("loopy.describe.table", where,
         fmt::format("table '{}' takes a shape of constants and one value for each element, found "
                     "{} values",
                     copy.name, values.size()));
  }
  copy.temporary.initial_values = exprs_of(values);
  copy.mentions = mentions_of(values, copy.mentions);
  return Temp(declared(std::move(copy)));
}

Temp Temp::in(AddressSpace space) const {
  Declaration copy = declaration();
  copy.temporary.address_space = space;
  return Temp(declared(std::move(copy)));
}

Statement Temp::operator=(const Value& value) const {
  return assignment(*this, value, {});
}
Statement Temp::operator=(const Temp& value) const {
  return assignment(*this, value, {});
}
Statement Temp::operator+=(const Value& value) const {
  return *this = read(*this) + value;
}
Statement Temp::operator-=(const Value& value) const {
  return *this = read(*this) - value;
}
Statement Temp::operator*=(const Value& value) const {
  return *this = read(*this) * value;
}
Statement Temp::operator/=(const Value& value) const {
  return *this = read(*this) / value;
}

Statement Element::operator=(const Value& value) const {
  return assignment(*this, value, where_);
}
Statement Element::operator=(const Element& value) const {
  return assignment(*this, value, where_);
}
Statement Element::operator+=(const Value& value) const {
  return *this = read(*this) + value;
}
Statement Element::operator-=(const Value& value) const {
  return *this = read(*this) - value;
}
Statement Element::operator*=(const Value& value) const {
  return *this = read(*this) * value;
}
Statement Element::operator/=(const Value& value) const {
  return *this = read(*this) / value;
}

Rule::Rule(const std::string& name, const std::vector<Param>& parameters, const Value& body,
           SourceOrigin where) {
  Declaration declaration{.kind = DeclarationKind::rule, .name = name, .where = where};
  declaration.rule.name = name;
  declaration.rule.body = body.expr();
  for (const Param& each : parameters) {
    declaration.rule.parameters.emplace_back(std::string_view(each));
  }
  std::vector<DeclarationPointer> others;
  if (body.mentions() != nullptr) {
    const auto& own = declaration.rule.parameters;
    std::copy_if(body.mentions()->begin(), body.mentions()->end(), std::back_inserter(others),
                 [&](const DeclarationPointer& each) {
                   return std::find(own.begin(), own.end(), each->name) == own.end();
                 });
  }
  declaration.mentions = std::make_shared<const std::vector<DeclarationPointer>>(others);
  declaration_ = declared(std::move(declaration));
}

Rule Rule::neutral(const std::vector<Value>& values) const {
  Declaration copy = *declaration_;
  copy.rule.neutral = exprs_of(values);
  return {declared(std::move(copy)), tag_};
}

Rule Rule::tagged(const std::string& tag) const {
  return {declaration_, "$" + tag};
}

Value Rule::call_with(const std::vector<Value>& arguments) const {
  if (arguments.empty()) {
    return {Name{declaration_->name + tag_}, mention_of(declaration_)};
  }
  return {Call{declaration_->name + tag_, exprs_of(arguments)},
          mentions_of(arguments, mention_of(declaration_))};
}

// ---- reductions

Operation::Operation(const Rule& rule)
    : name_(rule.declaration_->name + rule.tag_), mentions_(mention_of(rule.declaration_)) {}

Value reduce_over(const Operation& operation, const Over& over, const std::vector<Value>& operands,
                  const SourceOrigin& where) {
  const bool is_tuple = operation.name() == "argmin" || operation.name() == "argmax";
  const bool is_rule = operation.mentions() != nullptr;
  if (!is_rule && !is_known_operation(operation.name())) {
    fail("loopy.describe.operands", where,
         fmt::format("'{}' is not an operation of reductions: there are {}; others are rules",
                     operation.name(), fmt::join(known_operations, ", ")));
  }
  if (operands.empty() || (!is_rule && operands.size() != (is_tuple ? 2U : 1U))) {
    fail("loopy.describe.operands", where,
         fmt::format("{} over inames takes {}, found {}", operation.name(),
                     is_tuple ? "a value and its place" : "one value", operands.size()));
  }
  Reduction reduction{operation.name(), {}, exprs_of(operands)};
  Mentions mentions = mentions_of(operands, operation.mentions());
  for (const Iname& each : over.inames()) {
    reduction.inames.emplace_back(std::string_view(each));
    mentions = joined(mentions, each.mentions());
  }
  return {std::move(reduction), mentions};
}

Value sum(const Over& over, const Value& operand) {
  return reduce("sum", over, operand);
}
Value sum(const Type& type, const Over& over, const Value& operand) {
  return sum(over, cast(type, operand));
}
Value product(const Over& over, const Value& operand) {
  return reduce("product", over, operand);
}
Value any(const Over& over, const Value& operand) {
  return reduce("any", over, operand);
}
Value all(const Over& over, const Value& operand) {
  return reduce("all", over, operand);
}
Value argmin(const Over& over, const Value& operand, const Value& place) {
  return reduce_over("argmin", over, {operand, place}, {});
}
Value argmax(const Over& over, const Value& operand, const Value& place) {
  return reduce_over("argmax", over, {operand, place}, {});
}
Value scan(const Value& reduction, SourceOrigin where) {
  const Reduction* scanned = get_if<Reduction>(reduction.expr());
  if (scanned == nullptr) {
    fail("loopy.describe.scan", where,
         fmt::format("a scan takes a reduction such as sum(j, a(j)), found '{}'",
                     to_string(reduction.expr())));
  }
  return {loopy::scan(*scanned), reduction.mentions()};
}

// ---- statements

namespace {

Statement with_option(const StatementTree& tree, std::function<void(ParsedStatement&)> option,
                      const Mentions& mentions = nullptr) {
  StatementTree copy = tree;
  copy.options.push_back(std::move(option));
  copy.mentions = joined(copy.mentions, mentions);
  return Statement(std::make_shared<const StatementTree>(std::move(copy)));
}

void make_atomic(ParsedStatement& statement, const std::string& how) {
  try {
    statement.instruction = with_manner(std::move(statement.instruction), "atomic", how);
  } catch (const InvalidInput& error) {
    fail("loopy.describe.option", statement.origin, error.message());
  }
}

StatementTree group(StatementTree::Kind kind, const std::vector<Statement>& statements,
                    const SourceOrigin& where) {
  StatementTree tree;
  tree.kind = kind;
  tree.where = where;
  tree.branches.push_back({std::nullopt, statements});
  return tree;
}

}  // namespace

Statement Statement::id(const std::string& name) const {
  return with_option(*tree_,
                     [name](ParsedStatement& statement) { statement.instruction.id = name; });
}
Statement Statement::id_prefix(const std::string& name) const {
  return with_option(*tree_, [name](ParsedStatement& statement) { statement.id_prefix = name; });
}
Statement Statement::depends_on_matches(const std::string& query) const {
  return with_option(*tree_, [query](ParsedStatement& statement) {
    statement.dependency_queries.push_back(query);
  });
}
Statement Statement::duplicate(const Iname& iname, const std::string& copy) const {
  return with_option(
      *tree_, [name = std::string(std::string_view(iname)), copy](ParsedStatement& statement) {
        statement.duplicated.emplace_back(name, copy);
      });
}
Statement Statement::when(const Value& condition) const {
  return with_option(
      *tree_,
      [expr = condition.expr()](ParsedStatement& statement) {
        statement.instruction.predicates.push_back(expr);
      },
      condition.mentions());
}
Statement Statement::atomic() const {
  return with_option(*tree_, [](ParsedStatement& statement) { make_atomic(statement, ""); });
}
Statement Statement::atomic_init() const {
  return with_option(*tree_, [](ParsedStatement& statement) { make_atomic(statement, "init"); });
}
Statement Statement::as_function() const {
  return with_option(*tree_, [](ParsedStatement& statement) { statement.is_function = true; });
}

Statement Statement::with_names(Option option, std::vector<std::string> names) const {
  return with_option(*tree_, [option, names = std::move(names)](ParsedStatement& statement) {
    const auto add_to = [&](NameSet& set) { set.insert(names.begin(), names.end()); };
    switch (option) {
      case Option::depends:
        statement.dependency_patterns.insert(statement.dependency_patterns.end(), names.begin(),
                                             names.end());
        break;
      case Option::within:
        add_to(statement.stated_inames ? *statement.stated_inames
                                       : statement.stated_inames.emplace());
        break;
      case Option::also_within:
        add_to(statement.additional_inames);
        break;
      case Option::tags:
        add_to(statement.instruction.tags);
        break;
      case Option::reads:
      case Option::writes: {
        const RawCode* raw = get_if<RawCode>(statement.instruction);
        if (raw == nullptr) {
          fail("loopy.describe.option", statement.origin,
               "reads() and writes() are for C text: what other statements touch is seen");
        }
        RawCode copy = *raw;
        add_to(option == Option::reads ? copy.reads : copy.writes);
        statement.instruction.kind = std::move(copy);
        break;
      }
    }
  });
}

Statement assign(const std::vector<Value>& targets, const Value& value, SourceOrigin where) {
  const Reduction* scanned = as_scan(value.expr());
  const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(value.expr());
  const bool gives_several =
      reduction != nullptr ? reduction->operands.size() == targets.size() : is<Call>(value.expr());
  if (targets.empty() || (targets.size() > 1 && !gives_several)) {
    fail("loopy.describe.targets", where,
         fmt::format("{} targets take a reduction that gives as many values, such as "
                     "argmax(i, a(i), i), or a call",
                     targets.size()));
  }
  for (const Value& each : targets) {
    if (!is<Name>(each.expr()) && !is<Access>(each.expr()) && !is<LinearAccess>(each.expr())) {
      fail("loopy.describe.targets", where,
           fmt::format("'{}' is not what a statement can assign to: a temporary or an element",
                       to_string(each.expr())));
    }
  }
  return single(Assignment{exprs_of(targets), value.expr()},
                joined(mentions_of(targets), value.mentions()), where);
}

Statement block(const std::vector<Statement>& statements, SourceOrigin where) {
  return Statement(
      std::make_shared<const StatementTree>(group(StatementTree::Kind::block, statements, where)));
}

Statement loop(const Over& inames, const std::vector<Statement>& statements, SourceOrigin where) {
  StatementTree tree = group(StatementTree::Kind::loop, statements, where);
  for (const Iname& each : inames.inames()) {
    tree.inames.emplace(std::string_view(each));
    tree.mentions = joined(tree.mentions, each.mentions());
  }
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Branches when(const Value& condition, const std::vector<Statement>& statements,
              SourceOrigin where) {
  StatementTree tree = group(StatementTree::Kind::branches, statements, where);
  tree.branches.front().condition = condition.expr();
  tree.mentions = condition.mentions();
  return Branches(std::make_shared<const StatementTree>(std::move(tree)));
}

Branches Branches::otherwise_if(const Value& condition,
                                const std::vector<Statement>& statements) const {
  StatementTree copy = tree();
  copy.branches.push_back({condition.expr(), statements});
  copy.mentions = joined(copy.mentions, condition.mentions());
  return Branches(std::make_shared<const StatementTree>(std::move(copy)));
}

Branches Branches::otherwise(const std::vector<Statement>& statements, SourceOrigin where) const {
  StatementTree copy = tree();
  if (!copy.branches.back().condition) {
    fail("loopy.describe.branches", where, "these branches have their 'otherwise' already");
  }
  copy.branches.push_back({std::nullopt, statements});
  return Branches(std::make_shared<const StatementTree>(std::move(copy)));
}

Statement local_barrier(SourceOrigin where) {
  return single(BarrierInstruction{BarrierScope::local}, nullptr, where);
}
Statement global_barrier(SourceOrigin where) {
  return single(BarrierInstruction{BarrierScope::global}, nullptr, where);
}
Statement no_operation(SourceOrigin where) {
  return single(NoOperation{}, nullptr, where);
}

Statement c_text(const std::string& text, const std::vector<Value>& parts, SourceOrigin where) {
  RawCode raw{.text = text};
  for (const Value& part : parts) {
    if (!reduction_inames(part.expr()).empty()) {
      fail("loopy.describe.c_text", where,
           "C text cannot have a reduction in it: assign it to a temporary first");
    }
    raw.parts.push_back({part.expr()});
  }
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 1)) {
    const std::size_t end = text.find('}', at);
    const std::string number = text.substr(at + 2, end == std::string::npos ? end : end - at - 2);
    const bool is_number = !number.empty() && number.size() < 6 &&
                           number.find_first_not_of("0123456789") == std::string::npos;
    if (end == std::string::npos || !is_number || std::stoul(number) >= parts.size()) {
      fail("loopy.describe.c_text", where,
           fmt::format("'${{{}' in C text stands for no part: there are {}, '${{0}}' is the first",
                       number, parts.size()));
    }
  }
  return single(std::move(raw), mentions_of(parts), where);
}

Statement inline_call(const std::string& callee,
                      const std::vector<std::pair<std::string, Value>>& bindings,
                      SourceOrigin where) {
  StatementTree tree;
  tree.statement.instruction.kind = NoOperation{};
  tree.statement.callee = callee;
  tree.where = where;
  for (const auto& [name, value] : bindings) {
    tree.statement.bindings.emplace_back(name, to_string(value.expr()));
    tree.mentions = joined(tree.mentions, value.mentions());
  }
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Value axis(int axis) {
  return Expr(Name{fmt::format("_{}", axis)});
}

// ---- kernels

struct Description::Parts {
  struct Added {
    std::optional<Statement> statement{};
    SourceOrigin where{};
  };
  struct Bound {
    Mentions mentions{};
    SourceOrigin where{};
  };
  SourceOrigin where{};
  KernelParts kernel{};  // all but statements and arguments
  std::vector<Bound> bounds{};
  std::vector<Listed> listed{};
  std::vector<DeclarationPointer> rules{};
  std::vector<Added> statements{};
  std::vector<Kernel> callees{};

  [[nodiscard]] bool has_iname(const std::string& name) const {
    return std::any_of(kernel.domains.begin(), kernel.domains.end(), [&](const Domain& domain) {
      return std::find(domain.inames.begin(), domain.inames.end(), name) != domain.inames.end();
    });
  }
  void add_domain(std::vector<std::string> inames, const Value& condition, SourceOrigin origin) {
    refuse_division_by_zero(condition.expr(), origin);
    kernel.domains.push_back(
        {std::move(inames), located(origin, [&] { return to_constraints(condition.expr()); })});
    bounds.push_back({condition.mentions(), origin});
  }
};

namespace {

/// From what was described to what make_kernel takes.
class PartsMaker {
 public:
  PartsMaker(Names& names, const std::function<bool(const std::string&)>& has_iname)
      : names_(names), has_iname_(has_iname) {}

  void add(const Statement& statement, const SourceOrigin& where) { put(statement.tree(), where); }

  /// Statements, temporaries and rules, those of `rules` first.
  ParsedStatements take(const std::vector<DeclarationPointer>& rules) {
    ParsedStatements parsed;
    parsed.statements = scopes_.take();
    for (const DeclarationPointer& each : rules) {
      parsed.rules.push_back(each->rule);
    }
    for (const DeclarationPointer& each : names_.all()) {
      const Temporary& temporary = each->temporary;
      if (each->kind == DeclarationKind::rule &&
          std::find(rules.begin(), rules.end(), each) == rules.end()) {
        parsed.rules.push_back(each->rule);
      } else if (each->kind == DeclarationKind::temporary && !temporary.shape.empty()) {
        parsed.temporaries.push_back(temporary);
      } else if (each->kind == DeclarationKind::temporary && declared_.count(each->name) == 0) {
        fail("loopy.describe.unassigned", each->where,
             fmt::format("temporary '{}' is used, but no statement assigns to it", each->name));
      }
    }
    return parsed;
  }

 private:
  void put(const StatementTree& tree, const SourceOrigin& outer) {
    const SourceOrigin where = tree.where.file == nullptr ? outer : tree.where;
    names_.add(tree.mentions, where);
    refuse_unbound_inames(tree.mentions, where);
    if (tree.kind == StatementTree::Kind::single) {
      put_single(tree, where);
      return;
    }
    scopes_.open({.keyword = "with", .options = [&tree](ParsedStatement& statement) {
                    for (const auto& option : tree.options) {
                      option(statement);
                    }
                  }});
    if (tree.kind == StatementTree::Kind::loop) {
      scopes_.open({.keyword = "for", .inames = tree.inames});
    } else if (tree.kind == StatementTree::Kind::branches) {
      scopes_.open({.keyword = "if", .origin = where, .conditions = {*tree.branches[0].condition}});
    }
    for (std::size_t i = 0; i < tree.branches.size(); ++i) {
      if (i > 0) {
        scopes_.next_branch(tree.branches[i].condition);
      }
      for (const Statement& each : tree.branches[i].statements) {
        put(each.tree(), where);
      }
    }
    if (tree.kind != StatementTree::Kind::block) {
      scopes_.close();
    }
    scopes_.close();
  }

  void put_single(const StatementTree& tree, const SourceOrigin& where) {
    ParsedStatement statement = tree.statement;
    statement.origin = where;
    statement.line = ++count_;
    statement = scopes_.within_scopes(std::move(statement));
    for (const auto& option : tree.options) {
      option(statement);
    }
    if (const RawCode* raw = get_if<RawCode>(statement.instruction)) {
      statement.instruction.kind = with_known_places(*raw);
    }
    for_each_expression(statement.instruction,
                        [&](const Expr& expr) { refuse_division_by_zero(expr, where); });
    NameSet written = written_variables(statement.instruction);
    if (!statement.callee.empty() && tree.mentions != nullptr) {
      for (const DeclarationPointer& each : *tree.mentions) {
        written.insert(each->name);
      }
    }
    declare(written, statement);
    scopes_.add(std::move(statement));
  }

  /// The first statement that assigns to a temporary without a stated shape declares it.
  void declare(const NameSet& written, ParsedStatement& statement) {
    const auto add = [&](const std::string& name) {
      const Declaration* declaration = names_.find(name);
      if (declaration != nullptr && declaration->kind == DeclarationKind::temporary &&
          declaration->temporary.shape.empty() && declared_.insert(name).second) {
        statement.declared.push_back(declaration->temporary);
      }
    };
    for (const Expr& target : targets_of(statement.instruction)) {
      add(target_name(target));
    }
    for (const std::string& name : written) {
      add(name);
    }
  }

  void refuse_unbound_inames(const Mentions& mentions, const SourceOrigin& where) const {
    if (mentions == nullptr) {
      return;
    }
    for (const DeclarationPointer& each : *mentions) {
      if (each->kind == DeclarationKind::iname && !has_iname_(each->name)) {
        fail("loopy.describe.unbound_iname", where,
             fmt::format("no domain bounds iname '{}': add .domain(0 <= {} && ...)", each->name,
                         each->name));
      }
      refuse_unbound_inames(each->mentions, where);
    }
  }

  Names& names_;
  const std::function<bool(const std::string&)>& has_iname_;
  StatementScopes scopes_{[this](NameGenerator& names) {
    for (const DeclarationPointer& each : names_.all()) {
      names.reserve(each->name);
    }
  }};
  NameSet declared_;
  std::size_t count_ = 0;
};

}  // namespace

Description::Description(std::string name, SourceOrigin where) : parts_(new Parts) {
  parts_->where = where;
  parts_->kernel.name = std::move(name);
}
Description::~Description() = default;
Description::Description(const Description& other) : parts_(new Parts(*other.parts_)) {}

Description& Description::domain(const Value& condition, SourceOrigin where) {
  std::vector<std::string> inames;
  if (condition.mentions() != nullptr) {
    for (const DeclarationPointer& each : *condition.mentions()) {
      if (each->kind == DeclarationKind::iname && !parts_->has_iname(each->name)) {
        inames.push_back(each->name);
      }
    }
  }
  if (inames.empty()) {
    fail("loopy.describe.no_iname", where,
         fmt::format("'{}' bounds no iname that an earlier domain has not: facts about parameters "
                     "are for assume()",
                     to_string(condition.expr())));
  }
  parts_->add_domain(std::move(inames), condition, where);
  return *this;
}

Description& Description::domain(const Over& inames, const Value& condition, SourceOrigin where) {
  std::vector<std::string> names;
  for (const Iname& each : inames.inames()) {
    const std::string name(std::string_view{each});
    if (parts_->has_iname(name) || std::find(names.begin(), names.end(), name) != names.end()) {
      fail("loopy.parse_domain.duplicate_iname", where,
           fmt::format("iname '{}' belongs to two domains: give one of them another name", name));
    }
    names.push_back(name);
  }
  parts_->add_domain(std::move(names), condition, where);
  return *this;
}

Description& Description::arguments(const std::vector<Listed>& arguments) {
  parts_->listed.insert(parts_->listed.end(), arguments.begin(), arguments.end());
  return *this;
}

Description& Description::type(const Type& type) {
  parts_->kernel.default_type = type;
  return *this;
}

Description& Description::assume(const Value& condition, SourceOrigin where) {
  refuse_division_by_zero(condition.expr(), where);
  parts_->kernel.assumptions.add(located(where, [&] { return to_constraints(condition.expr()); }));
  parts_->bounds.push_back({condition.mentions(), where});
  return *this;
}

Description& Description::fix(const Param& parameter, std::int64_t value) {
  parts_->kernel.fixed_parameters[std::string(std::string_view(parameter))] = value;
  return *this;
}

Description& Description::sequential() {
  parts_->kernel.sequential_dependencies = true;
  return *this;
}

Description& Description::callee(Kernel kernel) {
  parts_->callees.push_back(std::move(kernel));
  return *this;
}

Description& Description::add(const Statement& statement, SourceOrigin where) {
  parts_->statements.push_back({statement, where});
  return *this;
}

Description& Description::add(const Rule& rule) {
  parts_->rules.push_back(rule.declaration_);
  return *this;
}

Kernel Description::make() const {
  Names names;
  for (const Parts::Bound& each : parts_->bounds) {
    names.add(each.mentions, each.where);
  }
  KernelParts kernel = parts_->kernel;
  for (const Listed& each : parts_->listed) {
    names.add(each.declaration(), parts_->where);
    kernel.arguments.push_back(each.declaration()->argument);
  }
  for (const DeclarationPointer& each : parts_->rules) {
    names.add(each, parts_->where);
  }
  const std::function<bool(const std::string&)> has_iname = [this](const std::string& name) {
    return parts_->has_iname(name);
  };
  PartsMaker maker(names, has_iname);
  for (const Parts::Added& each : parts_->statements) {
    maker.add(*each.statement, each.where);
  }
  kernel.statements = maker.take(parts_->rules);
  for (const DeclarationPointer& each : names.all()) {
    const bool is_listed =
        std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                    [&](const Argument& argument) { return argument.name == each->name; });
    const bool is_argument =
        each->kind == DeclarationKind::array || each->kind == DeclarationKind::parameter;
    if (is_argument && !is_listed && is_stated(*each)) {
      kernel.arguments.push_back(each->argument);
    }
  }
  NameSet places;
  for (const ParsedStatement& each : kernel.statements.statements) {
    places.insert(place_of(each));
  }
  // errors about a statement have its place
  const auto placed = [&](const std::string& message) {
    const bool has_place = places.count(message.substr(0, message.find(": "))) != 0;
    return has_place ? message : message_at(parts_->where, message);
  };
  try {
    return make_kernel_of_parts(std::move(kernel), parts_->callees);
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), placed(error.message()));
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), placed(error.message()));
  }
}

}  // namespace rtcg::loopy::describe
