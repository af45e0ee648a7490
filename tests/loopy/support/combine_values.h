#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

inline bool holds(ComparisonOp op, double left, double right) {
  switch (op) {
    case ComparisonOp::less:
      return left < right;
    case ComparisonOp::less_equal:
      return left <= right;
    case ComparisonOp::greater:
      return left > right;
    case ComparisonOp::greater_equal:
      return left >= right;
    case ComparisonOp::equal:
      return left == right;
    case ComparisonOp::not_equal:
      break;
  }
  return left != right;
}

/// The value of an operator whose operands have these values; nullopt: not one of those known here.
inline std::optional<double> combine_values(const Expr& expr, const std::vector<double>& parts) {
  using Value = std::optional<double>;
  return match(
      expr, [&](const Sum&) -> Value { return std::accumulate(parts.begin(), parts.end(), 0.0); },
      [&](const Product&) -> Value {
        return std::accumulate(parts.begin(), parts.end(), 1.0, std::multiplies<>());
      },
      [&](const Quotient&) -> Value { return parts[0] / parts[1]; },
      [&](const FloorDiv&) -> Value { return std::floor(parts[0] / parts[1]); },
      [&](const Modulo&) -> Value { return parts[0] - parts[1] * std::floor(parts[0] / parts[1]); },
      [&](const Not&) -> Value { return parts[0] == 0 ? 1.0 : 0.0; },
      [&](const Cast&) -> Value { return parts[0]; },
      [&](const Comparison& e) -> Value { return holds(e.op, parts[0], parts[1]) ? 1.0 : 0.0; },
      [&](const Call& e) -> Value {
        if (e.function == "min" || e.function == "max") {
          return e.function == "min" ? std::min(parts[0], parts[1]) : std::max(parts[0], parts[1]);
        }
        return std::nullopt;
      },
      [&](const auto&) -> Value { return std::nullopt; });
}

/// The value of an expression whose names and accesses have the values that `read` gives; nullopt:
/// of something that is not known here. Operands that C does not evaluate are not read.
inline std::optional<double> evaluate_values(const Expr& expr,
                                             const std::function<double(const Expr&)>& read) {
  using Value = std::optional<double>;
  return match(
      expr, [](const Integer& e) -> Value { return static_cast<double>(e.value); },
      [](const Real& e) -> Value { return e.value; },
      [&](const Name&) -> Value { return read(expr); },
      [&](const Access&) -> Value { return read(expr); },
      [&](const Conditional& e) -> Value {
        const Value condition = evaluate_values(e.condition, read);
        return condition ? evaluate_values(*condition != 0 ? e.then_value : e.else_value, read)
                         : std::nullopt;
      },
      [&](const Logical& e) -> Value {
        const bool ends = e.op == LogicalOp::or_;
        for (const Expr& operand : e.operands) {
          const Value value = evaluate_values(operand, read);
          if (!value || (*value != 0) == ends) {
            return value ? Value(ends ? 1.0 : 0.0) : value;
          }
        }
        return ends ? 0.0 : 1.0;
      },
      [&](const auto&) -> Value {
        std::vector<double> parts;
        bool are_known = true;
        for_each_child(expr, [&](const Expr& child) {
          const Value part = are_known ? evaluate_values(child, read) : std::nullopt;
          are_known = part.has_value();
          parts.push_back(part.value_or(0));
        });
        return are_known ? combine_values(expr, parts) : std::nullopt;
      });
}

}  // namespace rtcg::loopy
