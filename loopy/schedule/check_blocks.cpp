#include "rtcg/loopy/schedule/check_blocks.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/schedule/race_test.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void throw_needs_global_barrier(const Kernel& kernel, const SharedAccess& first,
                                             const SharedAccess& second,
                                             const std::string& example) {
  throw InvalidInput(
      "loopy.insert_barriers.needs_global_barrier",
      fmt::format(
          "blocks share '{0}': '{1}' {2} what '{3}' {4} in another block, and blocks cannot "
          "wait for each other; put '... gbarrier' between the two, which makes two "
          "launches (in a slicing: 'launch before' an iname of '{1}'), or keep the elements "
          "of one block to itself{5}",
          first.variable, kernel.instructions[second.statement].id,
          second.is_write ? "writes" : "reads", kernel.instructions[first.statement].id,
          first.is_write ? "writes" : "reads", example));
}

/// All accesses of one launch to one array against each other: blocks run at their own pace, so
/// that neither the order of statements nor that of iterations counts, but for the host's loops.
void check_launch(const Kernel& kernel, const VariableIndex& variables, const LaunchTree& launch,
                  const std::vector<std::vector<SharedAccess>>& all) {
  const std::vector<std::size_t> statements = statements_in(launch.tree);
  const RaceTest test(kernel, variables, statements);
  if (!test.has_axes(AxisKind::grid)) {
    return;
  }
  std::unordered_map<std::string_view, std::vector<const SharedAccess*>> by_variable;
  for (const std::size_t statement : statements) {
    for (const SharedAccess& access : all[statement]) {
      if (access.is_global) {
        by_variable[access.variable].push_back(&access);
      }
    }
  }
  // in the order of their names: of several problems the same one is always reported
  std::vector<std::string_view> names;
  for (const auto& [variable, accesses] : by_variable) {
    const bool is_written =
        std::any_of(accesses.begin(), accesses.end(),
                    [](const SharedAccess* access) { return access->is_write; });
    if (is_written && accesses.size() > 1) {
      names.push_back(variable);
    }
  }
  std::sort(names.begin(), names.end());
  const Relation blocks{launch.host_loops, std::nullopt, false};
  for (const std::string_view variable : names) {
    const std::vector<const SharedAccess*>& accesses = by_variable.at(variable);
    for (std::size_t second = 0; second < accesses.size(); ++second) {
      for (std::size_t first = 0; first < second; ++first) {
        const SharedAccess& one = *accesses[first];
        const SharedAccess& other = *accesses[second];
        if (need_order(one, other) && test.may_race(one, other, blocks)) {
          throw_needs_global_barrier(kernel, one, other, test.example(one, other, blocks));
        }
      }
    }
  }
}

}  // namespace

void check_blocks(const Kernel& kernel, const VariableIndex& variables, const LoopTree& tree,
                  const std::vector<std::vector<SharedAccess>>& accesses) {
  for (const LaunchTree& launch : launches_of(tree)) {
    check_launch(kernel, variables, launch, accesses);
  }
}

}  // namespace rtcg::loopy
