#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// The operations of reductions and scans that need no rule. argmin and argmax take a value and its
/// place. NaNs do not count among min and max; of minimum and maximum they are the result.
inline constexpr std::string_view known_operations[] = {
    "sum", "product", "min", "max", "minimum", "maximum", "any", "all", "argmin", "argmax"};

[[nodiscard]] inline bool is_known_operation(std::string_view name) {
  return std::find(std::begin(known_operations), std::end(known_operations), name) !=
         std::end(known_operations);
}
[[nodiscard]] inline bool is_least(std::string_view operation) {
  return operation == "min" || operation == "minimum";
}
[[nodiscard]] inline bool is_greatest(std::string_view operation) {
  return operation == "max" || operation == "maximum";
}
/// Whether the result is one of the operands.
[[nodiscard]] inline bool is_choice(std::string_view operation) {
  return is_least(operation) || is_greatest(operation) || operation == "argmin" ||
         operation == "argmax";
}
/// Whether `sum(i, x)` is the reduction itself: `min(i, x)` is the function, and other names may be
/// those of rules.
[[nodiscard]] inline bool is_written_as_call(std::string_view operation) {
  return is_known_operation(operation) && !is_least(operation) && !is_greatest(operation);
}

/// What scans are called; no rule can have the name.
inline constexpr const char* scan_function = "scan";

/// `segmented_scan(flag[j] > 0, sum, j, a[j])`: the condition under which an element begins a
/// segment, and a scan, which begins anew there. make_kernel writes it as a scan.
inline constexpr const char* segmented_scan_function = "segmented_scan";

/// `scan(sum, j, a[j])`: the value of the reduction, computed from its value in the iteration
/// before as the loops go on that bound `j` from above. With `0 <= j <= i` a running sum that
/// includes element i, with `0 <= j < i` one that does not.
[[nodiscard]] inline Expr scan(Reduction reduction) {
  return Call{scan_function, {Expr(std::move(reduction))}};
}
/// The same along an axis of the grid, in one launch where the target has look-back: each block
/// continues from what the blocks before it publish. A scan with the number 1 as a second argument,
/// and after it the results of the block, where the kernel has computed them.
[[nodiscard]] inline Expr scan_by_look_back(Reduction reduction, const std::vector<Expr>& totals) {
  Call call{scan_function, {Expr(std::move(reduction)), 1}};
  call.arguments.insert(call.arguments.end(), totals.begin(), totals.end());
  return call;
}
[[nodiscard]] inline bool is_scan_call(const Call& call) {
  return call.function == scan_function && !call.arguments.empty();
}
/// The reduction of a scan, of either form; null for other expressions.
[[nodiscard]] inline const Reduction* as_scan(const Expr& expr) {
  const Call* call = get_if<Call>(expr);
  return call != nullptr && is_scan_call(*call) ? get_if<Reduction>(call->arguments.front())
                                                : nullptr;
}
[[nodiscard]] inline bool looks_back(const Expr& expr) {
  return as_scan(expr) != nullptr && get_if<Call>(expr)->arguments.size() >= 2;
}
/// The results of the block of a scan that looks back, where the kernel has computed them.
[[nodiscard]] inline std::vector<Expr> totals_of_scan(const Expr& expr) {
  const std::vector<Expr>& all = get_if<Call>(expr)->arguments;
  return looks_back(expr) ? std::vector<Expr>(all.begin() + 2, all.end()) : std::vector<Expr>{};
}

}  // namespace rtcg::loopy
