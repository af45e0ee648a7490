#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A rule as the operation of a reduction or scan. With `k` values its parameters are those of the
/// left values and then those of the right ones, and its body is one value, or `make_tuple` of `k`:
///
///     longest(a, b) := if(abs(a) < abs(b), b, a)                            {neutral=0}
///     merged(n, m, n2, m2) := make_tuple(n + n2, (n*m + n2*m2)/(n + n2))    {neutral=0:0}
///
/// The author of the rule guarantees that it is associative and that the neutral element is
/// neutral. Reductions combine their elements in an order that depends on the tags, unless they
/// have one, see in_order.h. Scans keep the order.
struct RuleOperation {
  std::vector<std::string> parameters{};
  std::vector<Expr> values{};  ///< without calls of rules
  std::vector<Expr> neutral{};

  /// The combination of the values on both sides.
  [[nodiscard]] std::vector<Expr> combine(const std::vector<Expr>& left,
                                          const std::vector<Expr>& right) const;
};

/// The rule that the reduction names as its operation; nothing where that is sum, max, ....
/// @throws InvalidInput  loopy.realize_reductions.unknown_operation,
///                       loopy.rule_operation.no_neutral, loopy.rule_operation.value_count,
///                       and those of check_rule_operations
[[nodiscard]] std::optional<RuleOperation> find_rule_operation(const Kernel& kernel,
                                                               const Reduction& reduction);

/// Whether all rules with neutral elements can be operations, and all reductions have one. A rule
/// may use its operands and scalar arguments, nothing else.
/// @throws InvalidInput  loopy.rule_operation.name_taken, loopy.rule_operation.parameters,
///                       loopy.rule_operation.reads, loopy.rule_operation.neutral,
///                       and those of find_rule_operation
void check_rule_operations(const Kernel& kernel);

}  // namespace rtcg::loopy
