#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives tables their values. Tables of numbers that no statement changes are in constant memory;
/// for others a statement sets each element before all other statements.
/// @param kernel  typed
[[nodiscard]] Kernel fill_tables(Kernel kernel);

}  // namespace rtcg::loopy
