#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy::detail {

/// Some statements of a kernel alone, by their places in it. Loops of the host are parameters, and
/// what is handed on in global memory are arguments.
/// @param hosts  loops of the host
[[nodiscard]] Kernel nest_kernel(const Kernel& kernel, const std::vector<std::size_t>& statements,
                                 const NameSet& hosts);

}  // namespace rtcg::loopy::detail
