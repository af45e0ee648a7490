#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives tables their values: a statement for each element, ahead of all others.
/// @param kernel  typed
[[nodiscard]] Kernel fill_tables(Kernel kernel);

}  // namespace rtcg::loopy
