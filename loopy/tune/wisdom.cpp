#include "rtcg/loopy/tune/wisdom.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/canonical_form.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/append_line.h"
#include "rtcg/loopy/tune/json_line.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::loopy {
namespace {

constexpr int wisdom_schema = 1;

std::string to_line(const WisdomEntry& entry) {
  nlohmann::ordered_json json = {{"schema", wisdom_schema},
                                 {"kernel", entry.kernel},
                                 {"device", entry.device},
                                 {"architecture", entry.architecture},
                                 {"parameters", nlohmann::ordered_json::object()},
                                 {"slicing", entry.decision},
                                 {"us", entry.microseconds}};
  for (const auto& [name, value] : entry.parameters) {
    json["parameters"][name] = value;
  }
  return json_line(json);
}

std::optional<WisdomEntry> parse_line(const std::string& line) {
  const std::optional<nlohmann::json> found = parse_json_line(line, wisdom_schema);
  if (!found) {
    return std::nullopt;
  }
  const nlohmann::json& json = *found;
  try {
    WisdomEntry entry{json.at("kernel"),  json.at("device"),          json.at("architecture"), {},
                      json.at("slicing"), json.at("us").get<double>()};
    for (const auto& [name, value] : json.at("parameters").items()) {
      if (!value.is_number_integer()) {
        return std::nullopt;
      }
      entry.parameters[name] = value.get<std::int64_t>();
    }
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// 0 for equal sizes, 1 where one parameter is e times the other; nothing for other parameters.
std::optional<double> distance(const IntegerValues& a, const IntegerValues& b) {
  double sum = 0;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end() || a.size() != b.size()) {
      return std::nullopt;
    }
    sum += std::abs(std::log((static_cast<double>(std::max<std::int64_t>(value, 0)) + 1) /
                             (static_cast<double>(std::max<std::int64_t>(other->second, 0)) + 1)));
  }
  return a.size() == b.size() ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::string kernel_key(const Kernel& kernel) {
  Kernel typed = infer_types(expand_subst(kernel));
  typed.name.clear();
  typed.recipe.clear();
  typed.iname_tags.clear();
  typed.loop_priorities.clear();
  return fmt::format("{:016x}", text_hash(to_string(typed)));
}

namespace {

IntegerValues renamed(const IntegerValues& parameters, const Renaming& names) {
  IntegerValues result;
  for (const auto& [name, value] : parameters) {
    const auto found = names.find(name);
    result[found == names.end() ? name : found->second] = value;
  }
  return result;
}

/// None if the text is not a slicing.
std::set<std::string> laid_out_arrays(const std::string& slicing) {
  std::set<std::string> arrays;
  try {
    for (const LayoutPlan& each : parse_slicing(slicing).layouts) {
      arrays.insert(each.array);
    }
  } catch (const InvalidInput&) {
  }
  return arrays;
}

}  // namespace

bool lays_out_only(const std::string& slicing, const std::vector<std::string>& free_layouts) {
  const std::set<std::string> arrays = laid_out_arrays(slicing);
  return std::all_of(arrays.begin(), arrays.end(), [&](const std::string& each) {
    return std::find(free_layouts.begin(), free_layouts.end(), each) != free_layouts.end();
  });
}

Wisdom::Wisdom(std::string path) : path_(std::move(path)) {
  const std::string& folder = runtime::CompileCache::standard().folder();
  if (path_.empty() && !folder.empty() && runtime::why_untrusted(folder).empty()) {
    path_ = (std::filesystem::path(folder) / "wisdom.jsonl").string();
  }
}

void Wisdom::check() const {
  check_is_appendable(path_);
}

std::string Wisdom::why_unwritable() const {
  if (path_.empty()) {
    return "the user has no folder: set RTCG_CACHE_DIR";
  }
  const std::string problem = append_line(path_, "");
  return problem.empty() ? problem : fmt::format("cannot append to '{}': {}", path_, problem);
}

void Wisdom::add(const WisdomEntry& entry) const {
  if (path_.empty()) {
    throw InvalidInput("loopy.wisdom.unwritable", why_unwritable());
  }
  check();
  if (const std::string problem = append_line(path_, to_line(entry)); !problem.empty()) {
    throw InvalidInput("loopy.wisdom.unwritable",
                       fmt::format("cannot append to '{}': {}", path_, problem));
  }
}

std::vector<WisdomEntry> Wisdom::entries() const {
  runtime::check_is_trusted(path_, "wisdom");
  std::vector<WisdomEntry> result;
  std::ifstream stream(path_);
  for (std::string line; std::getline(stream, line);) {
    if (auto entry = parse_line(line)) {
      result.push_back(std::move(*entry));
    }
  }
  return result;
}

void Wisdom::add(const Kernel& kernel, const runtime::Device& device,
                 const IntegerValues& parameters, const Slicing& slicing,
                 double microseconds) const {
  WisdomEntry entry{kernel_key(kernel), device.identity(),  device.info().target,
                    parameters,         to_string(slicing), microseconds};
  // an order of axes, names of rules, of stored values and of loops that nests get are those of the
  // kernel as it is written
  const bool is_canonical = slicing.layouts.empty() && slicing.shared_values.empty() &&
                            slicing.stores.empty() && slicing.inlines.empty() &&
                            slicing.together.empty() && slicing.phases.empty() &&
                            !slicing.is_apart;
  const CanonicalForm form = is_canonical ? canonical_form(kernel) : CanonicalForm();
  if (!form.key.empty()) {
    entry.kernel = form.key;
    entry.parameters = renamed(parameters, form.names);
    entry.decision = to_string(to_canonical(slicing, form));
  }
  add(entry);
}

namespace {

/// Those of `key` for the device's architecture, the best matches first.
std::vector<WisdomEntry> nearest_of(std::vector<WisdomEntry> all, const std::string& key,
                                    const runtime::Device& device, const IntegerValues& parameters,
                                    const std::vector<std::string>& free_layouts) {
  // a later entry for the same problem and the same layouts replaces earlier ones, which were timed
  // under another load; entries with different layouts are ordered by time
  using Order = std::tuple<bool, double, bool, double>;
  using Problem = std::tuple<std::string, IntegerValues, std::set<std::string>>;
  std::set<Problem> known;
  std::vector<std::pair<Order, WisdomEntry>> fitting;
  std::reverse(all.begin(), all.end());
  for (WisdomEntry& entry : all) {
    const auto apart = distance(parameters, entry.parameters);
    if (entry.kernel == key && entry.architecture == device.info().target && apart &&
        lays_out_only(entry.decision, free_layouts)) {
      const bool is_latest =
          known.emplace(entry.device, entry.parameters, laid_out_arrays(entry.decision)).second;
      const Order order{entry.device != device.identity(), *apart, !is_latest,
                        is_latest ? entry.microseconds : 0};
      fitting.emplace_back(order, std::move(entry));
    }
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<WisdomEntry> result;
  for (auto& [order, entry] : fitting) {
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace

std::vector<WisdomEntry> Wisdom::nearest(const Kernel& kernel, const runtime::Device& device,
                                         const IntegerValues& parameters,
                                         const std::vector<std::string>& free_layouts) const {
  const std::string key = kernel_key(kernel);
  const CanonicalForm form = canonical_form(kernel);
  Renaming own_names;
  for (const auto& [own, canonical] : form.names) {
    own_names.emplace(canonical, own);
  }
  std::vector<WisdomEntry> all = entries();
  for (WisdomEntry& entry : all) {
    if (!form.key.empty() && entry.kernel == form.key) {
      try {
        entry.decision = to_string(from_canonical(parse_slicing(entry.decision), form));
        entry.parameters = renamed(entry.parameters, own_names);
        entry.kernel = key;
      } catch (const InvalidInput&) {
        continue;  // of another version, which wrote other words
      }
    }
  }
  return nearest_of(std::move(all), key, device, parameters, free_layouts);
}

std::vector<WisdomEntry> Wisdom::nearest(const std::string& key, const runtime::Device& device,
                                         const IntegerValues& parameters,
                                         const std::vector<std::string>& free_layouts) const {
  return nearest_of(entries(), key, device, parameters, free_layouts);
}

std::optional<WisdomEntry> Wisdom::find(const Kernel& kernel, const runtime::Device& device,
                                        const IntegerValues& parameters,
                                        const std::vector<std::string>& free_layouts) const {
  std::vector<WisdomEntry> fitting = nearest(kernel, device, parameters, free_layouts);
  return fitting.empty() ? std::nullopt : std::optional(std::move(fitting.front()));
}

std::optional<WisdomEntry> Wisdom::find_exact(const Kernel& kernel, const runtime::Device& device,
                                              const IntegerValues& parameters,
                                              const std::vector<std::string>& free_layouts) const {
  std::optional<WisdomEntry> found = find(kernel, device, parameters, free_layouts);
  return found && found->device == device.identity() && found->parameters == parameters
             ? found
             : std::nullopt;
}

}  // namespace rtcg::loopy
