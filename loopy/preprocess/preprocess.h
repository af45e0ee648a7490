#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What the target of a kernel has.
struct PreprocessOptions {
  /// Threads of a warp can exchange values without shared memory.
  bool has_warp_shuffles = false;
  /// Warps can multiply and add matrices; otherwise inames tagged mma are loops.
  bool has_tensor_cores = false;
};

/// Makes a kernel ready for scheduling: rules expanded, types known, reductions turned into
/// accumulations, every temporary in an address space, every `l.auto` iname on an axis.
///
/// @throws InvalidInput  what expand_subst, infer_types, realize_reductions and
///                       choose_address_spaces throw
[[nodiscard]] Kernel preprocess(Kernel kernel, const PreprocessOptions& options = {});

/// Gives reductions separate loops if one loop cannot serve all that share its iname: if the
/// operand of one needs the result of another, if other loops are around them, or if a statement in
/// a loop over the iname needs the result.
///
/// Rewrites
///     t = sum(k, a[k]);  s = sum(k, t*b[k])
///   into
///     t = sum(k, a[k]);  s = sum(k_0, t*b[k_0])
///   and leaves reductions that can run in one loop as they are.
/// @param kernel  without rules
/// @throws InvalidInput  loopy.schedule.dependency_cycle
[[nodiscard]] Kernel separate_reductions(Kernel kernel);

/// Turns reductions into accumulations.
///
/// Rewrites
///     c[i] = sum(k, a[i, k])
///   into
///     acc = 0
///     for k: acc = acc + a[i, k]
///     c[i] = acc
///   and, where k is an axis of the block, into a tree over the threads: each thread's part goes
///   to shared memory, and halves are added until one element is left. Where the target has warp
///   shuffles, k is l.0 and its length a multiple of 32, warps combine their lanes by shuffles and
///   one element for each warp goes through shared memory. The order is fixed either way.
///   `scan(sum, k, a[k])` with k <= i goes on with loop i: acc = acc + a[i]; where i is an axis of
///   the block, its threads scan in shared memory.
///   Reductions over the same operands within a statement are done once. Of equal values, argmin
///   and argmax take the one with the smallest place.
/// @param kernel  typed, without rules but for operations
/// @throws InvalidInput  loopy.realize_reductions.target_count, and those of find_rule_operation
/// @throws Unsupported   loopy.realize_reductions.parallel_iname,
///                       loopy.realize_reductions.scan_form
[[nodiscard]] Kernel realize_reductions(Kernel kernel, const PreprocessOptions& options = {});

}  // namespace rtcg::loopy
