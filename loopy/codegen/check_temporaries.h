#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/schedule/launches.h"

namespace rtcg::loopy {

/// Values of threads and of blocks are gone when their launch ends.
/// @throws InvalidInput  loopy.generate.temporary_across_launches
void check_temporaries(const Kernel& kernel, const std::vector<LaunchTree>& launches);

}  // namespace rtcg::loopy
