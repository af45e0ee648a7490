#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/schedule/launches.h"

namespace rtcg::loopy {

/// Values of threads and of blocks are gone when their launch ends.
/// @param own  temporaries of reductions that preprocess() made loops of: each statement sets them
///             before it reads them, so they do not outlive an iteration
/// @throws InvalidInput  loopy.generate.temporary_across_launches
void check_temporaries(const Kernel& kernel, const std::vector<LaunchTree>& launches,
                       const NameSet& own);

}  // namespace rtcg::loopy
