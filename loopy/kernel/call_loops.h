#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Loops that belong to calls of functions, in CallSite.

namespace rtcg::loopy {

/// Whether the loop belongs to the call; other loops are around the call.
[[nodiscard]] bool has_loop(const CallSite& call, std::string_view iname);
/// Where a call has the loop `iname`, it gets the loops `more`, too.
void add_call_loops(Kernel& kernel, std::string_view iname, const std::vector<std::string>& more);
/// Where a call has the loop `iname`, it has the loops `others` in its place.
void replace_call_loop(Kernel& kernel, std::string_view iname,
                       const std::vector<std::string>& others);

}  // namespace rtcg::loopy
