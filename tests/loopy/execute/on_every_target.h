#pragma once

#include <string>

#include "rtcg/loopy/execute/compare_with_reference.h"

namespace rtcg::loopy {

/// Runs `transformed` on every device of the machine and, as CUDA text, on the CPU with checks for
/// races and bounds; expects what `reference` means as it is described. Leaves out devices whose
/// names
/// (`opencl:0 NVIDIA H200`) contain `except`, where one is given.
void expect_same_everywhere(const Kernel& transformed, const Kernel& reference,
                            const IntegerValues& parameters, const CompareOptions& options = {},
                            const std::string& except = {});

/// How often a text stands in another one.
[[nodiscard]] int count_of(const std::string& part, const std::string& text);

}  // namespace rtcg::loopy
