#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// `numerator / divisor`, rounded up for a lower bound, down for an upper one.
struct Bound {
  Affine numerator{};
  std::int64_t divisor = 1;
  friend bool operator==(const Bound&, const Bound&) = default;
};

/// lower <= iname <= upper for each of the bounds, and iname = start modulo step.
struct LoopBounds {
  std::vector<Bound> lower{};
  std::vector<Bound> upper{};
  std::int64_t step = 1;
  std::int64_t remainder = 0;
  /// What the bounds guarantee within the loop.
  ConstraintSet implemented{};
};

/// The bounds of `iname` where `constraints` holds, in names other than `unknown`. Bounds that
/// others imply under `context` are left out.
///
/// @throws InvalidInput  loopy.generate.unbounded
[[nodiscard]] LoopBounds loop_bounds(const ConstraintSet& constraints, const std::string& iname,
                                     std::vector<std::string> unknown,
                                     const ConstraintSet& context);

/// The smallest value, where it is a constant.
[[nodiscard]] std::optional<std::int64_t> constant_lower(const LoopBounds& bounds);
[[nodiscard]] std::optional<std::int64_t> constant_upper(const LoopBounds& bounds);

/// The first value, and one past the last.
[[nodiscard]] Expr first_value(const LoopBounds& bounds);
[[nodiscard]] Expr end_value(const LoopBounds& bounds);

}  // namespace rtcg::loopy
