#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The part of check_kernel that concerns statements, their order and their accesses.
void check_statements(const Kernel& kernel);

}  // namespace rtcg::loopy
