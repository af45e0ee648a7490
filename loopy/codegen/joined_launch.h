#pragma once
// Internal header: it is not installed.

#include <set>
#include <vector>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/target_rules.h"
#include "rtcg/loopy/device/helper_function.h"

// One launch for a kernel with global barriers.

namespace rtcg::loopy {

/// Whether the launches of the kernel become functions of one launch.
[[nodiscard]] bool joins_launches(const Kernel& kernel, const TargetRules& rules,
                                  const GenerateOptions& options, std::size_t launches);

/// What every launch's function has to know: other blocks of the same launch read what it writes.
void mark_passed_arrays(std::vector<KernelParameter>& parameters);

struct JoinedLaunch {
  LaunchPlan plan{};
  /// The kernel: calls the functions in the loops that the host would run, with a barrier of the
  /// grid after each.
  cgen::Statement function;
};

/// @param plans      of the launches, whose functions have the names of their kernels
/// @param functions  of the launches; become functions of the device
/// @param helpers    functions that the bounds of loops need; added to
/// @throws InvalidInput  loopy.generate.joined_blocks, loopy.generate.too_much_shared_memory
/// @throws Unsupported   loopy.generate.joined_scan
[[nodiscard]] JoinedLaunch join_launches(const Kernel& kernel, const TargetRules& rules,
                                         const GenerateOptions& options,
                                         const std::vector<LaunchPlan>& plans,
                                         std::vector<cgen::Statement>& functions,
                                         std::set<HelperFunction>& helpers);

}  // namespace rtcg::loopy
