#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The largest number of values of `iname`, counted from its lowest, for all values of parameters
/// and of the inames outside; nothing if no constant bounds it.
[[nodiscard]] std::optional<std::int64_t> constant_length(const Kernel& kernel,
                                                          const std::string& iname);
/// The inames tagged with this axis, in the order of the domains.
[[nodiscard]] std::vector<std::string> inames_on_axis(const Kernel& kernel, const InameTag& tag);
/// Threads along `l.axis`: the longest of its inames; 1 where it has none, nothing where one has no
/// constant length.
[[nodiscard]] std::optional<std::int64_t> block_length(const Kernel& kernel, int axis);

}  // namespace rtcg::loopy
