#pragma once
// Internal header: it is not installed.

#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

// The order of the elements of a reduction.
//
// `reduce(after, j, a[j], b[j], in_order(j))` combines its elements as a loop over ascending j
// would: of two neighbouring results the one of the smaller j is on the left. Of several values,
// `in_order(i, j)`, the first one decides, and of equal values the next one. Elements that have
// equal values are combined in any order.
//
// In a Reduction these values are `order`. They are expressions of the inames: after a split of j
// by 8 they are `8*j_outer + j_inner`, so that the order stays that of the kernel as it was
// written. Without them the elements are combined in any order. Scans need none: they always keep
// the order of their elements.

namespace rtcg::loopy {

inline constexpr std::string_view in_order_function = "in_order";

/// Removes `in_order(...)` from the end of the operands, and gives its values.
[[nodiscard]] inline std::vector<Expr> take_order(std::vector<Expr>& operands) {
  const Call* call = operands.empty() ? nullptr : get_if<Call>(operands.back());
  if (call == nullptr || call->function != in_order_function || call->arguments.empty()) {
    return {};
  }
  std::vector<Expr> order = call->arguments;
  operands.pop_back();
  return order;
}

}  // namespace rtcg::loopy
