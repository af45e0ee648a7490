#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `value` where all that it reads is within its arrays; elsewhere 0, or the value with 0 for what
/// is outside. Unchanged if the arrays have all that is read. Indices that statements compute, or
/// that read arrays, are not looked at.
///
/// @param here  what is known where the value is computed
[[nodiscard]] Expr with_guarded_reads(const Kernel& kernel, const Expr& value,
                                      const ConstraintSet& here);

}  // namespace rtcg::loopy
