#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

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
  LoopsOfGraph loops{};
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

/// The node that was captured last.
CUgraphNode last_node(const DriverApi& driver, CUstream stream) {
  const CapturePlace place = place_of(driver, stream);
  return place.count == 1 ? place.before[0] : nullptr;
}

CUgraphNode add_loop_node(const DriverApi& driver, CUgraph graph, const CUgraphNode* before,
                          std::size_t count, CUgraphConditionalHandle handle, CUcontext context,
                          CUgraph* body) {
  CUgraphNodeParams loop = {};
  loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  loop.conditional.handle = handle;
  loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  loop.conditional.size = 1;
  loop.conditional.ctx = context;
  CUgraphNode node = nullptr;
  driver.cuGraphAddNode.must("make a loop of a graph", &node, graph, before, nullptr, count, &loop);
  *body = loop.conditional.phGraph_out[0];
  return node;
}

/// Copies the nodes of a graph with loops: a loop's handle belongs to one graph, so that the driver
/// takes no such graph as a child.
class GraphCopier {
 public:
  GraphCopier(const DriverApi& driver, CUcontext context, const LoopsOfGraph& loops)
      : driver_(driver), context_(context), loops_(loops) {}

  /// @param before  what the copies come after
  /// @return        the copies that nothing comes after
  std::vector<CUgraphNode> copy(CUgraph from, CUgraph to, const std::vector<CUgraphNode>& before) {
    std::size_t count = 0;
    driver_.cuGraphGetNodes.must("copy a graph", from, nullptr, &count);
    std::vector<CUgraphNode> nodes(count);
    driver_.cuGraphGetNodes.must("copy a graph", from, nodes.data(), &count);
    std::size_t edges = 0;
    driver_.cuGraphGetEdges.must("copy a graph", from, nullptr, nullptr, &edges);
    std::vector<CUgraphNode> sources(edges);
    std::vector<CUgraphNode> targets(edges);
    driver_.cuGraphGetEdges.must("copy a graph", from, sources.data(), targets.data(), &edges);
    // first: kernels ahead of a loop set its condition
    for (const CUgraphNode node : nodes) {
      if (const LoopOfGraph* loop = loop_of(node)) {
        driver_.cuGraphConditionalHandleCreate.must("copy a loop of a graph",
                                                    &handles_[loop->handle], to, context_, 0U, 0U);
      }
    }
    std::map<CUgraphNode, CUgraphNode> copies;
    while (copies.size() < nodes.size()) {  // in rounds, since their order is the driver's
      for (const CUgraphNode node : nodes) {
        std::vector<CUgraphNode> own_before;
        bool is_ready = copies.count(node) == 0;
        for (std::size_t i = 0; i < edges && is_ready; ++i) {
          if (targets[i] == node) {
            const auto copied = copies.find(sources[i]);
            is_ready = copied != copies.end();
            own_before.push_back(is_ready ? copied->second : nullptr);
          }
        }
        if (is_ready) {
          copies.emplace(node, copy_node(node, to, own_before.empty() ? before : own_before));
        }
      }
    }
    std::vector<CUgraphNode> ends;
    for (const auto& [node, copied] : copies) {
      if (std::find(sources.begin(), sources.end(), node) == sources.end()) {
        ends.push_back(copied);
      }
    }
    return ends.empty() ? before : ends;
  }

  [[nodiscard]] const LoopsOfGraph& copied_loops() const { return copied_loops_; }

 private:
  [[nodiscard]] const LoopOfGraph* loop_of(CUgraphNode node) const {
    const auto found = std::find_if(loops_.begin(), loops_.end(),
                                    [&](const LoopOfGraph& each) { return each.node == node; });
    return found == loops_.end() ? nullptr : &*found;
  }

