#include "rtcg/cgen/support/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/sequential_vertex_coloring.hpp>
#include <boost/graph/smallest_last_ordering.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <boost/graph/transitive_reduction.hpp>

namespace rtcg {
namespace {

using DirectedGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

DirectedGraph graph_of(const Edges& edges) {
  DirectedGraph graph(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const std::size_t each : edges[i]) {
      boost::add_edge(i, each, graph);
    }
  }
  return graph;
}

/// The edges of a graph that Boost made of another one, between the nodes of that one.
/// @param place_of  for each node of that graph the one that Boost made of it
Edges edges_of(const DirectedGraph& graph, const std::vector<std::size_t>& place_of) {
  std::vector<std::size_t> original(place_of.size());
  for (std::size_t i = 0; i < place_of.size(); ++i) {
    original[place_of[i]] = i;
  }
  Edges edges(place_of.size());
  for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
    edges[original[boost::source(edge, graph)]].push_back(original[boost::target(edge, graph)]);
  }
  for (std::vector<std::size_t>& each : edges) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  return edges;
}

/// Keeps the path of the search, and the part of it that the first edge back closes.
class FirstCycle : public boost::default_dfs_visitor {
 public:
  FirstCycle(std::vector<std::size_t>& path, std::vector<std::size_t>& cycle)
      : path_(&path), cycle_(&cycle) {}

  void discover_vertex(std::size_t node, const DirectedGraph&) { path_->push_back(node); }
  void finish_vertex(std::size_t, const DirectedGraph&) { path_->pop_back(); }
  void back_edge(const DirectedGraph::edge_descriptor& edge, const DirectedGraph& graph) {
    if (cycle_->empty()) {
      cycle_->assign(std::find(path_->begin(), path_->end(), boost::target(edge, graph)),
                     path_->end());
    }
  }

 private:
  std::vector<std::size_t>* path_;  // Boost copies visitors
  std::vector<std::size_t>* cycle_;
};

}  // namespace

std::optional<std::vector<std::size_t>> sorted_topologically(const Edges& before) {
  std::vector<std::vector<std::size_t>> after(before.size());
  std::vector<std::size_t> open_count(before.size(), 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const std::size_t each : before[i]) {
      after[each].push_back(i);
      ++open_count[i];
    }
  }
  // boost::topological_sort gives the order of a depth-first search, not the smallest number first
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (open_count[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t each : after[next]) {
      if (--open_count[each] == 0) {
        ready.push(each);
      }
    }
  }
  return order.size() == before.size() ? std::optional(std::move(order)) : std::nullopt;
}

std::vector<std::size_t> find_cycle(const Edges& before) {
  std::vector<std::size_t> path;
  std::vector<std::size_t> cycle;
  boost::depth_first_search(graph_of(before), boost::visitor(FirstCycle(path, cycle)));
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

Edges transitive_closure(const Edges& edges) {
  const DirectedGraph graph = graph_of(edges);
  const auto index = boost::get(boost::vertex_index, graph);
  DirectedGraph closure;
  std::vector<std::size_t> place_of(edges.size());
  boost::transitive_closure(
      graph, closure,
      boost::orig_to_copy(boost::make_iterator_property_map(place_of.begin(), index)));
  return edges_of(closure, place_of);
}

Edges transitive_reduction(const Edges& edges) {
  if (edges.empty()) {
    return {};  // Boost refers to the first chain of nodes
  }
  const DirectedGraph graph = graph_of(edges);
  const auto index = boost::get(boost::vertex_index, graph);
  DirectedGraph reduced;
  std::vector<std::size_t> place_of(edges.size());
  boost::transitive_reduction(graph, reduced,
                              boost::make_iterator_property_map(place_of.begin(), index), index);
  return edges_of(reduced, place_of);
}

std::vector<std::size_t> color_nodes(const Edges& neighbours) {
  if (neighbours.empty()) {
    return {};  // Boost counts from the last node down
  }
  using UndirectedGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  UndirectedGraph graph(neighbours.size());
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    for (const std::size_t each : neighbours[i]) {
      if (each > i) {
        boost::add_edge(i, each, graph);
      }
    }
  }
  std::vector<std::size_t> order(neighbours.size());
  const auto in_order =
      boost::make_iterator_property_map(order.begin(), boost::identity_property_map());
  boost::smallest_last_vertex_ordering(graph, in_order);
  std::vector<std::size_t> colors(neighbours.size());
  boost::sequential_vertex_coloring(
      graph, in_order,
      boost::make_iterator_property_map(colors.begin(), boost::get(boost::vertex_index, graph)));
  return colors;
}

}  // namespace rtcg
