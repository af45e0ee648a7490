#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

// Scalars of the flux language: what a flux evaluator computes at one point of one face.
//
// A field, a material or an element's Jacobian has a value on both sides of the face. An expression
// over them is written once, without a side; `interior`, `exterior`, `jump` and `average` then say
// which side is meant:
//
//   FluxExpr pressure = 0.4 * (energy - 0.5 * dot(momentum, momentum) / density);
//   FluxExpr central = average(pressure);

namespace rtcg::dg {

enum class FluxKind {
  constant,
  field,             ///< a component of the state; two-sided
  material,          ///< a number for each element, by name; two-sided
  element_jacobian,  ///< volume of the element over that of the reference element; two-sided
  normal,            ///< a component of the normal that points out of the interior side
  parameter,         ///< a number given at run time, by name
  boundary_value,    ///< a component of boundary data, by name
  coordinate,        ///< a component of the point
  order,             ///< the polynomial order of the elements
  mesh_size,         ///< the larger of both sides' volume over face Jacobian
  face_jacobian,     ///< area of the face over that of the reference face
  interior,
  exterior,
  jump,     ///< interior - exterior
  average,  ///< (interior + exterior) / 2
  negate,
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  absolute,
  square_root,
  power,
  if_positive,    ///< the second operand if the first is > 0, otherwise the third
  user_function,  ///< a function known by name
};

struct FluxNode;

/// A scalar of the flux language: an immutable tree, cheap to copy.
class FluxExpr {
 public:
  /// Zero.
  FluxExpr() : FluxExpr(0) {}
  /// A constant.
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> FluxExpr(Number value)
      : FluxExpr(constant_node(static_cast<double>(value))) {}
  explicit FluxExpr(std::shared_ptr<const FluxNode> node) : node_(std::move(node)) {}

  [[nodiscard]] const FluxNode& node() const noexcept { return *node_; }
  [[nodiscard]] FluxKind kind() const noexcept;
  [[nodiscard]] const std::vector<FluxExpr>& operands() const noexcept;

 private:
  static std::shared_ptr<const FluxNode> constant_node(double value);
  std::shared_ptr<const FluxNode> node_;
};

struct FluxNode {
  FluxKind kind = FluxKind::constant;
  double value = 0;    ///< of a constant
  int index = 0;       ///< of a field, or a component or axis
  std::string name{};  ///< as it prints
  std::vector<FluxExpr> operands{};
};

inline FluxKind FluxExpr::kind() const noexcept {
  return node_->kind;
}
inline const std::vector<FluxExpr>& FluxExpr::operands() const noexcept {
  return node_->operands;
}

/// Component `index` of the state; `name` is its name in messages and generated code.
[[nodiscard]] FluxExpr field(int index, std::string name);
/// A number that each element has, such as a permittivity.
[[nodiscard]] FluxExpr material(std::string name);
/// A number that the caller gives at run time.
[[nodiscard]] FluxExpr parameter(std::string name);
/// Component `index` of the data that boundary condition `name` takes at each face node.
[[nodiscard]] FluxExpr boundary_value(std::string name, int index = 0);
[[nodiscard]] FluxExpr coordinate(int axis);
[[nodiscard]] FluxExpr order();
[[nodiscard]] FluxExpr mesh_size();
[[nodiscard]] FluxExpr face_jacobian();
[[nodiscard]] FluxExpr element_jacobian();
/// `pow(order^2 / mesh_size, power)`. For interior-penalty fluxes use `(order() + 1)` instead:
/// order^2 is not enough at order 1.
[[nodiscard]] FluxExpr penalty(double power = 1);

/// The interior side's value of a two-sided expression; an expression without sides is unchanged.
[[nodiscard]] FluxExpr interior(const FluxExpr& value);
[[nodiscard]] FluxExpr exterior(const FluxExpr& value);
/// `interior(value) - exterior(value)`.
[[nodiscard]] FluxExpr jump(const FluxExpr& value);
/// `0.5 * (interior(value) + exterior(value))`.
[[nodiscard]] FluxExpr average(const FluxExpr& value);

[[nodiscard]] FluxExpr operator+(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr operator-(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr operator*(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr operator/(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr operator-(const FluxExpr& value);

[[nodiscard]] FluxExpr min(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr max(const FluxExpr& left, const FluxExpr& right);
[[nodiscard]] FluxExpr abs(const FluxExpr& value);
[[nodiscard]] FluxExpr sqrt(const FluxExpr& value);
[[nodiscard]] FluxExpr pow(const FluxExpr& base, const FluxExpr& exponent);
/// `then_value` if `condition` > 0, otherwise `else_value`.
[[nodiscard]] FluxExpr if_positive(const FluxExpr& condition, const FluxExpr& then_value,
                                   const FluxExpr& else_value);
/// A call of a function that the caller defines: as text for generated code (EmitOptions), as
/// C++ for the interpreter (FluxInputs).
///
/// @throws InvalidInput  dg.user_function.bad_name: `name` is not an identifier
[[nodiscard]] FluxExpr user_function(std::string name, std::vector<FluxExpr> arguments);

/// The same flux as the neighbour across the face sees it: sides swapped, normal negated.
[[nodiscard]] FluxExpr flip(const FluxExpr& flux);

/// The text of an expression, as parse_flux reads it: `0.5*(n[1]*jump(h[2]) - n[2]*jump(h[1]))`.
[[nodiscard]] std::string to_string(const FluxExpr& expr);

namespace detail {
[[nodiscard]] FluxExpr make_flux(FluxKind kind, std::vector<FluxExpr> operands);
/// A component of the normal.
[[nodiscard]] FluxExpr normal_component(int axis);
/// Expressions flipped already: parts that several share stay shared.
using Flipped = std::unordered_map<const FluxNode*, FluxExpr>;
[[nodiscard]] FluxExpr flip(const FluxExpr& flux, Flipped& flipped);
/// Leaves with a value on each side of a face.
[[nodiscard]] bool is_two_sided(FluxKind kind);
}  // namespace detail

}  // namespace rtcg::dg
