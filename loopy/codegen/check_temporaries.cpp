#include "rtcg/loopy/codegen/check_temporaries.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

/// The statements of a launch that touch each variable, in order.
using Uses = std::map<std::string, std::vector<std::size_t>, std::less<>>;

Uses uses_in(const Kernel& kernel, const LoopTree& launch) {
  Uses uses;
  for (const std::size_t statement : statements_in(launch)) {
    NameSet touched = written_variables(kernel.instructions[statement]);
    touched.merge(read_variables(kernel, kernel.instructions[statement]));
    for (const std::string& each : touched) {
      uses[each].push_back(statement);
    }
  }
  return uses;
}

}  // namespace

void check_temporaries(const Kernel& kernel, const std::vector<LaunchTree>& launches,
                       const NameSet& own) {
  if (launches.size() < 2 && (launches.empty() || launches.front().host_loops.empty())) {
    return;
  }
  std::vector<Uses> used;
  used.reserve(launches.size());
  for (const LaunchTree& launch : launches) {
    used.push_back(uses_in(kernel, launch.tree));
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::global ||
        temporary.address_space == AddressSpace::constant) {
      continue;
    }
    const auto uses = [&](const Uses& names) { return names.count(temporary.name) != 0; };
    const auto first = std::find_if(used.begin(), used.end(), uses);
    if (first == used.end()) {
      continue;
    }
    const std::vector<std::string>& loops =
        launches[static_cast<std::size_t>(first - used.begin())].host_loops;
    const bool is_elsewhere = std::any_of(first + 1, used.end(), uses);
    if (is_elsewhere || (!loops.empty() && own.count(temporary.name) == 0 &&
                         outlives_iteration(kernel, temporary.name, first->at(temporary.name),
                                            {loops.begin(), loops.end()}))) {
      throw InvalidInput(
          "loopy.generate.temporary_across_launches",
          fmt::format("temporary '{}' is used {}, where one launch ends and another begins: "
                      "set_temporary_address_space to global, save_and_reload_temporaries, or keep "
                      "it in an array that is an argument",
                      temporary.name,
                      is_elsewhere ? std::string("before and after a global barrier")
                                   : fmt::format("in an iteration of '{}' and in the next one",
                                                 loops.back())));
    }
  }
}

}  // namespace rtcg::loopy
