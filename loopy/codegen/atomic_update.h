#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/kernel_variables.h"
#include "rtcg/loopy/codegen/lower_expr.h"

namespace rtcg::loopy {

/// Refuses atomic statements whose result depends on their order.
/// @param kernel  preprocessed, with the types of the description
/// @throws Unsupported  loopy.generate.atomic_form
void check_atomic_updates(const Kernel& kernel);

/// An atomic statement: by an atomic function if the target has one for the operation and the type,
/// otherwise by a loop that computes the new value from the one it found, and tries again if
/// another thread was faster.
/// @throws Unsupported  loopy.generate.atomic_form, elements of more than 8 bytes but for sums
[[nodiscard]] cgen::Statement atomic_update(KernelVariables& variables,
                                            const Assignment& assignment, const cgen::Expr& place,
                                            const ExprScope& scope, const cgen::Type& type);

}  // namespace rtcg::loopy
