#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/expr.h"

// Operators of CUDA on f16 and bf16 and other numbers. CUDA's header converts a half to every
// arithmetic type and each of these to a half: an operator with a half and another number is
// ambiguous.

namespace rtcg::cgen {

/// Whether one of two operands is f16 or bf16, and the other one a number of another type.
[[nodiscard]] bool mixes_short_floats(const Expr& left, const Expr& right);

/// `tree` with both operands in one type where it is an operator on such operands: in the wider of
/// two floating-point types, f32 for f16 and bf16, or in that of the half where the other operand
/// is an integer.
[[nodiscard]] Expr with_one_float_type(const Expr& tree);

}  // namespace rtcg::cgen
