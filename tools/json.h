#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rtcg::tools {

/// Prints it with two blanks a level, and a line break. Bytes that are no UTF-8, as names of files
/// may have, become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace rtcg::tools
