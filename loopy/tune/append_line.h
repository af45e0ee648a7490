#pragma once
// Internal header: it is not installed.

#include <string>

namespace rtcg::loopy {

/// Appends a line by one write, so that the lines of several processes stay apart; a line that a
/// killed process left torn is ended first; an empty line adds nothing more. Empty, or what failed.
[[nodiscard]] std::string append_line(const std::string& path, const std::string& line);

/// Nothing is appended to a file that rtcg did not write: its lines begin with their schema.
/// @throws InvalidInput  loopy.tune.foreign_file
void check_is_appendable(const std::string& path);

}  // namespace rtcg::loopy
