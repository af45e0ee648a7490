#pragma once
// Internal header: it is not installed.

#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/codegen/statement_facts.h"
#include "rtcg/loopy/schedule/loop_tree.h"

// The threads of a block as loops of the host: the tree is split at barriers.

namespace rtcg::loopy {

/// How many of a node's statements differ by thread; with a barrier among them, some do. So do
/// those of a loop around loops, and of one around calls of functions or choices: compilers
/// vectorise a loop over threads around one loop of sums and products alone.
enum class ThreadShare { none, all, some };
[[nodiscard]] ThreadShare thread_share(const StatementFacts& facts, const LoopTreeNode& node);

/// Runs of nodes that go into one loop over the threads: no more than one loop among them.
[[nodiscard]] std::vector<LoopTree> thread_segments(const StatementFacts& facts,
                                                    const LoopTree& nodes);

/// The private temporaries that differ by thread and outlive a segment: more than one touches them,
/// or one that a loop repeats reads what it left there before.
[[nodiscard]] std::set<std::string> values_across_segments(const Kernel& kernel,
                                                           const StatementFacts& facts,
                                                           const LoopTree& tree);

}  // namespace rtcg::loopy
