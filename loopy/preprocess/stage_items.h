#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What exchange_items() asks for: statements that copy the items of a block to shared memory
/// before the marked statements, and from there after them, each element by the thread whose
/// neighbours copy its neighbours. What cannot be exchanged stays as it is.
/// @param kernel  without reductions and scans, every temporary in an address space
[[nodiscard]] Kernel with_staged_items(Kernel kernel);

}  // namespace rtcg::loopy
