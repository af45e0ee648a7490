#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/slicing_problem.h"

// Arrays as the inames that index them see them.

namespace rtcg::loopy::detail {

/// The inames of an access, as the axes of a view.
struct ViewAxes {
  /// The one along which neighbours take the fewest sectors of memory is the last.
  std::vector<std::string> inames{};
  /// Elements of the sectors, of 8 each, that hold 32 neighbours along it, by their number: 1 where
  /// they are contiguous.
  double overfetch = 1;
  /// Of neighbours along it.
  NeighbourLines lines{};
};

[[nodiscard]] ViewAxes view_axes(const Kernel& kernel, const ArrayAccess& access);

}  // namespace rtcg::loopy::detail
