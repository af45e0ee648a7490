#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// Adds the barriers that the accesses need: if two threads of a block access the same element of
/// shared or global memory and one of them writes, a barrier separates the accesses. Stated
/// dependencies order statements; they add no barriers.
///
/// Accesses are compared by their affine indices; two accesses are separated unless it can be shown
/// that only one thread accesses each element.
///
/// @param kernel  preprocessed: every temporary has an address space
/// @throws InvalidInput  loopy.insert_barriers.needs_global_barrier: threads of different blocks
///         would have to wait for each other; loopy.insert_barriers.divergent: a barrier would be
///         in a loop that some threads leave earlier than others;
///         loopy.insert_barriers.out_of_reach: a thread or block reads a temporary that only others
///         have written
[[nodiscard]] LoopTree insert_barriers(const Kernel& kernel, LoopTree tree);

}  // namespace rtcg::loopy
