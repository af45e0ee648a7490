#include "rtcg/loopy/tune/tune_log.h"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/append_line.h"
#include "rtcg/loopy/tune/json_line.h"

namespace rtcg::loopy {
namespace {

constexpr int log_schema = 1;

template <class T>
void add_known(nlohmann::ordered_json& json, const char* name, const std::optional<T>& value) {
  if (value) {
    json[name] = *value;
  }
}

template <class T>
std::optional<T> known(const nlohmann::json& json, const char* name) {
  return json.contains(name) ? std::optional(json.at(name).get<T>()) : std::nullopt;
}

std::string to_line(const std::string& key, const TunedCandidate& tuned) {
  nlohmann::ordered_json json = {{"schema", log_schema}, {"key", key}, {"slicing", tuned.words}};
  if (!tuned.refusal.empty()) {
    json["refusal"] = tuned.refusal;
    return json_line(json);
  }
  json["us"] = tuned.microseconds;
  add_known(json, "registers", tuned.resources.registers);
  add_known(json, "shared_bytes", tuned.resources.shared_bytes);
  add_known(json, "spill_store_bytes", tuned.resources.spill_store_bytes);
  add_known(json, "spill_load_bytes", tuned.resources.spill_load_bytes);
  return json_line(json);
}

/// What a line says of a slicing; nothing where it is of another key, or cannot be read.
std::optional<std::pair<std::string, TunedCandidate>> parse_line(const std::string& line,
                                                                 const std::string& key) {
  const std::optional<nlohmann::json> found = parse_json_line(line, log_schema);
  if (!found) {
    return std::nullopt;
  }
  const nlohmann::json& json = *found;
  try {
    if (json.at("key") != key) {
      return std::nullopt;
    }
    TunedCandidate tuned;
    tuned.refusal = json.value("refusal", std::string());
    tuned.microseconds = tuned.refusal.empty() ? json.at("us").get<double>() : 0;
    tuned.resources.registers = known<int>(json, "registers");
    tuned.resources.shared_bytes = known<std::size_t>(json, "shared_bytes");
    tuned.resources.spill_store_bytes = known<std::size_t>(json, "spill_store_bytes");
    tuned.resources.spill_load_bytes = known<std::size_t>(json, "spill_load_bytes");
    return std::pair(json.at("slicing").get<std::string>(), std::move(tuned));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

TuneLog::TuneLog(std::string path, std::string key) : path_(std::move(path)), key_(std::move(key)) {
  if (path_.empty()) {
    return;
  }
  check_is_appendable(path_);
  std::ifstream stream(path_);
  for (std::string line; std::getline(stream, line);) {
    if (auto entry = parse_line(line, key_)) {
      known_.insert_or_assign(std::move(entry->first), std::move(entry->second));
    }
  }
}

const TunedCandidate* TuneLog::find(const std::string& words) const {
  const auto found = known_.find(words);
  return found == known_.end() ? nullptr : &found->second;
}

void TuneLog::add(const TunedCandidate& tuned) {
  if (path_.empty()) {
    return;
  }
  if (const std::string problem = append_line(path_, to_line(key_, tuned)); !problem.empty()) {
    throw InvalidInput("loopy.tune.unwritable_log",
                       fmt::format("cannot append to '{}': {}", path_, problem));
  }
}

}  // namespace rtcg::loopy
