#include "rtcg/cgen/ast/expr.h"

#include <cmath>

#include "rtcg/cgen/ast/expr_operators.h"

namespace rtcg::cgen {

Expr Expr::operator[](Operand index) const {
  return Expr(Subscript{*this, std::move(index.expr)}, index.where);
}

Expr Expr::member(std::string name, SourceOrigin origin) const {
  return Expr(Member{*this, std::move(name)}, origin);
}

bool is_lvalue(const Expr& expr) {
  const bool is_reference = is<Reference>(without_qualifiers(expr.type()));
  return match(
      expr, [](const Variable& v) { return !is<FunctionType>(value_type(v.type)); },
      [](const Subscript&) { return true; },
      [](const Member& member) {
        return is<Pointer>(decayed(member.object.type())) || is_opaque(member.object.type()) ||
               is_lvalue(member.object);
      },
      [](const Unary& unary) {
        return unary.op == UnaryOp::dereference || unary.op == UnaryOp::pre_increment ||
               unary.op == UnaryOp::pre_decrement;
      },
      [](const AssignExpr&) { return true; }, [](const StringLiteral&) { return true; },
      [](const CompoundLiteral&) { return true; }, [](const RawExpr&) { return true; },
      [](const Conditional& c) { return is_lvalue(c.then_value) && is_lvalue(c.else_value); },
      [&](const Call&) { return is_reference || is_opaque(expr.type()); },
      [&](const Cast&) { return is_reference; }, [](const auto&) { return false; });
}

std::string_view spelling(BinaryOp op) {
  static constexpr std::string_view spellings[] = {
      "+", "-",  "*", "/",  "%",  "<<", ">>", "&",  "|", "^",
      "<", "<=", ">", ">=", "==", "!=", "&&", "||", ","};
  return spellings[static_cast<int>(op)];
}

std::string_view spelling(UnaryOp op) {
  static constexpr std::string_view spellings[] = {"+", "-",  "~",  "!",  "*",
                                                   "&", "++", "--", "++", "--"};
  return spellings[static_cast<int>(op)];
}

Expr call(std::string name, std::vector<Expr> arguments, Type result, SourceOrigin where) {
  Type type = FunctionType{std::move(result), {}, true};
  return Expr(Call{Expr(Variable{std::move(name), std::move(type)}, where), std::move(arguments)},
              where);
}

Expr literal(double number, const Type& type, SourceOrigin where) {
  const std::optional<ScalarKind> kind = scalar_kind(type);
  if (kind == ScalarKind::f32) {
    return Expr(FloatLiteral{static_cast<double>(static_cast<float>(number)), type}, where);
  }
  if (!kind || is_floating(*kind)) {
    return Expr(FloatLiteral{number, type}, where);
  }
  if (kind == ScalarKind::bool_) {
    return Expr(BoolLiteral{number != 0}, where);
  }
  // check_types refuses magnitudes that the type cannot hold
  const double magnitude = std::min(std::trunc(std::fabs(number)), 18446744073709549568.0);
  return Expr(IntLiteral{static_cast<std::uint64_t>(magnitude), number < 0, type}, where);
}

Expr integer_literal(std::uint64_t magnitude, bool is_negative, const Type& type,
                     SourceOrigin where) {
  const std::optional<ScalarKind> kind = scalar_kind(type);
  if (kind && *kind != ScalarKind::bool_ && !is_floating(*kind)) {
    return Expr(IntLiteral{magnitude, is_negative, type}, where);
  }
  const auto number = static_cast<double>(magnitude);
  return literal(is_negative ? -number : number, type, where);
}

}  // namespace rtcg::cgen
