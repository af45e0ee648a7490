#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/schedule/host_loop.h"

namespace rtcg::loopy {

struct LaunchPlan;

/// Calls `launch` for each launch of a program, in order: as often as the loops around it say, with
/// their inames among the values.
///
/// @param launches    neighbours that share their outer loops run in one loop
/// @param parameters  all scalar parameters that grids and loops need
/// @param stride      of outermost loops only one iteration in so many is run, from the first on: a
///                    sample of a run that takes long; > 0
void for_each_launch(
    const std::vector<LaunchPlan>& launches, const IntegerValues& parameters,
    const std::function<void(std::size_t launch, const IntegerValues& values)>& launch,
    std::int64_t stride = 1);

/// Iterations of the longest of the outermost loops; 1 where there is none.
[[nodiscard]] std::int64_t outermost_iterations(const std::vector<LaunchPlan>& launches,
                                                const IntegerValues& parameters);

/// Launches and the loops around them, one a line, each as `describe` has it:
/// `  for t in [0, nt):`, and below it `    relax_0(t)`.
[[nodiscard]] std::string plan_text(const std::vector<LaunchPlan>& launches,
                                    const std::function<std::string(const LaunchPlan&)>& describe);

/// `relax_0(t)`: the kernel, and what changes from launch to launch.
[[nodiscard]] std::string call_text(const LaunchPlan& launch);

}  // namespace rtcg::loopy
