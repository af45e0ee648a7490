#if RTCG_HAS_CUDA_HEADERS
#include <memory>

#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/cuda/cuda_backend.h"

// Graphs, captured from streams.

namespace rtcg::runtime::cuda {
namespace {

/// The nodes, and the form in which they are launched.
struct CudaGraph {
  CUgraph nodes = nullptr;
  CUgraphExec launched = nullptr;
};

CudaGraph& cuda_graph(Backend::Graph graph) {
  return *static_cast<CudaGraph*>(graph);
}

}  // namespace

void CudaBackend::begin_capture(Stream stream) {
  const CurrentContext current(*this);
  captures_.begin();
  try {
    // relaxed: memory may be allocated meanwhile, which is not part of the graph
    driver_.cuStreamBeginCapture.must("begin to capture a stream", static_cast<CUstream>(stream),
                                      CU_STREAM_CAPTURE_MODE_RELAXED);
  } catch (const Error&) {
    captures_.end();
    throw;
  }
}

Backend::Graph CudaBackend::end_capture(Stream stream) {
  const CurrentContext current(*this);
  auto graph = std::make_unique<CudaGraph>();
  const CUresult captured =
      driver_.cuStreamEndCapture(static_cast<CUstream>(stream), &graph->nodes);
  captures_.end();
  if (captured != CUDA_SUCCESS) {
    throw_status(captured, driver_.cuStreamEndCapture.name(), "capture a stream");
  }
  const detail::DeviceCall waits;
  const CUresult status = driver_.cuGraphInstantiateWithFlags(&graph->launched, graph->nodes, 0ULL);
  if (status != CUDA_SUCCESS) {
    driver_.cuGraphDestroy.quietly(graph->nodes);
    throw_status(status, driver_.cuGraphInstantiateWithFlags.name(), "make a graph");
  }
  // now, and not by the first launch, for which other devices may wait
  driver_.cuGraphUpload.quietly(graph->launched, static_cast<CUstream>(stream));
  return graph.release();
}

void CudaBackend::drop_capture(Stream stream) noexcept {
  ignoring_errors(*this, [&] {
    CUgraph nodes = nullptr;
    driver_.cuStreamEndCapture.quietly(static_cast<CUstream>(stream), &nodes);
    if (nodes != nullptr) {
      driver_.cuGraphDestroy.quietly(nodes);
    }
  });
  captures_.end();
}

void CudaBackend::launch_graph(Stream stream, Graph graph) {
  const CurrentContext current(*this);
  driver_.cuGraphLaunch.must("launch a graph", cuda_graph(graph).launched,
                             static_cast<CUstream>(stream));
}

void CudaBackend::add_graph(Stream stream, Graph graph) {
  const CurrentContext current(*this);
  auto* const captured = static_cast<CUstream>(stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph outer = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
  driver_.cuStreamGetCaptureInfo.must("ask what is captured from a stream", captured, &status, &id,
                                      &outer, &before, &count);
  CUgraphNode node = nullptr;
  driver_.cuGraphAddChildGraphNode.must("make a graph part of another", &node, outer, before, count,
                                        cuda_graph(graph).nodes);
  driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, &node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

bool CudaBackend::update_graph(Graph graph, Graph from) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  CUgraphExecUpdateResultInfo info = {};
  const CUresult status =
      driver_.cuGraphExecUpdate(cuda_graph(graph).launched, cuda_graph(from).nodes, &info);
  if (status == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
    return false;
  }
  if (status != CUDA_SUCCESS) {
    throw_status(status, driver_.cuGraphExecUpdate.name(), "update a graph");
  }
  std::swap(cuda_graph(graph).nodes, cuda_graph(from).nodes);
  return true;
}

void CudaBackend::destroy_graph(Graph graph) noexcept {
  const std::unique_ptr<CudaGraph> owned(static_cast<CudaGraph*>(graph));
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] {
    driver_.cuGraphExecDestroy.quietly(owned->launched);
    driver_.cuGraphDestroy.quietly(owned->nodes);
  });
}

void* CudaBackend::native_graph(Graph graph) const {
  return cuda_graph(graph).launched;
}

std::size_t CudaBackend::graph_nodes(Graph graph) {
  const CurrentContext current(*this);
  std::size_t count = 0;
  driver_.cuGraphGetNodes.must("count the nodes of a graph", cuda_graph(graph).nodes, nullptr,
                               &count);
  return count;
}

std::string CudaBackend::graph_dot(Graph graph) {
  const CurrentContext current(*this);
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/graph.dot";
  driver_.cuGraphDebugDotPrint.must("draw a graph", cuda_graph(graph).nodes, file.c_str(), 0U);
  return read_file(file).value_or("");
}

}  // namespace rtcg::runtime::cuda
#endif
