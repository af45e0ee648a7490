#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct LoopTreeNode;

/// All iterations of an iname around `body`.
struct LoopNode {
  std::string iname{};
  std::vector<LoopTreeNode> body;  // clang 14 requires a complete type for braces
};
/// A statement: its place in kernel.instructions.
struct StatementNode {
  std::size_t index = 0;
};
/// All threads of a block meet here.
struct BarrierNode {
  /// Why: the array, and the statements that it keeps apart.
  std::string reason{};
};
/// The kernel is ended here and another one launched.
struct LaunchBoundaryNode {
  bool is_passed_by_last_block = false;  ///< as BarrierInstruction says
};

using LoopTreeKinds = cgen::KindList<LoopNode, StatementNode, BarrierNode, LaunchBoundaryNode>;

/// Loops, statements and barriers in the order in which they run. Inames of the grid, of the block
/// and of lanes are not loops: their statements are where their other inames put them.
struct LoopTreeNode {
  LoopTreeKinds::Variant kind;
};
inline const LoopTreeKinds::Variant& kinds(const LoopTreeNode& node) {
  return node.kind;
}
using LoopTree = std::vector<LoopTreeNode>;

/// The loops around each statement and their order: from the inames that statements share, the
/// dependencies of domains, the loop priorities, and the order of the statements. Deterministic and
/// without search. The tree has no barriers but those of the user.
///
/// @param kernel  preprocessed: no reductions, no rules
/// @throws InvalidInput  loopy.schedule.dependency_cycle, loopy.schedule.unschedulable,
///                       loopy.schedule.priority_conflict
/// @cost linear in statements and accesses, but for sorting
[[nodiscard]] LoopTree build_loop_tree(const Kernel& kernel);

/// For each statement those that must run before it: stated ones, and those that follow from
/// accesses to the same variables.
[[nodiscard]] std::vector<std::vector<std::size_t>> statement_order(const Kernel& kernel);

[[nodiscard]] bool contains_barrier(const LoopTreeNode& node);
/// The statements within, in order.
[[nodiscard]] std::vector<std::size_t> statements_in(const LoopTreeNode& node);
[[nodiscard]] std::vector<std::size_t> statements_in(const LoopTree& tree);

/// Inames that are loops of the tree, not axes of hardware and not lanes.
[[nodiscard]] bool is_loop_iname(const Kernel& kernel, const std::string& iname);

/// An indented listing.
[[nodiscard]] std::string to_string(const Kernel& kernel, const LoopTree& tree);

}  // namespace rtcg::loopy
