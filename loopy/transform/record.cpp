#include "rtcg/loopy/transform/record.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rtcg::loopy {

void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
            std::map<std::string, std::string> options) {
  std::erase_if(options, [](const auto& option) { return option.second.empty(); });
  kernel.recipe.push_back({std::move(transformation), std::move(arguments), std::move(options)});
}

void RecordedStep::record(Kernel& kernel, std::string transformation,
                          std::vector<std::string> arguments,
                          std::map<std::string, std::string> options) const {
  remove_parts(kernel);
  loopy::record(kernel, std::move(transformation), std::move(arguments), std::move(options));
}

std::string list_text(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}
std::string list_text(const NameSet& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace rtcg::loopy
