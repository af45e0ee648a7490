#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// An array in the memory that all launches share: an argument, or a temporary in global memory as
/// one. Nothing for scalars and other names.
[[nodiscard]] std::optional<Argument> find_global_array(const Kernel& kernel,
                                                        std::string_view name);

}  // namespace rtcg::loopy
