#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Why the updates `target = value` of one element may give another result in another order;
/// nothing if they give the same. `value` may read the target. Sums, products, minima, maxima and
/// what else commutes pass: f(f(x, a), b) is compared with f(f(x, b), a) for drawn numbers, where x
/// is the target, and a and b are what else the value is made of. Scalar arguments are the same on
/// both sides.
/// @param value  without rules
[[nodiscard]] std::optional<std::string> why_order_matters(const Kernel& kernel, const Expr& target,
                                                           const Expr& value);

/// Whether the update `target = value` of an element that is `neutral` gives `operand`, for drawn
/// numbers.
[[nodiscard]] bool is_neutral(const Kernel& kernel, const Expr& target, const Expr& value,
                              const Expr& neutral, const Expr& operand);

}  // namespace rtcg::loopy
