#pragma once

#include <string>

namespace rtcg::loopy {

/// Appends a line by one write, so that the lines of several processes stay apart; a line that a
/// killed process left torn is ended first. Empty, or what failed. Internal to tune.
[[nodiscard]] std::string append_line(const std::string& path, const std::string& line);

}  // namespace rtcg::loopy
