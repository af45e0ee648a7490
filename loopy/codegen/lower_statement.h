#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/kernel_variables.h"

// One copy of a statement: assignments, atomics, copies, C text.

namespace rtcg::loopy {

[[nodiscard]] CodeItem lower_statement(KernelVariables& variables, const Instruction& instruction,
                                       const ExprScope& scope);

/// The type that the value is computed in: literals take the target's type if both are
/// floating-point or both are not.
[[nodiscard]] cgen::Type value_type(const KernelVariables& variables, const Assignment& assignment,
                                    const cgen::Type& target);

/// An asynchronous copy of 4, 8 or 16 bytes.
/// @param condition  if it does not hold, the target gets zeros; null: it always holds
[[nodiscard]] cgen::Statement copy_call(KernelVariables& variables, std::int64_t bytes,
                                        const cgen::Expr& target, const cgen::Expr& source,
                                        const Expr* condition, const ExprScope& scope);

}  // namespace rtcg::loopy
