#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Computes what is known: integer arithmetic and comparisons of constants, indices brought to a
/// short form, branches with a known condition. Floating-point results never change.
///
/// Rewrites
///     b[2*3 + i - 1] = (a[i + 0] if 2 < 3 else 0.0)
///   into
///     b[i + 5] = a[i]
///
/// @source Loo.py `fold_constants`
[[nodiscard]] Kernel fold_constants(Kernel kernel);

}  // namespace rtcg::loopy
