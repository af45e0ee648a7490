#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a back end offers whose graphs have branches; found by a cast of Backend.
class GraphNodeBackend {
 public:
  using Node = void*;
  virtual ~GraphNodeBackend() = default;
  /// Within the capture of a stream: the nodes after which its next work comes.
  [[nodiscard]] virtual std::vector<Node> capture_ends(Backend::Stream stream) = 0;
  virtual void set_capture_ends(Backend::Stream stream, std::span<const Node> ends) = 0;
};

/// A node that GraphNodes added; belongs to it.
struct GraphNode {
  std::size_t number = 0;
};

/// Adds nodes to a graph by hand, each after chosen ones; made by add_nodes.
///
/// Nodes that do not come after each other may run side by side, so that they must not write what
/// the others use. Of child graphs this includes what they keep: graphs that were captured from the
/// same stream share its temporaries, and have to come one after the other.
class GraphNodes {
 public:
  /// After nothing but the work that was submitted before add_nodes.
  using After = std::vector<GraphNode>;

  /// @throws  as Kernel::launch
  GraphNode launch(const Kernel& kernel, const LaunchShape& shape, const ArgumentPack& arguments,
                   const After& after = {}) {
    return add([&] { kernel.launch(stream_, shape, arguments); }, after);
  }
  /// As the functions of copy.h with these arguments; host memory outlives the graph.
  template <class Source, class Target>
  GraphNode copy_on_device(const Source& source, const Target& target, const After& after = {}) {
    return add([&] { runtime::copy_on_device(stream_, source, target); }, after);
  }
  template <class Range, class Target>
  GraphNode copy_to_device(const Range& values, const Target& target, const After& after = {}) {
    return add([&] { runtime::copy_to_device(stream_, values, target); }, after);
  }
  template <class Source, class Range>
  GraphNode copy_to_host(const Source& source, Range& values, const After& after = {}) {
    return add([&] { runtime::copy_to_host(stream_, source, values); }, after);
  }
  template <class Target, class Value>
  GraphNode fill(const Target& target, const Value& value, const After& after = {}) {
    return add([&] { runtime::fill(stream_, target, value); }, after);
  }
  /// As StreamRef::call_host.
  GraphNode call_host(std::function<void()> function, const After& after = {}) {
    return add([&] { stream_.call_host(std::move(function)); }, after);
  }
  /// The graph's work as one node. It has to outlive the outer graph.
  GraphNode graph(const Graph& child, const After& after = {}) {
    return add([&] { child.launch(stream_); }, after);
  }
  /// Nothing: what comes after it comes after all of them.
  GraphNode join(const After& after) {
    return add([] {}, after);
  }

 private:
  friend void add_nodes(StreamRef stream, const std::function<void(GraphNodes&)>& build);
  explicit GraphNodes(StreamRef stream);
  GraphNode add(const std::function<void()>& work, const After& after);
  /// Lets later work of the stream come after all nodes.
  void end();

  StreamRef stream_;
  GraphNodeBackend* branches_ = nullptr;  // null: nodes run in the order in which they are added
  std::vector<GraphNodeBackend::Node> begin_;
  std::vector<std::vector<GraphNodeBackend::Node>> ends_;  // of each node
  std::vector<bool> has_successor_;
};

/// Adds nodes to the graph that is being captured from the stream: kernels, copies, fills, calls of
/// the host and graphs, each after chosen ones.
///
///     const Graph graph = capture(stream, [&] {
///       add_nodes(stream, [&](GraphNodes& nodes) {
///         const GraphNode zero = nodes.fill(sum, 0);
///         const GraphNode left = nodes.launch(first, shape, arguments, {zero});
///         const GraphNode right = nodes.launch(second, shape, others, {zero});
///         nodes.copy_on_device(sum, result, {left, right});
///       });
///     });
///
/// All nodes come after what the stream was given before, and before what it is given after.
/// CUDA's graphs have the branches. On the host, and outside of a capture on any device, the nodes
/// run one after the other as they are added, which is one of the orders that the branches allow.
///
/// @throws InvalidInput  runtime.graph.unknown_node: a node of other GraphNodes
/// @throws  what `build` throws
void add_nodes(StreamRef stream, const std::function<void(GraphNodes&)>& build);

}  // namespace rtcg::runtime
