#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// Sets whose points together are meant.
using SetUnion = std::vector<ConstraintSet>;

/// The points of both.
[[nodiscard]] SetUnion intersection(const SetUnion& left, const SetUnion& right);

/// The same points in sets that have none in common. The first one stays as it is; empty ones are
/// left out.
[[nodiscard]] SetUnion disjoint_parts(const SetUnion& all);

/// The points for which there is an integer `name` such that the set has them: exactly, or nothing
/// where that would take more than some dozen sets.
[[nodiscard]] std::optional<SetUnion> without_existing(const ConstraintSet& set,
                                                       const std::string& name);

}  // namespace rtcg::loopy
