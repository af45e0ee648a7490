#include "rtcg/dg/flux/flux_expr.h"

#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::dg {
namespace {

FluxExpr leaf(FluxKind kind, std::string name, int index = 0) {
  return FluxExpr(std::make_shared<const FluxNode>(FluxNode{kind, 0, index, std::move(name), {}}));
}

FluxExpr with_operands(const FluxExpr& expr, std::vector<FluxExpr> operands) {
  FluxNode node = expr.node();
  node.operands = std::move(operands);
  return FluxExpr(std::make_shared<const FluxNode>(std::move(node)));
}

// How tightly an expression binds as text: sum, product, sign, all others.
int precedence(const FluxExpr& expr) {
  switch (expr.kind()) {
    case FluxKind::add:
    case FluxKind::subtract:
      return 1;
    case FluxKind::multiply:
    case FluxKind::divide:
      return 2;
    case FluxKind::negate:
      return 3;
    case FluxKind::constant:
      return expr.node().value < 0 ? 3 : 4;
    default:
      return 4;
  }
}

std::string text_at(const FluxExpr& expr, int least_precedence) {
  const std::string text = to_string(expr);
  return precedence(expr) < least_precedence ? "(" + text + ")" : text;
}

std::string call_text(std::string_view function, const std::vector<FluxExpr>& operands) {
  std::string text = std::string(function) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) {
    text += (i == 0 ? "" : ", ") + to_string(operands[i]);
  }
  return text + ")";
}

std::string_view function_name(FluxKind kind) {
  switch (kind) {
    case FluxKind::interior:
      return "interior";
    case FluxKind::exterior:
      return "exterior";
    case FluxKind::jump:
      return "jump";
    case FluxKind::average:
      return "average";
    case FluxKind::minimum:
      return "min";
    case FluxKind::maximum:
      return "max";
    case FluxKind::absolute:
      return "abs";
    case FluxKind::square_root:
      return "sqrt";
    case FluxKind::power:
      return "pow";
    case FluxKind::if_positive:
      return "if_positive";
    default:
      return "";
  }
}

}  // namespace

std::shared_ptr<const FluxNode> FluxExpr::constant_node(double value) {
  return std::make_shared<const FluxNode>(FluxNode{FluxKind::constant, value, 0, {}, {}});
}

namespace detail {

FluxExpr make_flux(FluxKind kind, std::vector<FluxExpr> operands) {
  return FluxExpr(std::make_shared<const FluxNode>(FluxNode{kind, 0, 0, {}, std::move(operands)}));
}

FluxExpr normal_component(int axis) {
  return leaf(FluxKind::normal, fmt::format("n[{}]", axis), axis);
}

bool is_two_sided(FluxKind kind) {
  return kind == FluxKind::field || kind == FluxKind::material ||
         kind == FluxKind::element_jacobian;
}

namespace {

FluxExpr flip_afresh(const FluxExpr& flux, Flipped& flipped) {
  std::vector<FluxExpr> operands;
  operands.reserve(flux.operands().size());
  for (const FluxExpr& operand : flux.operands()) {
    operands.push_back(flip(operand, flipped));
  }
  switch (flux.kind()) {
    case FluxKind::normal:
      return -flux;
    case FluxKind::interior:
      return exterior(operands[0]);
    case FluxKind::exterior:
      return interior(operands[0]);
    case FluxKind::jump:
      return -jump(operands[0]);
    default:
      return operands.empty() ? flux : with_operands(flux, std::move(operands));
  }
}

}  // namespace

FluxExpr flip(const FluxExpr& flux, Flipped& flipped) {
  const auto known = flipped.find(&flux.node());
  if (known != flipped.end()) {
    return known->second;
  }
  FluxExpr result = flip_afresh(flux, flipped);
  flipped.emplace(&flux.node(), result);
  return result;
}

}  // namespace detail

using detail::make_flux;

