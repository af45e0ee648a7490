#pragma once

#include "rtcg/loopy/create/parse_kernel_file.h"

namespace rtcg::loopy {

/// The file that says what a kernel is now: `described_kernel` of it, with its recipe applied,
/// computes the same by the same loops, and generates the same text but for the recipe's comment.
///
/// Loops, arrays and statements stand as the transformations left them; tags, orders of loops and
/// the places of temporaries, which statements cannot state, make up its recipe. To keep the kernel
/// as it was described, with what was done to it, write the KernelFile that it came from.
/// @throws Unsupported  loopy.to_kernel_file.not_sayable, where a kernel has what text cannot say:
///                      temporaries in strides that are no constants
[[nodiscard]] KernelFile to_kernel_file(const Kernel& kernel);

}  // namespace rtcg::loopy
