#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// One past the largest value that an iname takes, in terms of parameters: the length of an axis
/// with an element for each value.
/// @throws InvalidInput  where parameters alone do not bound it
[[nodiscard]] Expr end_of_loop(const Kernel& kernel, const std::string& iname);

}  // namespace rtcg::loopy
