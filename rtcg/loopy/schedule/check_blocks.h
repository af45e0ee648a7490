#pragma once

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// That no block needs what another one writes in the same launch: blocks cannot wait for each
/// other, whatever barriers stand between. Internal to schedule.
///
/// @throws InvalidInput  loopy.insert_barriers.needs_global_barrier
void check_blocks(const Kernel& kernel, const LoopTree& tree);

}  // namespace rtcg::loopy
