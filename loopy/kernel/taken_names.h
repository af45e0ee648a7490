#pragma once
// Internal header: it is not installed.

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Whether a new name would be mistaken for another: make_name_generator(kernel).is_taken(name),
/// without a table of all names.
[[nodiscard]] bool is_name_taken(const Kernel& kernel, std::string_view name);

}  // namespace rtcg::loopy
