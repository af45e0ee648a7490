#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

struct LaunchAxes;

/// What one launch runs, and the loops around it, which the host runs: outermost first.
struct LaunchTree {
  std::vector<std::string> host_loops;
  LoopTree tree;
  /// Whether the last blocks of the launch before may run it: only a barrier for these is between
  /// the two.
  bool is_for_last_blocks = false;
  /// What the last block of each group runs when all blocks of the group have run `tree`.
  LoopTree after_last_block{};
};

/// Cuts a tree at its launch boundaries. A loop with a boundary within is the host's: its beginning
/// and its end, and that of each iteration, end a launch as well. In the order in which they run;
/// launches without a statement are left out.
[[nodiscard]] std::vector<LaunchTree> launches_of(const LoopTree& tree);

/// The same, where launches go on with the last blocks if they can: these use the grid and the
/// threads of the launch, and of what its blocks write they read only what those of their own group
/// have written.
[[nodiscard]] std::vector<LaunchTree> joined_launches_of(const Kernel& kernel,
                                                         const LoopTree& tree);
/// Axes of the grid that the blocks of a group differ along; for a launch with a last block.
/// @param all  axes of the launch
[[nodiscard]] std::vector<int> axes_of_groups(const Kernel& kernel, const LaunchTree& launch,
                                              const LaunchAxes& all);
/// Temporaries in global memory that the last block reads and other blocks of the launch write.
[[nodiscard]] NameSet parts_of_blocks(const Kernel& kernel, const LaunchTree& launch);

/// Whether a loop is the host's.
[[nodiscard]] bool contains_launch_boundary(const LoopTreeNode& node);
/// The inames of loops with a global barrier within.
[[nodiscard]] NameSet host_loops_of(const Kernel& kernel);

/// Whether a launch ends between two statements, by their places in the kernel.
[[nodiscard]] bool launch_ends_between(const Kernel& kernel, std::size_t one, std::size_t other);

/// Those around all of the statements.
[[nodiscard]] NameSet host_loops_around(const Kernel& kernel,
                                        const std::vector<std::size_t>& statements);

/// Whether a temporary of threads or blocks may carry a value from one iteration of a host loop to
/// the next, which is another launch. If not, each iteration sets the values that it reads.
///
/// @param kernel      rules are expanded
/// @param statements  those of the one launch that access it, in order
[[nodiscard]] bool outlives_iteration(const Kernel& kernel, const std::string& temporary,
                                      const std::vector<std::size_t>& statements,
                                      const NameSet& host_loops);

}  // namespace rtcg::loopy
