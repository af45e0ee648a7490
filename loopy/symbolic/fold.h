#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// `terms[0] + terms[1] + ...`, as the operator gives it from left to right, without an expression
/// for each partial sum.
/// @param terms  at least one
[[nodiscard]] Expr sum_of(const std::vector<Expr>& terms);
/// `factors[0] * factors[1] * ...`, likewise.
[[nodiscard]] Expr product_of(const std::vector<Expr>& factors);

}  // namespace rtcg::loopy
