#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The texts that come ahead of all functions; on the host, the functions of C's library for those
/// of the user.
[[nodiscard]] std::vector<cgen::Statement> preambles_of(const Kernel& kernel, Target target);

/// The functions of the user that the kernel calls, and those that their C text mentions, in the
/// order in which they were added.
/// @throws InvalidInput  loopy.generate.reserved_name, a function that the target's language or its
///         library has
/// @throws Unsupported   loopy.generate.function_target, a function without code for the target
[[nodiscard]] std::vector<cgen::Statement> definitions_of_functions(const Kernel& kernel,
                                                                    Target target);

}  // namespace rtcg::loopy
