#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// How transformations enter themselves into the recipe of a kernel.

namespace rtcg::loopy {

/// Appends a step to the recipe; options without a value are left out.
void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
            std::map<std::string, std::string> options = {});
/// `[i, j]`.
[[nodiscard]] std::string list_text(const std::vector<std::string>& items);
[[nodiscard]] std::string list_text(const NameSet& items);

}  // namespace rtcg::loopy
