#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// Whether the comparison of two numbers is true.
template <class Number>
[[nodiscard]] bool compare_values(ComparisonOp op, Number left, Number right) {
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

}  // namespace rtcg::loopy
