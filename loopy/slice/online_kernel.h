#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// A kernel whose reductions run in one pass.
struct OnlineKernel {
  std::vector<std::vector<std::string>> inames{};  ///< Slicing::online
  Kernel kernel{};
};
/// The kernel with one pass for all of its reductions; nothing if these do not use each other's
/// results, or fuse_reductions refuses them.
[[nodiscard]] std::optional<OnlineKernel> find_online_kernel(const Kernel& kernel);

}  // namespace rtcg::loopy::detail
