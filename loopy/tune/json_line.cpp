#include "rtcg/loopy/tune/json_line.h"

namespace rtcg::loopy {

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<nlohmann::json> parse_json_line(const std::string& line, int schema) {
  nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const bool is_ours = json.is_object() && json.contains("schema") &&
                       json["schema"].is_number_integer() && json["schema"] == schema;
  return is_ours ? std::optional(std::move(json)) : std::nullopt;
}

}  // namespace rtcg::loopy
