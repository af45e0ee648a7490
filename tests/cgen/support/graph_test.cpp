#include "rtcg/cgen/support/graph.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace rtcg {
namespace {

using Nodes = std::vector<std::size_t>;

/// Whether a path of one edge or more leads from one node to another, found by trying.
bool leads_to(const Edges& edges, std::size_t from, std::size_t to) {
  Nodes reached = edges[from];
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::size_t each : edges[reached[i]]) {
      if (std::count(reached.begin(), reached.end(), each) == 0) {
        reached.push_back(each);
      }
    }
  }
  return std::count(reached.begin(), reached.end(), to) != 0;
}

Edges random_edges(std::mt19937& random, bool has_cycles) {
  Edges edges(1 + random() % 8);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::size_t limit = has_cycles ? edges.size() : i;
    for (std::size_t count = limit == 0 ? 0 : random() % 4; count > 0; --count) {
      edges[i].push_back(random() % limit);
    }
  }
  return edges;
}

TEST(SortedTopologically, PutsTheSmallestNodeFirst) {
  EXPECT_EQ(sorted_topologically({{}, {3}, {}, {}}), (Nodes{0, 2, 3, 1}));
  EXPECT_EQ(sorted_topologically({{1}, {2}, {0}}), std::nullopt);
  EXPECT_EQ(sorted_topologically({}), Nodes{});
}

TEST(FindCycle, GivesTheNodesInOrder) {
  EXPECT_EQ(find_cycle({{}, {0}, {1}}), Nodes{});
  EXPECT_EQ(find_cycle({{2}, {0}, {1}}), (Nodes{1, 2, 0}));
  EXPECT_EQ(find_cycle({{}, {1}}), Nodes{1});
}

TEST(FindCycle, FindsOneIfThereIsOne) {
  std::mt19937 random(1);
  std::size_t cycles = 0;
  for (int i = 0; i < 2000; ++i) {
    const Edges before = random_edges(random, true);
    const Nodes cycle = find_cycle(before);
    EXPECT_EQ(cycle.empty(), sorted_topologically(before).has_value());
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      const Nodes& those = before[cycle[(k + 1) % cycle.size()]];
      EXPECT_EQ(std::count(those.begin(), those.end(), cycle[k]) != 0, true);
    }
    cycles += cycle.empty() ? 0 : 1;
  }
  EXPECT_GT(cycles, 500U);
}

TEST(TransitiveClosure, HasAnEdgeForEachPath) {
  EXPECT_EQ(transitive_closure({{1}, {2}, {}}), (Edges{{1, 2}, {2}, {}}));
  EXPECT_EQ(transitive_closure({{1}, {0}}), (Edges{{0, 1}, {0, 1}}));
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    const Edges edges = random_edges(random, true);
    const Edges closure = transitive_closure(edges);
    for (std::size_t from = 0; from < edges.size(); ++from) {
      for (std::size_t to = 0; to < edges.size(); ++to) {
        const bool is_found = std::count(closure[from].begin(), closure[from].end(), to) == 1;
        EXPECT_EQ(is_found, leads_to(edges, from, to));
      }
    }
  }
}

TEST(TransitiveReduction, LeavesTheEdgesThatNoPathReplaces) {
  EXPECT_EQ(transitive_reduction({{}, {0}, {0, 1}}), (Edges{{}, {0}, {1}}));
  EXPECT_EQ(transitive_reduction({}), Edges{});
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const Edges edges = random_edges(random, false);
    const Edges reduced = transitive_reduction(edges);
    EXPECT_EQ(transitive_closure(reduced), transitive_closure(edges));
    for (std::size_t node = 0; node < reduced.size(); ++node) {
      for (const std::size_t each : reduced[node]) {
        EXPECT_NE(std::count(edges[node].begin(), edges[node].end(), each), 0);
        Edges without = reduced;
        std::erase(without[node], each);
        EXPECT_FALSE(leads_to(without, node, each));
      }
    }
  }
}

TEST(ColorNodes, GivesNeighboursDifferentColors) {
  EXPECT_EQ(color_nodes({}), Nodes{});
  EXPECT_EQ(color_nodes({{}, {}}), (Nodes{0, 0}));
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    const Edges below = transitive_reduction(random_edges(random, false));  // each edge once
    Edges neighbours = below;
    for (std::size_t node = 0; node < below.size(); ++node) {
      for (const std::size_t each : below[node]) {
        neighbours[each].push_back(node);
      }
    }
    const Nodes colors = color_nodes(neighbours);
    std::size_t most = 0;
    for (std::size_t node = 0; node < below.size(); ++node) {
      most = std::max(most, neighbours[node].size());
      for (const std::size_t each : below[node]) {
        EXPECT_NE(colors[node], colors[each]);
      }
    }
    EXPECT_LE(*std::max_element(colors.begin(), colors.end()), most);
  }
}

// Nodes 0 and 1 are the ends: coloured in the order of their numbers, 2 would get a third colour.
TEST(ColorNodes, TakesTwoColorsForAPath) {
  const Nodes colors = color_nodes({{2}, {3}, {0, 3}, {2, 1}});
  EXPECT_EQ(*std::max_element(colors.begin(), colors.end()), 1U);
}

}  // namespace
}  // namespace rtcg
