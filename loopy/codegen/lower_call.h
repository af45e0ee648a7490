#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/function_table.h"
#include "rtcg/loopy/codegen/guarded_tree.h"
#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// The call of a function whose body is `code`: what the code touches becomes parameters, and what
/// nothing else touches is declared within.
/// @param functions  the function is added
[[nodiscard]] CodeItem lower_call(KernelVariables& variables, FunctionTable& functions,
                                  const GuardedCall& guarded, CodeBlock code);

}  // namespace rtcg::loopy
