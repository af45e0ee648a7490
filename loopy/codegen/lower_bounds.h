#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/schedule/loop_bounds.h"

namespace rtcg::loopy {

/// The first value of a loop, and one past the last, as C.
[[nodiscard]] cgen::Expr lower_first_value(const ExprScope& scope, const LoopBounds& bounds);
[[nodiscard]] cgen::Expr lower_end_value(const ExprScope& scope, const LoopBounds& bounds);

}  // namespace rtcg::loopy
