#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The part of check_kernel that concerns inames, their tags and their axes.
void check_inames(const Kernel& kernel);

}  // namespace rtcg::loopy
