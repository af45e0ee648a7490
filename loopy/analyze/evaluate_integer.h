#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

using IntegerValues = std::map<std::string, std::int64_t, std::less<>>;

/// The value of an integer expression for these values of its names; conditions are 0 or 1. Nothing
/// if a name is missing, or if the expression reads an array, divides by zero, is not an integer,
/// or leaves 64 bits.
[[nodiscard]] std::optional<std::int64_t> evaluate_integer(const Expr& expr,
                                                           const IntegerValues& values);
/// @throws Unsupported  loopy.affine.overflow
[[nodiscard]] std::optional<std::int64_t> evaluate_integer(const Affine& affine,
                                                           const IntegerValues& values);
/// Whether all constraints hold; false where a name is missing.
[[nodiscard]] bool contains(const ConstraintSet& set, const IntegerValues& values);

}  // namespace rtcg::loopy
