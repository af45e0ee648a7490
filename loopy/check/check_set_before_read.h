#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses a read of an element of a temporary that the kernel's loops set only afterwards:
///
///     for i: s[i] = a[i]; b[i] = s[7 - i]
///
/// reads s[7] when only s[0] has a value. Where `i` is an axis of threads it is legal: they meet at
/// a barrier between the two statements.
///
/// Proved by a witness: an iteration that reads an element which other iterations set, all of them
/// later. Not examined are indices and conditions that read arrays or are not affine, bounds that
/// the kernel computes, and temporaries that C text uses. Arguments have a value before.
/// @param kernel  with expanded rules and address spaces
/// @throws InvalidInput  loopy.check_set_before_read.set_later
void check_set_before_read(const Kernel& kernel);

}  // namespace rtcg::loopy
