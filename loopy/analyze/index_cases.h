#pragma once
// Internal header: it is not installed.

#include <optional>
#include <vector>

#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// An integer expression in one part of the space: where `context` holds it is `value`.
struct IndexCase {
  Affine value{};
  ConstraintSet context{};
};

/// An integer expression as affine forms that together cover all points.
///
/// `x // c` and `x % c` become a quotient with a new name (not a name of the kernel; equal
/// quotients have equal names) between its bounds; `x % n` with symbolic n a value from 0 to n - 1;
/// abs, min, max and conditionals become two cases each. Empty where the expression reads arrays,
/// is not affine otherwise, or falls into more than 16 cases.
[[nodiscard]] std::vector<IndexCase> index_cases(const Expr& index);

/// A comparison of integers as a constraint over names and the quotients that index_cases() names.
struct ComparisonForm {
  Expr comparison;
  Constraint constraint{};
  /// The bounds of the quotients; unconstrained if there are none.
  ConstraintSet quotients{};
};

/// The comparisons of a condition; nothing if it is not comparisons joined by `and`, or if one of
/// them is `!=` or has several cases.
[[nodiscard]] std::optional<std::vector<ComparisonForm>> comparisons_of(const Expr& condition);

/// The affine constraints that follow from `condition`.
[[nodiscard]] ConstraintSet context_of(const Expr& condition);

}  // namespace rtcg::loopy
