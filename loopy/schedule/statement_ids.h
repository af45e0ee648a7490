#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// `'a', 'b'`: the ids of statements, for messages.
[[nodiscard]] std::string ids_of(const Kernel& kernel, const std::vector<std::size_t>& statements);

}  // namespace rtcg::loopy
