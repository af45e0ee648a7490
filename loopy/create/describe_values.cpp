// Values, handles and reductions of describe.h.
#include <fmt/format.h>

#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/create/declaration.h"
#include "rtcg/loopy/create/parse_arguments.h"
#include "rtcg/loopy/symbolic/in_order.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::loopy::describe {
namespace {

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

Array Array::may_be(const Array& other) const {
  Declaration copy = *declaration_;
  copy.argument.may_be.push_back(other.declaration_->name);
  return Array(declared(std::move(copy)), tag_);
}

StructArray::StructArray(const std::string& name, const cgen::LaidOutStruct& laid_out,
                         const std::vector<Value>& shape, SourceOrigin where)
    : name_(name) {
  if (shape.empty()) {
    fail("loopy.make_kernel.structs", where,
         fmt::format("'{}' is an array of structs: state its shape", name));
  }
  const Array whole(name, {}, shape, where);
  for (Argument& argument : field_arguments(whole.declaration_->argument, laid_out)) {
    Declaration field = *whole.declaration_;
    std::string path = argument.name.substr(name.size() + 1);
    field.name = argument.name = variable_of_field(argument.name);
    field.argument = std::move(argument);
    fields_.emplace_back(std::move(path), Array(declared(std::move(field)), {}));
  }
}

Array StructArray::operator[](std::string_view field) const {
  std::vector<std::string> known;
  for (const auto& [path, array] : fields_) {
    if (path == field) {
      return array;
    }
    known.push_back(path);
  }
  throw InvalidInput("loopy.make_kernel.fields",
                     fmt::format("'{}.{}' is no number of a struct: the numbers of '{}' are {}",
                                 name_, field, name_, fmt::join(known, ", ")));
}

Array Array::in(AddressSpace space) const {
  Declaration copy = *declaration_;
  copy.argument.address_space = space;
  return Array(declared(std::move(copy)), tag_);
}

Array Array::image(const ImageReads& reads) const {
  Declaration copy = *declaration_;
  copy.argument.address_space = AddressSpace::image;
  copy.argument.image_reads = reads;
  return Array(declared(std::move(copy)), tag_);
}

Value Array::sample(const std::vector<Value>& position) const {
  std::vector<Expr> arguments = exprs_of(position);
  arguments.insert(arguments.begin(), Name{declaration_->name});
  return {Call{sample_function, std::move(arguments)},
          mentions_of(position, mention_of(declaration_))};
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
  Reduction reduction{operation.name(), {}, exprs_of(operands)};
  reduction.order = take_order(reduction.operands);
  const std::size_t count = reduction.operands.size();
  if (count == 0 || (!is_rule && count != (is_tuple ? 2U : 1U))) {
    fail("loopy.describe.operands", where,
         fmt::format("{} over inames takes {}, found {}", operation.name(),
                     is_tuple ? "a value and its place" : "one value", count));
  }
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
Value in_order(const Over& over) {
  Call call{std::string(in_order_function), {}};
  Mentions mentions;
  for (const Iname& each : over.inames()) {
    call.arguments.emplace_back(Name{std::string(std::string_view(each))});
    mentions = joined(mentions, each.mentions());
  }
  return {std::move(call), mentions};
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

}  // namespace rtcg::loopy::describe