  CUgraphNode copy_node(CUgraphNode node, CUgraph to, const std::vector<CUgraphNode>& before) {
    constexpr const char* what = "copy a node of a graph";
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    driver_.cuGraphNodeGetType.must(what, node, &type);
    CUgraphNode copied = nullptr;
    switch (type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return copy_kernel(node, to, before);
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return copy_loop(*loop_of(node), to, before);
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        CUDA_MEMCPY3D given = {};
        driver_.cuGraphMemcpyNodeGetParams.must(what, node, &given);
        driver_.cuGraphAddMemcpyNode.must(what, &copied, to, before.data(), before.size(), &given,
                                          context_);
        return copied;
      }
      case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS given = {};
        driver_.cuGraphMemsetNodeGetParams.must(what, node, &given);
        driver_.cuGraphAddMemsetNode.must(what, &copied, to, before.data(), before.size(), &given,
                                          context_);
        return copied;
      }
      case CU_GRAPH_NODE_TYPE_HOST: {
        CUDA_HOST_NODE_PARAMS given = {};
        driver_.cuGraphHostNodeGetParams.must(what, node, &given);
        driver_.cuGraphAddHostNode.must(what, &copied, to, before.data(), before.size(), &given);
        return copied;
      }
      case CU_GRAPH_NODE_TYPE_GRAPH: {
        CUgraph child = nullptr;
        driver_.cuGraphChildGraphNodeGetGraph.must(what, node, &child);
        driver_.cuGraphAddChildGraphNode.must(what, &copied, to, before.data(), before.size(),
                                              child);
        return copied;
      }
      case CU_GRAPH_NODE_TYPE_EMPTY:
        driver_.cuGraphAddEmptyNode.must(what, &copied, to, before.data(), before.size());
        return copied;
      default:
        break;
    }
    throw Unsupported(
        "runtime.graph.loop_within",
        "a CUDA graph with a loop and with events, flags or allocations cannot become "
        "part of another graph: submit its work to the captured stream in place of "
        "the launch");
  }

  CUgraphNode copy_kernel(CUgraphNode node, CUgraph to, const std::vector<CUgraphNode>& before) {
    CUDA_KERNEL_NODE_PARAMS given = {};
    driver_.cuGraphKernelNodeGetParams.must("copy a kernel of a graph", node, &given);
    const auto loop = std::find_if(loops_.begin(), loops_.end(), [&](const LoopOfGraph& each) {
      return each.setters[0] == node || each.setters[1] == node;
    });
    std::array<void*, 2> arguments{};
    if (loop != loops_.end()) {
      arguments = {&handles_.at(loop->handle), given.kernelParams[1]};
      given.kernelParams = arguments.data();
    }
    CUgraphNode copied = nullptr;
    driver_.cuGraphAddKernelNode.must("copy a kernel of a graph", &copied, to, before.data(),
                                      before.size(), &given);
    driver_.cuGraphKernelNodeCopyAttributes.must("copy a kernel of a graph", copied, node);
    if (loop != loops_.end()) {
      setters_[loop->handle].push_back(copied);
    }
    return copied;
  }

  CUgraphNode copy_loop(const LoopOfGraph& loop, CUgraph to,
                        const std::vector<CUgraphNode>& before) {
    LoopOfGraph copied;
    copied.handle = handles_.at(loop.handle);
    copied.node = add_loop_node(driver_, to, before.data(), before.size(), copied.handle, context_,
                                &copied.body);
    copy(loop.body, copied.body, {});
    const std::vector<CUgraphNode>& setters = setters_[loop.handle];
    std::copy_n(setters.begin(), std::min(setters.size(), copied.setters.size()),
                copied.setters.begin());
    copied_loops_.push_back(copied);
    return copied.node;
  }

  const DriverApi& driver_;
  CUcontext context_;
  const LoopsOfGraph& loops_;
  std::map<CUgraphConditionalHandle, CUgraphConditionalHandle> handles_;  // those of the copies
  std::map<CUgraphConditionalHandle, std::vector<CUgraphNode>> setters_;
  LoopsOfGraph copied_loops_;
};

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
  graph->loops = take_loops(stream);
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
  static_cast<void>(take_loops(stream));
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
  const CapturePlace outer = place_of(driver_, captured);
  if (!cuda_graph(graph).loops.empty()) {
    GraphCopier copier(driver_, context(), cuda_graph(graph).loops);
    std::vector<CUgraphNode> ends = copier.copy(cuda_graph(graph).nodes, outer.graph,
                                                {outer.before, outer.before + outer.count});
    driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, ends.data(),
                                                   ends.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    const std::lock_guard lock(mutex_);
    LoopsOfGraph& loops = loops_[stream];
    loops.insert(loops.end(), copier.copied_loops().begin(), copier.copied_loops().end());
    return;
  }
  CUgraphNode node = nullptr;
  driver_.cuGraphAddChildGraphNode.must("make a graph part of another", &node, outer.graph,
                                        outer.before, outer.count, cuda_graph(graph).nodes);
  driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, &node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

bool CudaBackend::update_graph(Graph graph, Graph from) {
  if (!cuda_graph(graph).loops.empty() || !cuda_graph(from).loops.empty()) {
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

LoopsOfGraph CudaBackend::take_loops(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.extract(stream);
  return found.empty() ? LoopsOfGraph{} : std::move(found.mapped());
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
  LoopOfGraph loop;
  loop.handle = handle;
  const CapturePlace place = place_of(driver_, captured);
  loop.setters[0] = place.count == 1 ? place.before[0] : nullptr;
  loop.node =
      add_loop_node(driver_, place.graph, place.before, place.count, handle, context(), &loop.body);
  driver_.cuStreamUpdateCaptureDependencies.must("go on with a capture", captured, &loop.node, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  const auto keep = [&] {
    const std::lock_guard lock(mutex_);
    loops_[stream].push_back(loop);
  };
  // The body goes to the same stream, whose capture leaves the outer graph for it.
  driver_.cuStreamEndCapture.must("leave a graph for its loop", captured, &outer);
  CUgraph inner = nullptr;
  try {
    resume_capture(stream, loop.body, nullptr);
    body();
    set_condition();
    loop.setters[1] = last_node(driver_, captured);
    driver_.cuStreamEndCapture.must("capture the body of a loop", captured, &inner);
  } catch (...) {
    driver_.cuStreamEndCapture.quietly(captured, &inner);
    keep();
    resume_capture(stream, outer, loop.node);
    throw;
  }
  keep();
  resume_capture(stream, outer, loop.node);
}

std::vector<GraphNodeBackend::Node> CudaBackend::capture_ends(Stream stream) {
  const CurrentContext current(*this);
  const CapturePlace place = place_of(driver_, static_cast<CUstream>(stream));
  return {place.before, place.before + place.count};
}

void CudaBackend::set_capture_ends(Stream stream, std::span<const Node> ends) {
  const CurrentContext current(*this);
  std::vector<CUgraphNode> nodes;
  for (const Node each : ends) {
    nodes.push_back(static_cast<CUgraphNode>(each));
  }
  driver_.cuStreamUpdateCaptureDependencies.must("add a node to a graph",
                                                 static_cast<CUstream>(stream), nodes.data(),
                                                 nodes.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES);
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
