#include "rtcg/runtime/device/backend.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

// The defaults of back ends.

namespace rtcg::runtime {
namespace {

[[noreturn]] void throw_no_occupancy(const DeviceInfo& info) {
  throw Unsupported("runtime.occupancy.unsupported",
                    fmt::format("'{}' does not report how many blocks a multiprocessor holds: ask "
                                "a CUDA device for occupancy",
                                info.name));
}

[[noreturn]] void throw_no_graphs(const DeviceInfo& info) {
  throw Unsupported("runtime.graph.unsupported",
                    fmt::format("'{}' has no graphs: CUDA devices and the host have", info.name));
}

}  // namespace

DeviceAddress Backend::allocate_on(Stream /*stream*/, std::size_t /*size_bytes*/) {
  throw Unsupported(
      "runtime.memory.not_stream_ordered",
      fmt::format("'{}' has no stream-ordered allocation: use a MemoryPool", info().name));
}

void Backend::free_on(Stream /*stream*/, DeviceAddress address) noexcept {
  free(address, MemoryKind::device);
}

void Backend::register_host_memory(void* /*pointer*/, std::size_t /*size_bytes*/) {}

void Backend::unregister_host_memory(void* /*pointer*/) noexcept {}

void Backend::begin_capture(Stream /*stream*/) {
  throw_no_graphs(info());
}

Backend::Graph Backend::end_capture(Stream /*stream*/) {
  throw_no_graphs(info());
}

void Backend::drop_capture(Stream /*stream*/) noexcept {}

void Backend::launch_graph(Stream /*stream*/, Graph /*graph*/) {
  throw_no_graphs(info());
}

void Backend::add_graph(Stream stream, Graph graph) {
  launch_graph(stream, graph);
}

bool Backend::update_graph(Graph /*graph*/, Graph /*from*/) {
  throw_no_graphs(info());
}

void Backend::destroy_graph(Graph /*graph*/) noexcept {}

void* Backend::native_graph(Graph graph) const {
  return graph;
}

std::size_t Backend::graph_nodes(Graph /*graph*/) {
  throw_no_graphs(info());
}

std::string Backend::graph_dot(Graph /*graph*/) {
  throw_no_graphs(info());
}

int Backend::blocks_per_multiprocessor(Kernel /*kernel*/, int /*block_threads*/,
                                       std::size_t /*shared_bytes*/) {
  throw_no_occupancy(info());
}

int Backend::suggested_block_threads(Kernel /*kernel*/, std::size_t /*shared_bytes*/) {
  throw_no_occupancy(info());
}

}  // namespace rtcg::runtime
