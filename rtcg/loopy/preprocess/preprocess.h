#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes a kernel ready for scheduling: rules expanded, types known, reductions turned into
/// accumulations, every temporary in an address space, every `l.auto` iname on an axis.
///
/// @throws InvalidInput  what expand_subst, infer_types, realize_reductions,
///                       choose_address_spaces and assign_auto_axes throw
[[nodiscard]] Kernel preprocess(Kernel kernel);

/// Turns reductions into accumulations.
///
/// Rewrites
///     c[i] = sum(k, a[i, k])
///   into
///     acc = 0
///     for k: acc = acc + a[i, k]
///     c[i] = acc
///   and, where k is an axis of the block, into a tree over the threads: each thread's part goes
///   to shared memory, and halves are added until one element is left. Reductions over the same
///   operands within a statement are done once.
/// @param kernel  typed, without rules
/// @throws InvalidInput  loopy.realize_reductions.unknown_operation,
///                       loopy.realize_reductions.target_count
/// @throws Unsupported   loopy.realize_reductions.parallel_iname
[[nodiscard]] Kernel realize_reductions(Kernel kernel);

/// Puts each temporary that has no address space yet into one: local where the threads of a block
/// write different elements of it, private else.
///
/// @throws InvalidInput  loopy.choose_address_spaces.ambiguous
[[nodiscard]] Kernel choose_address_spaces(Kernel kernel);

/// Puts each iname tagged `l.auto` on an axis of the block, innermost array axes on l.0. An iname
/// longer than its axis is split; one that finds no axis is a loop.
///
/// @throws InvalidInput  loopy.assign_auto_axes.no_block
[[nodiscard]] Kernel assign_auto_axes(Kernel kernel);

}  // namespace rtcg::loopy
