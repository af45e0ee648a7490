#pragma once
// Internal header: it is not installed.

#include <functional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// An integer point of `set` that `accepts`: values for `names`, chosen in their order, small ones
/// first. `set` may mention other names; the point leaves these open.
///
/// The search is cut off after some hundred steps: an empty result does not prove that there is no
/// point.
[[nodiscard]] std::optional<IntegerValues> find_integer_point(
    const ConstraintSet& set, const std::vector<std::string>& names,
    const std::function<bool(const IntegerValues&)>& accepts);

/// The names that get values from a witness: parameters and scalar arguments in `set` first, then
/// its inames and `inames` with their parents, in the order of the domains. Nothing if `set` has
/// values that the kernel computes.
[[nodiscard]] std::optional<std::vector<std::string>> witness_names(const Kernel& kernel,
                                                                    const NameSet& inames,
                                                                    const ConstraintSet& set);
/// `i = 4, n = 5`: the inames, then the other names.
[[nodiscard]] std::string describe(const Kernel& kernel, const IntegerValues& values);

}  // namespace rtcg::loopy
