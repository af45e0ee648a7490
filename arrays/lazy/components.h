#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/lazy/expression.h"

// Expressions of short vectors.

namespace rtcg::arrays::detail {

/// The same computation of components: one axis more, behind the others, as long as the node's
/// short vector has lanes; of an expression of numbers, as long as 1. What comes out has no short
/// vectors left, so that kernels need to know none.
[[nodiscard]] NodePointer by_component(const NodePointer& root);

}  // namespace rtcg::arrays::detail
