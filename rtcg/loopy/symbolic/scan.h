#pragma once

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// What scans are called; no rule can have the name.
inline constexpr const char* scan_function = "scan";

/// `scan(sum, j, a[j])`: the value of the reduction, computed from its value in the iteration
/// before as the loops go on that bound `j` from above. With `0 <= j <= i` a running sum that
/// includes element i, with `0 <= j < i` one that does not.
[[nodiscard]] inline Expr scan(Reduction reduction) {
  return Call{scan_function, {Expr(std::move(reduction))}};
}
/// The reduction of a scan; null for other expressions.
[[nodiscard]] inline const Reduction* as_scan(const Expr& expr) {
  const Call* call = get_if<Call>(expr);
  return call != nullptr && call->function == scan_function && call->arguments.size() == 1
             ? get_if<Reduction>(call->arguments.front())
             : nullptr;
}

}  // namespace rtcg::loopy
