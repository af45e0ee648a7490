#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// Work that was described once and runs again by one call. Move-only. Any thread may use it, one
/// at a time.
///
///     const Graph step = capture(stream, [&] { predict(stream, ...); correct(stream, ...); });
///     for (int i = 0; i < 1000; ++i) step.launch(stream);
///
/// A CUDA graph on CUDA devices; on the host a list of tasks, without the cost of queueing each. A
/// graph keeps the programs, the arrays and the pool memory that its work uses; buffers and host
/// memory are the caller's to keep. The stream that it was captured from must outlive it.
class Graph {
 public:
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  [[nodiscard]] Device device() const noexcept;
  /// CUgraphExec; on the host a pointer to an object of rtcg.
  [[nodiscard]] void* native_handle() const noexcept;

  /// Runs the work in the order of the stream, asynchronously. Launches of one graph run one after
  /// the other, also on several streams. From within a capture it becomes part of the outer graph,
  /// and must outlive it.
  ///
  /// @throws InvalidInput  runtime.launch.wrong_device
  void launch(StreamRef stream) const;
  /// Captures anew, from the same stream. Work of the same structure, with other arguments, shapes
  /// or addresses, only changes the parameters; other work replaces the graph.
  ///
  /// @return  whether the structure is the same
  /// @throws  as capture; the graph is then unchanged
  /// @cost    waits for the launches of the graph
  bool update(const std::function<void()>& work);

  /// Kernels, copies, fills and calls.
  [[nodiscard]] std::size_t node_count() const;
  /// The nodes and their order in the language of Graphviz.
  [[nodiscard]] std::string dot() const;

 private:
  friend Graph capture(StreamRef stream, const std::function<void()>& work);
  struct State;
  explicit Graph(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

/// Calls `work` and keeps what it submits to the stream instead of running it.
///
/// Work of other streams that starts and ends by events of this stream belongs to it, too, on CUDA.
/// What runs often should run once before: a compile or a search cannot be part of a graph.
///
/// @throws InvalidInput  runtime.graph.cannot_capture: `work` waits for the stream, or for other
///                       streams; or the stream is being captured already
/// @throws InvalidInput  runtime.graph.default_stream: CUDA's default stream has no captures
/// @throws Unsupported   runtime.graph.unsupported: OpenCL
/// @throws  what `work` throws
[[nodiscard]] Graph capture(StreamRef stream, const std::function<void()>& work);

namespace detail {
/// Whether any stream is being captured; costs nothing.
[[nodiscard]] bool is_any_captured() noexcept;
/// Whether work of this stream is being kept.
[[nodiscard]] bool is_captured(StreamRef stream) noexcept;
/// Keeps `owner` for as long as the graph that is being captured from the stream.
///
/// @return  whether there is one
bool keep_in_graph(StreamRef stream, std::shared_ptr<const void> owner);
}  // namespace detail

}  // namespace rtcg::runtime
