#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string_view>
#include <vector>

#include "rtcg/loopy/analyze/access.h"

// Which reads of an array one copy serves.

namespace rtcg::loopy::detail {

/// Reads of one array whose indices differ by constants alone. A read with another index that is
/// not affine, or with a place in memory for an index, is a group of its own.
///
/// Reads at computed places, `a[i, p[j]]`, are a group if the other indices differ by constants: a
/// copy has the whole of such an axis, so that it serves all of them.
struct AccessGroup {
  std::vector<ArrayAccess> reads{};
  /// That the indices mention, but for those of gathered axes.
  NameSet inames{};
  bool is_affine = true;
  std::vector<bool> gathered{};  ///< for each axis; none where no axis is

  /// Scalars that iterations of loops set, which may be indices of gathered axes.
  NameSet computed{};
  NameSet hosts{};  ///< loops that run on the host: nests within one are still apart

  [[nodiscard]] bool is_gathered(std::size_t axis) const {
    return !gathered.empty() && gathered[axis];
  }

  [[nodiscard]] bool contains(const ArrayAccess& access) const;
};

/// Without reads that repeat another one of the same loops: compilers load once.
[[nodiscard]] std::vector<ArrayAccess> distinct_accesses(std::vector<ArrayAccess> accesses);

/// The groups of an array, those that mention the most inames first, otherwise in the order of the
/// kernel: FetchPlan::group counts them from 1 on.
/// @param expanded  has no rules
[[nodiscard]] std::vector<AccessGroup> access_groups(const Kernel& expanded,
                                                     std::string_view array);

/// Inames of reductions around those over `iname` that read the group's array: each of their
/// iterations goes through the loop of `iname` again.
[[nodiscard]] NameSet sums_around(const Kernel& expanded, const AccessGroup& group,
                                  const std::string& iname);

}  // namespace rtcg::loopy::detail
