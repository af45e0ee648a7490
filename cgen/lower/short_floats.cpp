#include "rtcg/cgen/lower/short_floats.h"

#include <optional>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/lower/lowering.h"

namespace rtcg::cgen {
namespace {

bool is_short(std::optional<ScalarKind> kind) {
  return kind == ScalarKind::f16 || kind == ScalarKind::bf16;
}

std::optional<ScalarKind> kind_of(const Expr& expr) {
  return scalar_kind(value_type(expr.type()));
}

/// The type of an operator on both.
Type common_float(ScalarKind left, ScalarKind right) {
  if (is_floating(left) && is_floating(right)) {
    return is_short(left) && is_short(right) ? f32 : Type(Scalar{is_short(left) ? right : left});
  }
  return Scalar{is_short(left) ? left : right};
}

/// Between f16 and bf16 by way of f32: no other conversion exists.
Expr as_float(const Expr& value, const Type& type) {
  const bool are_both_short = is_short(kind_of(value)) && is_short(scalar_kind(type));
  return converted(are_both_short ? converted(value, f32) : value, type);
}

/// Whether evaluating the expression once more changes nothing.
bool has_no_effects(const Expr& expr) {
  bool result = true;
  walk(expr, {.type = {},
              .expr =
                  [&](const Expr& part) {
                    const Unary* unary = get_if<Unary>(part);
                    const bool steps = unary != nullptr && (unary->op == UnaryOp::pre_increment ||
                                                            unary->op == UnaryOp::pre_decrement ||
                                                            unary->op == UnaryOp::post_increment ||
                                                            unary->op == UnaryOp::post_decrement);
                    result = result && !steps && !is<AssignExpr>(part) && !is<Call>(part) &&
                             !is<IntrinsicCall>(part) && !is<RawExpr>(part);
                    return result;
                  },
              .statement = {}});
  return result;
}

bool takes_numbers(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::subtract:
    case BinaryOp::multiply:
    case BinaryOp::divide:
    case BinaryOp::less:
    case BinaryOp::less_equal:
    case BinaryOp::greater:
    case BinaryOp::greater_equal:
    case BinaryOp::equal:
    case BinaryOp::not_equal:
      return true;
    default:
      return false;
  }
}

Expr assigned(const Expr& tree, const AssignExpr& node) {
  const ScalarKind target = *kind_of(node.target);
  const Type type = Scalar{target};
  if (!node.op) {
    const bool are_both_short = is_short(target) && is_short(kind_of(node.value));
    return are_both_short
               ? Expr(AssignExpr{node.op, node.target, as_float(node.value, type)}, tree.where())
               : tree;
  }
  const Type common = common_float(target, *kind_of(node.value));
  if (common == type || !has_no_effects(node.target)) {
    return Expr(AssignExpr{node.op, node.target, as_float(node.value, type)}, tree.where());
  }
  // in the wider type, as C has it, and rounded once
  const Expr value = Expr(
      Binary{*node.op, as_float(node.target, common), as_float(node.value, common)}, tree.where());
  return Expr(AssignExpr{std::nullopt, node.target, as_float(value, type)}, tree.where());
}

}  // namespace

bool mixes_short_floats(const Expr& left, const Expr& right) {
  const auto* plain_left = get_if<Scalar>(left.type());
  const auto* plain_right = get_if<Scalar>(right.type());
  if (plain_left != nullptr && plain_right != nullptr && plain_left->kind == plain_right->kind) {
    return false;  // nearly always
  }
  const auto left_kind = scalar_kind(left.type());
  const auto right_kind = scalar_kind(right.type());
  return (is_short(left_kind) || is_short(right_kind)) && left_kind && right_kind &&
         left_kind != right_kind;
}

Expr with_one_float_type(const Expr& tree) {
  return match(
      tree,
      [&](const Binary& e) {
        if (!takes_numbers(e.op) || !mixes_short_floats(e.left, e.right)) {
          return tree;
        }
        const Type common = common_float(*kind_of(e.left), *kind_of(e.right));
        return Expr(Binary{e.op, as_float(e.left, common), as_float(e.right, common)},
                    tree.where());
      },
      [&](const AssignExpr& e) {
        return mixes_short_floats(e.target, e.value) ? assigned(tree, e) : tree;
      },
      [&](const Conditional& e) {
        if (!mixes_short_floats(e.then_value, e.else_value)) {
          return tree;
        }
        const Type common = common_float(*kind_of(e.then_value), *kind_of(e.else_value));
        return Expr(Conditional{e.condition, as_float(e.then_value, common),
                                as_float(e.else_value, common)},
                    tree.where());
      },
      [&](const auto&) { return tree; });
}

}  // namespace rtcg::cgen
