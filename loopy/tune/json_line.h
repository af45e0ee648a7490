#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

// The lines of the files that tune keeps: wisdom, logs, packs.

namespace rtcg::loopy {

/// One line; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);
/// An object with this schema; nothing if the line is not one.
[[nodiscard]] std::optional<nlohmann::json> parse_json_line(const std::string& line, int schema);

}  // namespace rtcg::loopy
