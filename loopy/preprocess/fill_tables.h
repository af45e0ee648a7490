#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives tables their values: those of numbers that no statement changes lie in constant memory, of
/// others a statement sets each element, ahead of all other statements.
/// @param kernel  typed
[[nodiscard]] Kernel fill_tables(Kernel kernel);

}  // namespace rtcg::loopy
