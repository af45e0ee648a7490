#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// New inames and the integer expressions of old ones that they are: `{{"d", "i + j"}, {"e",
/// "j"}}`.
using InameMap = std::vector<std::pair<std::string, std::string>>;

/// Replaces inames by affine combinations of them: skewed, reversed or shifted loops.
///
/// Rewrites
///     for i in [0, n): for j in [0, m): S(i, j)
///   with d = i + j, e = j into
///     for d in [0, n + m - 1): for e in [max(0, d - n + 1), min(m, d + 1)): S(d - e, e)
///
/// Each point is visited once: the coefficients of the old inames have a determinant other than 0.
/// If it is not 1 or -1 either, the new loops have strides: with s = i + j, d = i - j only those
/// points are visited where s + d is even.
/// Iterations come in the order of the new loops, which is refused as prioritize_loops refuses it.
/// @param map  as many new inames as their expressions mention old ones; parameters may be added. A
///             new iname may be called as one that it replaces
/// @throws InvalidInput  loopy.map_domain.not_affine, loopy.map_domain.no_bijection,
///                       loopy.map_domain.tagged_already, loopy.map_domain.name_taken,
///                       loopy.map_domain.not_together, loopy.map_domain.carried_value,
///                       loopy.parse_expr.syntax
/// @source Loo.py `map_domain`
[[nodiscard]] Kernel map_domain(Kernel kernel, const InameMap& map);

}  // namespace rtcg::loopy
