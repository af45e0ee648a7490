#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {
namespace {

Type array_type(Type element, const std::vector<Expr>& extents) {
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    element = array_of(std::move(element), *extent);
  }
  return element;
}

bool is_one(const Expr& expr) {
  const auto* literal = get_if<IntLiteral>(expr);
  return literal != nullptr && literal->magnitude == 1 && !literal->is_negative;
}

}  // namespace

Expr BlockBuilder::add_constant(const Type& type, std::string name, const Operand& value) {
  return add(declare(const_(type), std::move(name), value));
}

Expr BlockBuilder::add_array(const Type& element, std::string name, int count, SourceOrigin where) {
  return add(declare(array_of(element, Expr(count)), std::move(name), where));
}

Statement Body::as_block(const Statement& statement) {
  if (const auto* group = get_if<Group>(statement)) {
    return Statement(Block{group->statements}, statement.where());
  }
  return is<Block>(statement) ? statement : Statement(Block{{statement}}, statement.where());
}

IfBuilder::IfBuilder(Operand condition, const Body& then_body, bool is_constexpr)
    : branches_{{std::move(condition), then_body.block(), is_constexpr}} {}

IfBuilder IfBuilder::else_if_(Operand condition, const Body& then_body) const {
  IfBuilder longer = *this;
  longer.branches_.push_back({std::move(condition), then_body.block(), false});
  return longer;
}

IfBuilder IfBuilder::else_if_constexpr(Operand condition, const Body& then_body) const {
  IfBuilder longer = *this;
  longer.branches_.push_back({std::move(condition), then_body.block(), true});
  return longer;
}

Statement IfBuilder::else_(const Body& else_body) const {
  return finish(else_body.block());
}

Statement IfBuilder::finish(std::optional<Statement> else_body) const {
  for (auto branch = branches_.rbegin(); branch != branches_.rend(); ++branch) {
    else_body = Statement(
        If{branch->condition.expr, branch->body, std::move(else_body), branch->is_constexpr},
        branch->condition.where);
  }
  return *else_body;
}

TryBuilder TryBuilder::catch_(Parameter exception, const Body& body) const {
  TryBuilder longer = *this;
  longer.handlers_.push_back({std::move(exception), body.block()});
  return longer;
}

TryBuilder TryBuilder::catch_all(const Body& body) const {
  TryBuilder longer = *this;
  longer.handlers_.push_back({std::nullopt, body.block()});
  return longer;
}

SwitchBuilder SwitchBuilder::case_(std::vector<Expr> labels, const Body& body) const {
  SwitchBuilder longer = *this;
  longer.cases_.push_back({std::move(labels), get_if<Block>(body.block())->statements});
  return longer;
}

SwitchBuilder SwitchBuilder::default_(const Body& body) const {
  SwitchBuilder longer = *this;
  longer.cases_.push_back({{}, get_if<Block>(body.block())->statements, true});
  return longer;
}

Statement counted_loop(const Type& type, const std::string& name, const Operand& begin,
                       const Operand& end, const Body& body, const ForOptions& options) {
  const SourceOrigin where = begin.where;
  const Expr counter(Variable{name, type}, where);
  const Expr step = is_one(options.step)
                        ? Expr(Unary{UnaryOp::pre_increment, counter}, where)
                        : Expr(AssignExpr{BinaryOp::add, counter, options.step}, where);
  return Statement(For{Statement(Declaration{type, name, begin.expr}, where),
                       Expr(Binary{BinaryOp::less, counter, end.expr}, where), step, body.block(),
                       options.unroll},
                   where);
}

Statement range_for(Statement variable, const Operand& range, const Body& body) {
  return Statement(RangeFor{range.expr, std::move(variable), body.block()}, range.where);
}

Statement while_(Operand condition, const Body& body) {
  return Statement(While{condition.expr, body.block()}, condition.where);
}

Statement do_while_(const Body& body, Operand condition) {
  return Statement(DoWhile{body.block(), condition.expr}, condition.where);
}

Declared declare(Declaration declaration, SourceOrigin where) {
  Expr name(Variable{declaration.name, declaration.type}, where);
  return {std::move(name), Statement(std::move(declaration), where)};
}

Declared declare(Type type, std::string name, SourceOrigin where) {
  return declare(Declaration{std::move(type), std::move(name)}, where);
}

Declared declare(Type type, std::string name, Operand initializer) {
  // the type of what follows is that of the initialiser
  Type name_type = is<Auto>(type) ? value_type(initializer.expr.type()) : type;
  return {Expr(Variable{name, std::move(name_type)}, initializer.where),
          Statement(Declaration{std::move(type), std::move(name), std::move(initializer.expr)},
                    initializer.where)};
}

Statement bind_elements(std::vector<std::string> names, Operand initializer, Type type) {
  return Statement(
      StructuredBinding{std::move(type), std::move(names), std::move(initializer.expr)},
      initializer.where);
}

Declared shared_array(const Type& element, std::string name, const std::vector<Expr>& extents,
                      SourceOrigin where) {
  Declaration declaration{array_type(element, extents), std::move(name)};
  declaration.memory = MemorySpace::shared;
  return declare(std::move(declaration), where);
}

Declared dynamic_shared_array(Type element, std::string name, SourceOrigin where) {
  Declaration declaration{array_of(std::move(element)), std::move(name)};
  declaration.memory = MemorySpace::dynamic_shared;
  return declare(std::move(declaration), where);
}

Declared constant_array(const Type& element, std::string name, const std::vector<Expr>& extents,
                        SourceOrigin where) {
  Declaration declaration{array_type(element, extents), std::move(name)};
  declaration.memory = MemorySpace::constant;
  return declare(std::move(declaration), where);
}

Declared function(Function function, SourceOrigin where) {
  Expr name(Variable{function.name, type_of(function)}, where);
  return {std::move(name), Statement(std::move(function), where)};
}

Declared function(Type result, std::string name, std::vector<Parameter> parameters,
                  const Body& body, const FunctionSpecifiers& specifiers, SourceOrigin where) {
  return function(
      Function{std::move(result), std::move(name), std::move(parameters), body.block(), specifiers},
      where);
}

Declared declare_function(Type result, std::string name, std::vector<Parameter> parameters,
                          const FunctionSpecifiers& specifiers, SourceOrigin where) {
  return function(
      Function{std::move(result), std::move(name), std::move(parameters), {}, specifiers}, where);
}

Declared kernel(std::string name, std::vector<Parameter> parameters, const Body& body,
                const LaunchBounds& bounds, SourceOrigin where) {
  Function definition{void_type, std::move(name), std::move(parameters), body.block()};
  definition.specifiers.is_kernel = true;
  definition.specifiers.is_extern_c = true;
  if (bounds.max_threads > 0) {
    definition.launch_bounds = bounds;
  }
  return function(std::move(definition), where);
}

Declared kernel(std::string name, std::vector<Parameter> parameters, const Body& body,
                SourceOrigin where) {
  return kernel(std::move(name), std::move(parameters), body, LaunchBounds{}, where);
}

}  // namespace rtcg::cgen
