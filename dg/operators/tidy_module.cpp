#include "rtcg/dg/operators/tidy_module.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/traverse.h"

namespace rtcg::dg::detail {
namespace {

using cgen::Binary;
using cgen::BinaryOp;
using cgen::Expr;
using cgen::Statement;
using cgen::Type;

// The value of a literal of a signed type of 32 or 64 bits.
std::optional<std::int64_t> literal_value(const Expr& expr) {
  const auto* literal = get_if<cgen::IntLiteral>(expr);
  if (!literal || (literal->type != cgen::i32 && literal->type != cgen::i64) ||
      literal->magnitude > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  const auto magnitude = static_cast<std::int64_t>(literal->magnitude);
  return literal->is_negative ? -magnitude : magnitude;
}

bool is_literal(const Expr& expr, std::int64_t value) {
  return literal_value(expr) == value;
}

Expr literal_of(std::int64_t value, const Type& type) {
  return cgen::IntLiteral{static_cast<std::uint64_t>(std::abs(value)), value < 0, type};
}

// What a sum, difference or product of two literals is; both have 32 bits at most.
std::optional<std::int64_t> computed(BinaryOp op, std::int64_t left, std::int64_t right) {
  const std::int64_t value = op == BinaryOp::add        ? left + right
                             : op == BinaryOp::subtract ? left - right
                                                        : left * right;
  const bool is_known = op == BinaryOp::add || op == BinaryOp::subtract || op == BinaryOp::multiply;
  const bool fits = std::abs(value) <= std::numeric_limits<std::int32_t>::max();
  return is_known && fits ? std::optional(value) : std::nullopt;
}

// It can be left out: it calls and changes nothing.
bool is_plain(const Expr& expr) {
  bool is_plain = true;
  cgen::WalkVisitor visitor;
  visitor.expr = [&](const Expr& each) {
    is_plain = is_plain && (is<Binary>(each) || is<cgen::Variable>(each) || is<cgen::Cast>(each) ||
                            is<cgen::IntLiteral>(each) || is<cgen::BuiltinIndex>(each));
    return is_plain;
  };
  walk(expr, visitor);
  return is_plain;
}

// x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1
std::optional<Expr> kept_operand(const Binary& binary) {
  const bool is_sum = binary.op == BinaryOp::add;
  const bool is_product = binary.op == BinaryOp::multiply;
  if (is_literal(binary.right, is_product || binary.op == BinaryOp::divide ? 1 : 0) &&
      (is_sum || is_product || binary.op == BinaryOp::subtract || binary.op == BinaryOp::divide)) {
    return binary.left;
  }
  if ((is_sum && is_literal(binary.left, 0)) || (is_product && is_literal(binary.left, 1))) {
    return binary.right;
  }
  return std::nullopt;
}

Expr folded(const Expr& expr) {
  const auto* binary = get_if<Binary>(expr);
  const Type type = cgen::value_type(expr.type());
  if (!binary || (type != cgen::i32 && type != cgen::i64)) {
    return expr;
  }
  const auto left = literal_value(binary->left);
  const auto right = literal_value(binary->right);
  if (left && right) {
    const auto value = computed(binary->op, *left, *right);
    return value ? literal_of(*value, type) : expr;
  }
  if (const auto kept = kept_operand(*binary)) {
    return cgen::value_type(kept->type()) == type ? *kept : expr;
  }
  const bool is_zero =
      (binary->op == BinaryOp::multiply &&
       ((left == 0 && is_plain(binary->right)) || (right == 0 && is_plain(binary->left)))) ||
      (binary->op == BinaryOp::remainder && right == 1 && is_plain(binary->left));
  if (is_zero) {
    return literal_of(0, type);
  }
  // (x + 1) + 2, (x * 6) * 20
  const auto* inner = get_if<Binary>(binary->left);
  const bool is_chain = binary->op == BinaryOp::add || binary->op == BinaryOp::multiply;
  if (is_chain && right && inner && inner->op == binary->op &&
      cgen::value_type(binary->left.type()) == type) {
    const auto other = literal_value(inner->right);
    const auto value = other ? computed(binary->op, *other, *right) : std::nullopt;
    if (value) {
      return Binary{binary->op, inner->left, literal_of(*value, cgen::i32)};
    }
  }
  return expr;
}

// The counter of `for (int i = first; i < end; ++i)`, or of one that adds a literal, with its only
// value.
struct Round {
  std::string counter;
  Expr value;
};

std::optional<Round> only_round(const cgen::For& loop) {
  const auto* init = loop.init ? get_if<cgen::Declaration>(*loop.init) : nullptr;
  const auto* condition = loop.condition ? get_if<Binary>(*loop.condition) : nullptr;
  if (!init || !init->initializer || !condition || condition->op != BinaryOp::less || !loop.step) {
    return std::nullopt;
  }
  const Expr counter(cgen::Variable{init->name, init->type});
  std::optional<std::int64_t> step;
  if (const auto* unary = get_if<cgen::Unary>(*loop.step)) {
    step = unary->op == cgen::UnaryOp::pre_increment && unary->operand == counter
               ? std::optional<std::int64_t>(1)
               : std::nullopt;
  } else if (const auto* more = get_if<cgen::AssignExpr>(*loop.step)) {
    step = more->op == BinaryOp::add && more->target == counter ? literal_value(more->value)
                                                                : std::nullopt;
  }
  const auto first = literal_value(*init->initializer);
  const auto end = literal_value(condition->right);
  const bool is_one =
      step && first && end && condition->left == counter && *first < *end && *first + *step >= *end;
  return is_one ? std::optional(Round{init->name, *init->initializer}) : std::nullopt;
}

// Whether the counter can be replaced by its value: the loop does not change it, is not left early,
// and holds no raw text.
bool may_dissolve(const Statement& body, const std::string& counter) {
  bool may = true;
  const auto forbid_target = [&](const Expr& target) {
    const auto* variable = get_if<cgen::Variable>(target);
    may = may && !(variable && variable->name == counter);
  };
  cgen::WalkVisitor visitor;
  visitor.expr = [&](const Expr& each) {
    if (const auto* assignment = get_if<cgen::AssignExpr>(each)) {
      forbid_target(assignment->target);
    } else if (const auto* unary = get_if<cgen::Unary>(each)) {
      forbid_target(unary->operand);
    }
    may = may && !is<cgen::RawExpr>(each);
    return may;
  };
  visitor.statement = [&](const Statement& each) {
    may = may && !is<cgen::Break>(each) && !is<cgen::Continue>(each) && !is<cgen::Label>(each) &&
          !is<cgen::InlineAsm>(each) && !is<cgen::RawStatement>(each);
    return may;
  };
  walk(body, visitor);
  return may;
}

Statement without_braces(const Statement& body) {
  const auto* block = get_if<cgen::Block>(body);
  const bool declares =
      !block || std::any_of(block->statements.begin(), block->statements.end(),
                            [](const Statement& each) { return is<cgen::Declaration>(each); });
  return declares ? body : Statement(cgen::Group{block->statements});
}

Statement dissolved(const Statement& statement) {
  const auto* loop = get_if<cgen::For>(statement);
  const std::optional<Round> round = loop ? only_round(*loop) : std::nullopt;
  if (!round || !may_dissolve(loop->body, round->counter)) {
    return statement;
  }
  return without_braces(substitute(loop->body, {{round->counter, round->value}}));
}

}  // namespace

cgen::Module tidy_module(const cgen::Module& module) {
  cgen::Rewriter loops;
  loops.statement = dissolved;
  cgen::Rewriter numbers;
  numbers.expr = folded;
  return rewrite(rewrite(module, loops), numbers);
}

}  // namespace rtcg::dg::detail
