#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// Refuses a statement that reads elements of an array before and after another statement writes
/// them, because both are in one loop:
///
///     for j: c[j] = f(j); e[j] = sum(k, c[k])
///
/// reads all of `c` where one iteration after the other has set an element. Whoever wrote this
/// wants all of `c` first, in a loop of its own, or the loops as they are; the text does not tell.
/// Asked of arguments whose only writer comes first and writes each element once, by affine indices.
/// Temporaries have no value before: threads meet at a barrier between their writer and readers, and
/// check_set_before_read refuses it in loops.
/// @throws InvalidInput  loopy.make_kernel.half_written
void refuse_half_written(const Kernel& kernel);

}  // namespace rtcg::loopy::detail
