#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels that give another result where callers give two arguments the same memory,
/// although one says that it may be the other (Argument::may_be).
///
/// One of the two is written at most, and each of its elements after all reads of that element in
/// the other: in the same statement, or in one that depends on the one that reads; and in the same
/// iteration, so that no thread, lane or later iteration meets the change.
///
/// Expects expanded rules.
/// @throws InvalidInput  loopy.check_same_memory.unknown_array,
///                       loopy.check_same_memory.other_layout,
///                       loopy.check_same_memory.both_written,
///                       loopy.check_same_memory.read_after_write
void check_same_memory(const Kernel& kernel);

}  // namespace rtcg::loopy
