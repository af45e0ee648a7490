#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/expr.h"

namespace rtcg::cgen {

/// How tightly an expression holds together, loosest first. An operand gets parentheses if its
/// level is looser than its place requires.
enum class Level {
  comma,
  assignment,
  conditional,
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relational,
  shift,
  additive,
  multiplicative,
  unary,
  postfix,
  primary,
};

[[nodiscard]] constexpr Level tighter(Level level) {
  return static_cast<Level>(static_cast<int>(level) + 1);
}

[[nodiscard]] constexpr Level level_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::comma:
      return Level::comma;
    case BinaryOp::logical_or:
      return Level::logical_or;
    case BinaryOp::logical_and:
      return Level::logical_and;
    case BinaryOp::bit_or:
      return Level::bit_or;
    case BinaryOp::bit_xor:
      return Level::bit_xor;
    case BinaryOp::bit_and:
      return Level::bit_and;
    case BinaryOp::equal:
    case BinaryOp::not_equal:
      return Level::equality;
    case BinaryOp::less:
    case BinaryOp::less_equal:
    case BinaryOp::greater:
    case BinaryOp::greater_equal:
      return Level::relational;
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      return Level::shift;
    case BinaryOp::add:
    case BinaryOp::subtract:
      return Level::additive;
    case BinaryOp::multiply:
    case BinaryOp::divide:
    case BinaryOp::remainder:
      return Level::multiplicative;
  }
  return Level::primary;
}

/// The level that an operand of an operator of level `parent` must have to need no parentheses,
/// where C's grammar allows a looser one but compilers warn and readers err: `a && b || c`, `a + b
/// << c`, `a & b == c`, `a < b < c`.
[[nodiscard]] constexpr Level readable_operand_level(Level parent) {
  switch (parent) {
    case Level::logical_or:
      return Level::bit_or;  // not logical_and
    case Level::bit_or:
    case Level::bit_xor:
    case Level::bit_and:
    case Level::shift:
      return Level::multiplicative;
    case Level::equality:
    case Level::relational:
      return Level::shift;
    default:
      return parent;
  }
}

}  // namespace rtcg::cgen
