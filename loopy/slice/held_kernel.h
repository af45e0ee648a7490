#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy::detail {

/// A kernel whose nests hand arrays on within the iterations of loops that they share.
struct HeldKernel {
  Slicing words{};  ///< Slicing::together: loops that become one
  Kernel kernel{};
  std::vector<std::string> arrays{};  ///< that are handed on
};

/// Makes one loop of those by which one nest writes an array and others read it, element by
/// element:
///
///     flux[c, f] = ...                        (nest of c and f)
///     rhs[e, i] = sum(m, lift[i, m]*flux[e, m])
///
///   with together c,e. First along one axis of each array, then, if it differs, along all. None
///   where nests hand no array on, where loops cannot become one, and of results where nests share
///   their loops as described.
[[nodiscard]] std::vector<HeldKernel> find_held_kernels(const Kernel& kernel);

}  // namespace rtcg::loopy::detail
