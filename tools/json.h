#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rtcg::tools {

/// Prints JSON with two blanks for each level, and a line break. Bytes that are not UTF-8, which
/// names of files may have, become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

}  // namespace rtcg::tools
