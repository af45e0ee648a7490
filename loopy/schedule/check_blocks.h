#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/schedule/race_test.h"

namespace rtcg::loopy {

/// That no block needs a value that another one writes in the same launch: blocks cannot wait for
/// each other, with any barriers.
///
/// @param accesses  of each statement, as shared_accesses gives them
/// @throws InvalidInput  loopy.insert_barriers.needs_global_barrier
void check_blocks(const Kernel& kernel, const VariableIndex& variables, const LoopTree& tree,
                  const std::vector<std::vector<SharedAccess>>& accesses);

}  // namespace rtcg::loopy
