#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

namespace rtcg {

/// Those of `candidates` that `name` may be a misspelling of, the likeliest first; at most three.
[[nodiscard]] std::vector<std::string> close_names(std::string_view name,
                                                   const std::vector<std::string>& candidates);

}  // namespace rtcg
