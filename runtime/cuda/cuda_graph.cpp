#if RTCG_HAS_CUDA_HEADERS
#include <array>
#include <memory>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/cuda/cuda_backend.h"

// Graphs, captured from streams.

namespace rtcg::runtime::cuda {
namespace {

/// The nodes, and the form in which they are launched.
struct CudaGraph {
  CUgraph nodes = nullptr;
  CUgraphExec launched = nullptr;
  bool has_loops = false;
};

CudaGraph& cuda_graph(Backend::Graph graph) {
  return *static_cast<CudaGraph*>(graph);
}

/// Where a capture is.
struct CapturePlace {
  CUgraph graph = nullptr;
  const CUgraphNode* before = nullptr;  // until the next call of the driver
  std::size_t count = 0;
};

CapturePlace place_of(const DriverApi& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CapturePlace place;
  driver.cuStreamGetCaptureInfo.must("ask what is captured from a stream", stream, &status, &id,
                                     &place.graph, &place.before, &place.count);
  return place;
}

// Sets the condition of a loop to whether an integer is not 0. It is in PTX because the function
// that it calls is the driver's own: NVRTC's programs would have to be linked for it.
constexpr const char* condition_name = "rtcg_set_condition";
constexpr const char* condition_text = R"(.version 6.4
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry rtcg_set_condition(.param .u64 handle, .param .u64 condition)
{
  .reg .pred %is_set;
  .reg .b32 %value;
  .reg .b64 %handle, %address;
  ld.param.u64 %handle, [handle];
  ld.param.u64 %address, [condition];
  cvta.to.global.u64 %address, %address;
  ld.global.u32 %value, [%address];
  setp.ne.u32 %is_set, %value, 0;
  selp.u32 %value, 1, 0, %is_set;
  {
    .param .b64 handle_of_call;
    .param .b32 value_of_call;
    st.param.b64 [handle_of_call], %handle;
    st.param.b32 [value_of_call], %value;
    call.uni cudaGraphSetConditional, (handle_of_call, value_of_call);
  }
  ret;
}
)";

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
  graph->has_loops = forget_loops(stream);
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
  static_cast<void>(forget_loops(stream));
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
  if (cuda_graph(graph).has_loops) {
    throw Unsupported("runtime.graph.loop_within",
                      "a CUDA graph with a loop cannot become part of another graph: submit its "
                      "work to the captured stream in place of the launch");
  }
  const CapturePlace outer = place_of(driver_, captured);
  CUgraphNode node = nullptr;
  driver_.cuGraphAddChildGraphNode.must("make a graph part of another", &node, outer.graph,
                                        outer.before, outer.count, cuda_graph(graph).nodes);
  driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, &node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

bool CudaBackend::update_graph(Graph graph, Graph from) {
  if (cuda_graph(graph).has_loops || cuda_graph(from).has_loops) {
    return false;  // kernels have the handles of their own graph's loops as arguments
  }
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

CUfunction CudaBackend::condition_kernel() {
  const std::lock_guard lock(mutex_);
  if (condition_kernel_ == nullptr) {
    CUmodule module = nullptr;
    driver_.cuModuleLoadDataEx.must("load the kernel of conditions", &module, condition_text, 0U,
                                    nullptr, nullptr);
    driver_.cuModuleGetFunction.must("find the kernel of conditions", &condition_kernel_, module,
                                     condition_name);
  }
  return condition_kernel_;
}

void CudaBackend::resume_capture(Stream stream, CUgraph graph, CUgraphNode after) {
  driver_.cuStreamBeginCaptureToGraph.must("go on with a capture", static_cast<CUstream>(stream),
                                           graph, after == nullptr ? nullptr : &after, nullptr,
                                           after == nullptr ? 0 : 1,
                                           CU_STREAM_CAPTURE_MODE_RELAXED);
}

bool CudaBackend::forget_loops(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  return streams_with_loops_.erase(stream) != 0;
}

void CudaBackend::repeat_while(Stream stream, DeviceAddress condition,
                               const std::function<void()>& body) {
  const CurrentContext current(*this);
  auto* const captured = static_cast<CUstream>(stream);
  CUgraph outer = place_of(driver_, captured).graph;
  CUgraphConditionalHandle handle = 0;
  driver_.cuGraphConditionalHandleCreate.must("make a loop of a graph", &handle, outer, context(),
                                              0U, 0U);
  CUfunction kernel = condition_kernel();
  const auto set_condition = [&] {
    std::array<void*, 2> arguments = {&handle, &condition};
    driver_.cuLaunchKernel.must("set the condition of a loop", kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                captured, arguments.data(), nullptr);
  };
  set_condition();
  CUgraphNodeParams loop = {};
  loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  loop.conditional.handle = handle;
  loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  loop.conditional.size = 1;
  loop.conditional.ctx = context();
  CUgraphNode node = nullptr;
  const CapturePlace place = place_of(driver_, captured);
  driver_.cuGraphAddNode.must("make a loop of a graph", &node, place.graph, place.before, nullptr,
                              place.count, &loop);
  driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, &node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  {
    const std::lock_guard lock(mutex_);
    streams_with_loops_.insert(stream);
  }
  // The body goes to the same stream, whose capture leaves the outer graph for it.
  driver_.cuStreamEndCapture.must("leave a graph for its loop", captured, &outer);
  CUgraph inner = nullptr;
  try {
    resume_capture(stream, loop.conditional.phGraph_out[0], nullptr);
    body();
    set_condition();
    driver_.cuStreamEndCapture.must("capture the body of a loop", captured, &inner);
  } catch (...) {
    driver_.cuStreamEndCapture.quietly(captured, &inner);
    resume_capture(stream, outer, node);
    throw;
  }
  resume_capture(stream, outer, node);
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
