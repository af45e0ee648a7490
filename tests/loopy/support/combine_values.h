#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

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

}  // namespace rtcg::loopy
