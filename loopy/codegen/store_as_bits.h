#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/target_rules.h"

namespace rtcg::loopy {

/// The kernel with u16 in memory for the types of 16 bits that the target's language does not
/// compute with: f16 in OpenCL, bf16 in C and OpenCL. Values are f32 once they are read, and
/// rounded to nearest where they are written; variables of a thread are f32.
/// @param kernel  preprocessed
/// @throws Unsupported  loopy.generate.stored_type, vectors of such a type, and C text that uses
///         it
[[nodiscard]] Kernel store_as_bits(Kernel kernel, const TargetRules& rules);

/// Arguments with the types that callers know.
/// @param typed  those of the kernel before store_as_bits
void restore_types(const std::vector<Argument>& typed, GeneratedProgram& program);

}  // namespace rtcg::loopy
