#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/polynomial.h"
#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// A number of points where `conditions` hold; none elsewhere.
struct CountPiece {
  Polynomial count{};
  ConstraintSet conditions{};
};

/// How many values `inames` take together in `set`, as a function of the other names: the sum of
/// the pieces. Exact. Nothing where a bound is not a whole number for all values of the others (the
/// blocks that a symbolic length is cut into; with the length substituted they are counted), where
/// congruences mention the inames, where something is unbounded, or where more than 64 pieces are
/// needed.
[[nodiscard]] std::optional<std::vector<CountPiece>> count_points(
    const ConstraintSet& set, const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
