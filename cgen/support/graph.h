#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <optional>
#include <vector>

// Questions about directed graphs of numbered nodes. Boost.Graph answers them, except for the order
// with the smallest numbers first, which it does not have. Equal graphs get equal answers.

namespace rtcg {

/// For each node, the ends of its edges.
using Edges = std::vector<std::vector<std::size_t>>;

/// The nodes such that those of `before[i]` precede i. Of several nodes that may come next, the
/// smallest does.
///
/// @returns nothing if the graph has a cycle
/// @cost O(edges + nodes log nodes)
[[nodiscard]] std::optional<std::vector<std::size_t>> sorted_topologically(const Edges& before);

/// The nodes of the first cycle that a depth-first search finds: each is in `before` of the next
/// one, the last one in that of the first. Empty if there is no cycle.
///
/// @cost O(edges + nodes)
[[nodiscard]] std::vector<std::size_t> find_cycle(const Edges& before);

/// For each node, the nodes that a path of at least one edge reaches, ascending. A node on a cycle
/// reaches itself.
///
/// @cost O(nodes * edges)
[[nodiscard]] Edges transitive_closure(const Edges& edges);

/// The fewest edges with the same transitive closure: an edge goes if a longer path does its work.
///
/// @param edges  without a cycle
/// @returns the edges that stay, ascending
/// @cost O(nodes * edges + nodes^2)
[[nodiscard]] Edges transitive_reduction(const Edges& edges);

/// Colours of the nodes, from 0 on, such that neighbours have different ones. Few of them: nodes
/// are coloured one by one, those with the fewest neighbours last.
///
/// @param neighbours  of each node: each once, not the node itself, each pair in both directions
/// @source D. W. Matula, L. L. Beck: Smallest-last ordering and clustering and graph coloring
///         algorithms, J. ACM 30, 1983
/// @cost O(nodes + pairs)
[[nodiscard]] std::vector<std::size_t> color_nodes(const Edges& neighbours);

}  // namespace rtcg
