#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

namespace rtcg::loopy {

/// The parts between separators outside of all brackets, without blanks around them.
[[nodiscard]] std::vector<std::string> split_outside_brackets(std::string_view text,
                                                              char separator);

}  // namespace rtcg::loopy
