#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/lazy/evaluate.h"

namespace rtcg::arrays::detail {

/// The values of an expression, to be read. Those of an array alone are the array itself, of any
/// strides; no kernel copies them.
[[nodiscard]] inline AnyArray values_of(const Expression& expression) {
  const ExpressionNode& node = *expression.node();
  return node.op == Op::leaf ? *node.array : evaluate(expression);
}

}  // namespace rtcg::arrays::detail
