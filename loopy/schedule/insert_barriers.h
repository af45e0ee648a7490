#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// A tag of statements that together give a private temporary the same value in all threads of a
/// block, so that statements that do not lie on their axis may read it. No user can write it.
inline constexpr const char* same_in_all_threads = "(same in all threads)";

/// Adds the barriers that the accesses ask for: wherever two threads of a block touch the same
/// element of shared or global memory and one of them writes, a barrier stands between. Nothing
/// is taken from stated dependencies: they order statements, accesses need barriers.
///
/// Accesses are compared by their affine indices; two accesses of which it cannot be shown that
/// only one thread touches an element are kept apart.
///
/// @param kernel  preprocessed: every temporary has an address space
/// @throws InvalidInput  loopy.insert_barriers.needs_global_barrier, where threads of different
///         blocks would have to wait for each other; loopy.insert_barriers.divergent, where a
///         barrier would stand in a loop that some threads leave earlier than others;
///         loopy.insert_barriers.out_of_reach, where a thread or block reads a temporary that only
///         others have written
[[nodiscard]] LoopTree insert_barriers(const Kernel& kernel, LoopTree tree);

}  // namespace rtcg::loopy