FluxExpr field(int index, std::string name) {
  return leaf(FluxKind::field, std::move(name), index);
}
FluxExpr material(std::string name) {
  return leaf(FluxKind::material, std::move(name));
}
FluxExpr parameter(std::string name) {
  return leaf(FluxKind::parameter, std::move(name));
}
FluxExpr boundary_value(std::string name, int index) {
  return leaf(FluxKind::boundary_value, std::move(name), index);
}
FluxExpr coordinate(int axis) {
  return leaf(FluxKind::coordinate, fmt::format("x[{}]", axis), axis);
}
FluxExpr order() {
  return leaf(FluxKind::order, "order");
}
FluxExpr mesh_size() {
  return leaf(FluxKind::mesh_size, "mesh_size");
}
FluxExpr face_jacobian() {
  return leaf(FluxKind::face_jacobian, "face_jacobian");
}
FluxExpr element_jacobian() {
  return leaf(FluxKind::element_jacobian, "element_jacobian");
}
FluxExpr penalty(double power) {
  return pow(order() * order() / mesh_size(), power);
}

FluxExpr interior(const FluxExpr& value) {
  return make_flux(FluxKind::interior, {value});
}
FluxExpr exterior(const FluxExpr& value) {
  return make_flux(FluxKind::exterior, {value});
}
FluxExpr jump(const FluxExpr& value) {
  return make_flux(FluxKind::jump, {value});
}
FluxExpr average(const FluxExpr& value) {
  return make_flux(FluxKind::average, {value});
}

FluxExpr operator+(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::add, {left, right});
}
FluxExpr operator-(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::subtract, {left, right});
}
FluxExpr operator*(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::multiply, {left, right});
}
FluxExpr operator/(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::divide, {left, right});
}
FluxExpr operator-(const FluxExpr& value) {
  return make_flux(FluxKind::negate, {value});
}
FluxExpr min(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::minimum, {left, right});
}
FluxExpr max(const FluxExpr& left, const FluxExpr& right) {
  return make_flux(FluxKind::maximum, {left, right});
}
FluxExpr abs(const FluxExpr& value) {
  return make_flux(FluxKind::absolute, {value});
}
FluxExpr sqrt(const FluxExpr& value) {
  return make_flux(FluxKind::square_root, {value});
}
FluxExpr pow(const FluxExpr& base, const FluxExpr& exponent) {
  return make_flux(FluxKind::power, {base, exponent});
}
FluxExpr if_positive(const FluxExpr& condition, const FluxExpr& then_value,
                     const FluxExpr& else_value) {
  return make_flux(FluxKind::if_positive, {condition, then_value, else_value});
}

FluxExpr user_function(std::string name, std::vector<FluxExpr> arguments) {
  if (!is_identifier(name)) {
    throw InvalidInput("dg.user_function.bad_name",
                       fmt::format("a flux calls a function '{}': write letters, digits and "
                                   "underscores, no digit first",
                                   name));
  }
  return FluxExpr(std::make_shared<const FluxNode>(
      FluxNode{FluxKind::user_function, 0, 0, std::move(name), std::move(arguments)}));
}

FluxExpr flip(const FluxExpr& flux) {
  detail::Flipped flipped;
  return detail::flip(flux, flipped);
}

std::string to_string(const FluxExpr& expr) {
  const std::vector<FluxExpr>& operands = expr.operands();
  switch (expr.kind()) {
    case FluxKind::constant:
      return fmt::format("{}", expr.node().value);
    case FluxKind::boundary_value:
      return fmt::format("{}[{}]", expr.node().name, expr.node().index);
    case FluxKind::negate:
      return "-" + text_at(operands[0], 3);
    case FluxKind::add:
      return text_at(operands[0], 1) + " + " + text_at(operands[1], 2);
    case FluxKind::subtract:
      return text_at(operands[0], 1) + " - " + text_at(operands[1], 2);
    case FluxKind::multiply:
      return text_at(operands[0], 2) + "*" + text_at(operands[1], 3);
    case FluxKind::divide:
      return text_at(operands[0], 2) + "/" + text_at(operands[1], 3);
    case FluxKind::user_function:
      return call_text(expr.node().name, operands);
    default:
      return operands.empty() ? expr.node().name : call_text(function_name(expr.kind()), operands);
  }
}

}  // namespace rtcg::dg
