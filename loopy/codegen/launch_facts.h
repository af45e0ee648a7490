#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/codegen/emit_context.h"
#include "rtcg/loopy/codegen/statement_facts.h"
#include "rtcg/loopy/codegen/target_rules.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// Loops of more iterations, and lanes of more values, are not written out.
constexpr std::int64_t most_copies = 1024;

/// One launch as all passes see it. Nothing of it changes while code is made.
struct LaunchFacts {
  /// @param groups  axes of the grid of whose blocks one alone runs the tree
  LaunchFacts(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes,
              const TargetRules& rules, const GenerateOptions& options,
              const std::vector<int>& groups = {});

  const Kernel& kernel;
  const LaunchAxes& axes;
  const TargetRules& rules;
  const GenerateOptions& options;
  const std::vector<std::size_t> statements;
  const StatementFacts facts;
  const bool has_calls;
  /// What holds in the whole kernel.
  const ContextRef context;
  /// The axes of the block, outermost loop first, if the kernel loops over its threads.
  const std::vector<const HardwareAxis*> thread_loops;
  /// Private temporaries with an element for each thread: their values live from one loop over the
  /// threads to another.
  const std::set<std::string> spread;

  /// Axes that a statement is not spread over although it writes to memory that others see: it
  /// runs in their first block or thread.
  [[nodiscard]] const std::vector<const HardwareAxis*>& unused_axes(std::size_t statement) const {
    return unused_axes_.at(statement);
  }
  /// First and last value, if they are constants.
  [[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(
      const std::string& iname) const;
  /// @throws InvalidInput  loopy.generate.too_many_copies
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range_of_lane(const std::string& lane) const;
  /// Whether all names have values there.
  [[nodiscard]] bool is_testable(const Affine& expr, const EmitContext& context) const;
  [[nodiscard]] bool differs_by_thread(const Affine& expr) const;
  /// @throws InvalidInput  loopy.generate.too_many_statements, if `count` are more than allowed
  void check_length(std::int64_t count, std::size_t statement) const;

 private:
  [[nodiscard]] std::vector<const HardwareAxis*> find_unused_axes(
      std::size_t statement, const std::vector<int>& groups) const;

  std::map<std::size_t, std::vector<const HardwareAxis*>> unused_axes_;
  /// Found when they are asked for.
  mutable std::map<std::string, std::optional<std::pair<std::int64_t, std::int64_t>>> ranges_;
};

}  // namespace rtcg::loopy
