#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// A kernel whose nests have loops of their own.
struct ApartNests {
  std::vector<RecipeStep> steps{};
  Kernel kernel{};
  /// The iname that each new one is a copy of.
  std::map<std::string, std::string> copies{};
  /// Whether a nest has neither results nor private values of those before.
  bool is_any_independent = false;
};

/// Gives loops of their own to statements that share inames with earlier ones but need not:
///
///     s[j] = sum(i, r[i]*a[i, j])
///     q[i] = sum(j, a[i, j]*p[j])
///   becomes
///     s[j] = sum(i, r[i]*a[i, j])
///     q[i_q] = sum(j_q, a[i_q, j_q]*p[j_q])
///
/// Statements stay together if they are within the same inames, if one hands private values to the
/// other, or if one uses the results of the other. The last does not hold for a sum with loops of
/// results that the other lacks: a product, and a sum of its rows. Nothing where no nest has
/// loops to share, where duplicate_inames refuses all, and for kernels with barriers, C text or
/// axes.
[[nodiscard]] std::optional<ApartNests> apart_nests(const Kernel& kernel);

}  // namespace rtcg::loopy::detail
