#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/expr.h"

// C's operators on expressions. The node made knows the line of the operator. `==` and `!=` are
// not among them, they compare trees: write `equal(a, b)` and `not_equal(a, b)`.

namespace rtcg::cgen {

namespace detail {
inline Expr binary(BinaryOp op, Operand left, Operand right) {
  return Expr(Binary{op, std::move(left.expr), std::move(right.expr)}, left.where);
}
inline Expr unary(UnaryOp op, const Expr& operand, SourceOrigin where) {
  return Expr(Unary{op, operand}, where);
}
}  // namespace detail

inline Expr operator+(Operand l, Operand r) {
  return detail::binary(BinaryOp::add, l, r);
}
inline Expr operator-(Operand l, Operand r) {
  return detail::binary(BinaryOp::subtract, l, r);
}
inline Expr operator*(Operand l, Operand r) {
  return detail::binary(BinaryOp::multiply, l, r);
}
inline Expr operator/(Operand l, Operand r) {
  return detail::binary(BinaryOp::divide, l, r);
}
inline Expr operator%(Operand l, Operand r) {
  return detail::binary(BinaryOp::remainder, l, r);
}
inline Expr operator<<(Operand l, Operand r) {
  return detail::binary(BinaryOp::shift_left, l, r);
}
inline Expr operator>>(Operand l, Operand r) {
  return detail::binary(BinaryOp::shift_right, l, r);
}
inline Expr operator&(Operand l, Operand r) {
  return detail::binary(BinaryOp::bit_and, l, r);
}
inline Expr operator|(Operand l, Operand r) {
  return detail::binary(BinaryOp::bit_or, l, r);
}
inline Expr operator^(Operand l, Operand r) {
  return detail::binary(BinaryOp::bit_xor, l, r);
}
inline Expr operator<(Operand l, Operand r) {
  return detail::binary(BinaryOp::less, l, r);
}
inline Expr operator<=(Operand l, Operand r) {
  return detail::binary(BinaryOp::less_equal, l, r);
}
inline Expr operator>(Operand l, Operand r) {
  return detail::binary(BinaryOp::greater, l, r);
}
inline Expr operator>=(Operand l, Operand r) {
  return detail::binary(BinaryOp::greater_equal, l, r);
}
// Both operands are always built: this makes a tree, it does not evaluate.
inline Expr operator&&(Operand l, Operand r) {
  return detail::binary(BinaryOp::logical_and, l, r);
}
inline Expr operator||(Operand l, Operand r) {
  return detail::binary(BinaryOp::logical_or, l, r);
}
inline Expr operator+(Operand e) {
  return detail::unary(UnaryOp::plus, e.expr, e.where);
}
inline Expr operator-(Operand e) {
  return detail::unary(UnaryOp::negate, e.expr, e.where);
}
inline Expr operator~(Operand e) {
  return detail::unary(UnaryOp::bit_not, e.expr, e.where);
}
inline Expr operator!(Operand e) {
  return detail::unary(UnaryOp::logical_not, e.expr, e.where);
}

/// `left == right` in C.
[[nodiscard]] inline Expr equal(Operand left, Operand right) {
  return detail::binary(BinaryOp::equal, left, right);
}
/// `left != right` in C.
[[nodiscard]] inline Expr not_equal(Operand left, Operand right) {
  return detail::binary(BinaryOp::not_equal, left, right);
}
/// `left, right`.
[[nodiscard]] inline Expr comma(Operand left, Operand right) {
  return detail::binary(BinaryOp::comma, left, right);
}
/// `*pointer`.
[[nodiscard]] inline Expr deref(Operand pointer) {
  return detail::unary(UnaryOp::dereference, pointer.expr, pointer.where);
}
[[nodiscard]] inline Expr address_of(Operand object) {
  return detail::unary(UnaryOp::address_of, object.expr, object.where);
}
/// `++object`.
[[nodiscard]] inline Expr increment(Operand object) {
  return detail::unary(UnaryOp::pre_increment, object.expr, object.where);
}
/// `--object`.
[[nodiscard]] inline Expr decrement(Operand object) {
  return detail::unary(UnaryOp::pre_decrement, object.expr, object.where);
}
/// `object++`.
[[nodiscard]] inline Expr post_increment(Operand object) {
  return detail::unary(UnaryOp::post_increment, object.expr, object.where);
}
/// `object--`.
[[nodiscard]] inline Expr post_decrement(Operand object) {
  return detail::unary(UnaryOp::post_decrement, object.expr, object.where);
}

/// `target = value`.
[[nodiscard]] inline Expr assign(Operand target, Operand value) {
  return Expr(AssignExpr{{}, target.expr, value.expr}, target.where);
}
/// `target op= value`.
[[nodiscard]] inline Expr compound_assign(BinaryOp op, Operand target, Operand value) {
  return Expr(AssignExpr{op, target.expr, value.expr}, target.where);
}
[[nodiscard]] inline Expr add_assign(Operand target, Operand value) {
  return compound_assign(BinaryOp::add, target, value);
}
[[nodiscard]] inline Expr subtract_assign(Operand target, Operand value) {
  return compound_assign(BinaryOp::subtract, target, value);
}
[[nodiscard]] inline Expr multiply_assign(Operand target, Operand value) {
  return compound_assign(BinaryOp::multiply, target, value);
}
[[nodiscard]] inline Expr divide_assign(Operand target, Operand value) {
  return compound_assign(BinaryOp::divide, target, value);
}

/// `condition ? then_value : else_value`.
[[nodiscard]] inline Expr select(Operand condition, Operand then_value, Operand else_value) {
  return Expr(Conditional{condition.expr, then_value.expr, else_value.expr}, condition.where);
}
[[nodiscard]] inline Expr cast(Type type, Operand operand, CastStyle style = CastStyle::c_style) {
  return Expr(Cast{std::move(type), operand.expr, style}, operand.where);
}
[[nodiscard]] inline Expr call(Operand callee, std::vector<Expr> arguments = {},
                               std::vector<TemplateArgument> template_arguments = {}) {
  return Expr(Call{callee.expr, std::move(arguments), std::move(template_arguments)}, callee.where);
}
/// A call of a function known by name only; the result is of type `result`, the arguments are not
/// checked.
[[nodiscard]] Expr call(std::string name, std::vector<Expr> arguments, Type result,
                        SourceOrigin where = SourceOrigin::current());
[[nodiscard]] inline Expr call(Intrinsic intrinsic, std::vector<Expr> arguments,
                               SourceOrigin where = SourceOrigin::current()) {
  return Expr(IntrinsicCall{intrinsic, std::move(arguments), {}}, where);
}
/// `make_float4(a, b, c, d)`, `(float4)(a, b, c, d)`: one argument a lane.
[[nodiscard]] inline Expr make_vector(Type type, std::vector<Expr> lanes,
                                      SourceOrigin where = SourceOrigin::current()) {
  return Expr(IntrinsicCall{Intrinsic::make_vector, std::move(lanes), std::move(type)}, where);
}
/// What a texture has at a position: a coordinate for each dimension, then the number of a layer or
/// the level of a mipmap.
[[nodiscard]] inline Expr fetch(Operand texture, std::vector<Expr> coordinates) {
  coordinates.insert(coordinates.begin(), texture.expr);
  return Expr(IntrinsicCall{Intrinsic::fetch, std::move(coordinates), {}}, texture.where);
}
/// The texel of a surface of that index, which must be within it: an integer for each dimension,
/// then the number of a layer.
[[nodiscard]] inline Expr read_texel(Operand surface, std::vector<Expr> index) {
  index.insert(index.begin(), surface.expr);
  return Expr(IntrinsicCall{Intrinsic::read_texel, std::move(index), {}}, surface.where);
}
[[nodiscard]] inline Expr write_texel(Operand surface, Operand value, std::vector<Expr> index) {
  index.insert(index.begin(), {surface.expr, value.expr});
  return Expr(IntrinsicCall{Intrinsic::write_texel, std::move(index), {}}, surface.where);
}
[[nodiscard]] inline Expr bit_cast(Type type, Operand operand) {
  return Expr(IntrinsicCall{Intrinsic::bit_cast, {operand.expr}, std::move(type)}, operand.where);
}
/// `name` of type `type`: something declared elsewhere.
[[nodiscard]] inline Expr variable(std::string name, Type type,
                                   SourceOrigin where = SourceOrigin::current()) {
  return Expr(Variable{std::move(name), std::move(type)}, where);
}
[[nodiscard]] inline Expr literal(bool value, SourceOrigin where = SourceOrigin::current()) {
  return Expr(BoolLiteral{value}, where);
}
[[nodiscard]] inline Expr literal(char value, SourceOrigin where = SourceOrigin::current()) {
  return Expr(CharLiteral{value}, where);
}
[[nodiscard]] inline Expr literal(const char* text, SourceOrigin where = SourceOrigin::current()) {
  return Expr(StringLiteral{text}, where);
}
/// `number` as a literal of `type`, which must be a scalar: `literal(2, f32)` is `2.0f`. It
/// is rounded to a floating-point type and cut off for an integer one.
[[nodiscard]] Expr literal(double number, const Type& type,
                           SourceOrigin where = SourceOrigin::current());
/// An integer keeps all of its digits where `type` is one, too.
[[nodiscard]] Expr integer_literal(std::uint64_t magnitude, bool is_negative, const Type& type,
                                   SourceOrigin where);
template <std::integral Integer>
[[nodiscard]] Expr literal(Integer number, const Type& type,
                           SourceOrigin where = SourceOrigin::current()) {
  const auto bits = static_cast<std::uint64_t>(number);
  if constexpr (std::is_signed_v<Integer>) {
    return integer_literal(number < 0 ? 0 - bits : bits, number < 0, type, where);
  } else {
    return integer_literal(bits, false, type, where);
  }
}
/// `this`, a pointer to `object`, which may stay unknown.
[[nodiscard]] inline Expr this_(const Type& object = {},
                                SourceOrigin where = SourceOrigin::current()) {
  return Expr(This{is_opaque(object) && !is<Named>(object) ? Type() : pointer_to(object)}, where);
}
/// `new type(arguments)`.
[[nodiscard]] inline Expr new_(Type type, std::vector<Expr> arguments = {},
                               SourceOrigin where = SourceOrigin::current()) {
  return Expr(New{std::move(type), std::move(arguments), {}, false}, where);
}
/// `new element[extent]`: not initialised where `element` is a number.
[[nodiscard]] inline Expr new_array(Type element, Operand extent) {
  return Expr(New{array_of(std::move(element), extent.expr), {}, {}, false}, extent.where);
}
/// `delete pointer`.
[[nodiscard]] inline Expr delete_(Operand pointer) {
  return Expr(Delete{pointer.expr, false}, pointer.where);
}
/// `delete[] pointer`.
[[nodiscard]] inline Expr delete_array(Operand pointer) {
  return Expr(Delete{pointer.expr, true}, pointer.where);
}
/// `throw value`.
[[nodiscard]] inline Expr throw_(Operand value) {
  return Expr(Throw{value.expr}, value.where);
}
/// `throw`, in a handler.
[[nodiscard]] inline Expr rethrow(SourceOrigin where = SourceOrigin::current()) {
  return Expr(Throw{}, where);
}
/// `(... op pack)`, or `(initial op ... op pack)`.
[[nodiscard]] inline Expr fold_left(BinaryOp op, Operand pack, std::optional<Expr> initial = {}) {
  return Expr(Fold{op, pack.expr, std::move(initial), true}, pack.where);
}
/// `(pack op ...)`, or `(pack op ... op initial)`.
[[nodiscard]] inline Expr fold_right(BinaryOp op, Operand pack, std::optional<Expr> initial = {}) {
  return Expr(Fold{op, pack.expr, std::move(initial), false}, pack.where);
}
/// `pattern...`.
[[nodiscard]] inline Expr expand(Operand pattern) {
  return Expr(PackExpansion{pattern.expr}, pattern.where);
}
[[nodiscard]] inline Expr sizeof_(TemplateArgument operand,
                                  SourceOrigin where = SourceOrigin::current()) {
  return Expr(SizeOf{std::move(operand)}, where);
}

inline const Expr thread_idx_x = BuiltinIndex{BuiltinKind::thread_idx, 0};
inline const Expr thread_idx_y = BuiltinIndex{BuiltinKind::thread_idx, 1};
inline const Expr thread_idx_z = BuiltinIndex{BuiltinKind::thread_idx, 2};
inline const Expr block_idx_x = BuiltinIndex{BuiltinKind::block_idx, 0};
inline const Expr block_idx_y = BuiltinIndex{BuiltinKind::block_idx, 1};
inline const Expr block_idx_z = BuiltinIndex{BuiltinKind::block_idx, 2};
inline const Expr block_dim_x = BuiltinIndex{BuiltinKind::block_dim, 0};
inline const Expr block_dim_y = BuiltinIndex{BuiltinKind::block_dim, 1};
inline const Expr block_dim_z = BuiltinIndex{BuiltinKind::block_dim, 2};
inline const Expr grid_dim_x = BuiltinIndex{BuiltinKind::grid_dim, 0};
inline const Expr grid_dim_y = BuiltinIndex{BuiltinKind::grid_dim, 1};
inline const Expr grid_dim_z = BuiltinIndex{BuiltinKind::grid_dim, 2};

}  // namespace rtcg::cgen
