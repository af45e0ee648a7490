#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/lazy/expression.h"

// Expressions of short vectors.

namespace rtcg::arrays::detail {

/// The same computation of components, along one more axis at the end. Its length is the number of
/// components of the node's short vector, or 1 for an expression of numbers. The result has no
/// short vectors.
[[nodiscard]] NodePointer by_component(const NodePointer& root);

}  // namespace rtcg::arrays::detail
