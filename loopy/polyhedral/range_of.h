#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <utility>

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// ConstraintSet::minimum and ConstraintSet::maximum of `expr`, found together.
[[nodiscard]] std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>> range_of(
    const ConstraintSet& set, const Affine& expr);

}  // namespace rtcg::loopy
