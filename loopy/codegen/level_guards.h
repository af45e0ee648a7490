#pragma once
// Internal header: it is not installed.

#include <map>
#include <vector>

#include "rtcg/loopy/codegen/launch_facts.h"

namespace rtcg::loopy {

/// Which constraints have to be tested before the nodes of one level of the tree.
///
/// A guard of a node is a constraint that all its statements need, that is not known to hold, and
/// that can be tested at the level, with the values of inames put in.
class LevelGuards {
 public:
  /// The arguments must outlive the guards.
  LevelGuards(const LaunchFacts& launch, const LoopTree& nodes, const EmitContext& context);

  /// Guards of the node at a place.
  [[nodiscard]] const Guards& of(std::size_t place) const { return needed_[place]; }
  /// What all nodes of a run need.
  [[nodiscard]] Guards shared_by(std::size_t begin, std::size_t end) const;
  /// The guards under which the node at `first` is put: its own, or, if it needs none, those of a
  /// later node that all in between may share.
  [[nodiscard]] Guards of_run(std::size_t first);
  /// One past the last node that needs the guards: all from `first` on may share them.
  [[nodiscard]] std::size_t end_of_run(std::size_t first, const Guards& guards);

 private:
  [[nodiscard]] Guards of_node(const LoopTreeNode& node);
  [[nodiscard]] const Guards& of_constraints(const ConstraintSet& constraints);
  [[nodiscard]] Guards of_statement(std::size_t statement, const ConstraintSet& constraints);
  /// Whether the node has statements, in the loop around it, that hand registers on to the loop's
  /// next iteration and need no guards of their own, see StatementFacts::hands_on().
  [[nodiscard]] bool hands_on(const LoopTreeNode& node) const;
  /// Whether all statements of the node run only where the guards hold, and may be tested with
  /// others.
  [[nodiscard]] bool may_share(const LoopTreeNode& node, const Guards& guards);

  const LaunchFacts& launch_;
  const LoopTree& nodes_;
  const EmitContext& context_;
  std::map<const ConstraintSet*, Guards> known_;
  std::vector<Guards> needed_;
};

}  // namespace rtcg::loopy
