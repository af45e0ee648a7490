// Programs, kernels and launches.
#include <array>
#include <elf.h>

#include "tests/runtime/cuda/fake/fake_state.h"

namespace fake_driver {
namespace {

// A real one is an ELF file, where each kernel has a section `.text.NAME`.
std::vector<std::string> kernels_of_elf(const char* image) {
  Elf64_Ehdr head = {};
  std::memcpy(&head, image, sizeof head);
  const auto section = [&](std::size_t index) {
    Elf64_Shdr found = {};
    std::memcpy(&found, image + head.e_shoff + index * head.e_shentsize, sizeof found);
    return found;
  };
  const char* names = image + section(head.e_shstrndx).sh_offset;
  std::vector<std::string> kernels;
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    const std::string name = names + section(i).sh_name;
    if (name.rfind(".text.", 0) == 0) {
      kernels.push_back(name.substr(6));
    }
  }
  return kernels;
}

// The names of the kernels in PTX.
std::vector<std::string> kernels_of_ptx(const std::string& text) {
  const std::string entry = ".entry ";
  std::vector<std::string> kernels;
  for (std::size_t at = text.find(entry); at != std::string::npos; at = text.find(entry, at + 1)) {
    const std::size_t begin = at + entry.size();
    kernels.push_back(text.substr(begin, text.find('(', begin) - begin));
  }
  return kernels;
}

// An image is text: `kernels NAME NAME ...`, or a real one.
CUresult load(const char* kind, void** loaded, const void* image) {
  if (std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) == 0) {
    *loaded = make(kind);
    state().libraries[*loaded] = kernels_of_elf(static_cast<const char*>(image));
    return CUDA_SUCCESS;
  }
  std::istringstream words(static_cast<const char*>(image));
  std::string word;
  words >> word;
  if (word == ".version") {
    *loaded = make(kind);
    state().libraries[*loaded] = kernels_of_ptx(words.str());
    return CUDA_SUCCESS;
  }
  if (word != "kernels") {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *loaded = make(kind);
  while (words >> word) {
    state().libraries[*loaded].push_back(word);
  }
  return CUDA_SUCCESS;
}
CUresult library_load(CUlibrary* library, const void* image, CUjit_option* /*options*/,
                      void** /*values*/, unsigned int /*count*/,
                      CUlibraryOption* /*library_options*/, void** /*library_values*/,
                      unsigned int /*library_count*/) {
  RETURN_IF_FAILED("cuLibraryLoadData");
  void* loaded = nullptr;
  const CUresult status = load("library", &loaded, image);
  *library = static_cast<CUlibrary>(loaded);
  return status;
}

// Links by setting texts one after the other; all but the first lose their `kernels`.
struct Link {
  std::string text;
  char* log = nullptr;
};
CUresult link_create(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  RETURN_IF_FAILED("cuLinkCreate");
  auto* link = new Link;
  for (unsigned int index = 0; index < count; ++index) {
    if (options[index] == CU_JIT_ERROR_LOG_BUFFER) {
      link->log = static_cast<char*>(values[index]);
    }
  }
  make("link");
  *state = reinterpret_cast<CUlinkState>(link);
  return CUDA_SUCCESS;
}
CUresult link_add(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                  const char* name, unsigned int /*count*/, CUjit_option* /*options*/,
                  void** /*values*/) {
  RETURN_IF_FAILED("cuLinkAddData", type, bytes, name);
  auto* link = reinterpret_cast<Link*>(state);
  const std::string text(static_cast<const char*>(data), bytes);
  if (text.rfind("kernels ", 0) != 0) {
    std::strcpy(link->log, "line 1; fatal: no kernels");
    return CUDA_ERROR_INVALID_PTX;
  }
  link->text += link->text.empty() ? text.c_str() : text.c_str() + std::strlen("kernels");
  return CUDA_SUCCESS;
}
CUresult link_complete(CUlinkState state, void** cubin, std::size_t* bytes) {
  RETURN_IF_FAILED("cuLinkComplete");
  auto* link = reinterpret_cast<Link*>(state);
  *cubin = link->text.data();
  *bytes = link->text.size() + 1;
  return CUDA_SUCCESS;
}
CUresult link_destroy(CUlinkState state) {
  delete reinterpret_cast<Link*>(state);
  drop("link");
  return enter("cuLinkDestroy");
}

CUresult library_unload(CUlibrary library) {
  RETURN_IF_FAILED("cuLibraryUnload", number(library) != 0);
  drop("library");
  return CUDA_SUCCESS;
}
CUresult module_load(CUmodule* module, const void* image, unsigned int /*count*/,
                     CUjit_option* /*options*/, void** /*values*/) {
  RETURN_IF_FAILED("cuModuleLoadDataEx");
  void* loaded = nullptr;
  const CUresult status = load("module", &loaded, image);
  *module = static_cast<CUmodule>(loaded);
  return status;
}
CUresult module_unload(CUmodule module) {
  RETURN_IF_FAILED("cuModuleUnload", number(module) != 0);
  drop("module");
  return CUDA_SUCCESS;
}

// A kernel's handle is its place in the list of all kernels found, times 16.
CUresult find(void** kernel, void* program, const char* name) {
  for (const std::string& known : state().libraries[program]) {
    if (known == name) {
      state().kernels.push_back(name);
      *kernel = reinterpret_cast<void*>((state().kernels.size() - 1) * 16);
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}
const std::string& name_of(const void* kernel) {
  return state().kernels[number(kernel) / 16];
}

CUresult library_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  RETURN_IF_FAILED("cuLibraryGetKernel", name);
  return find(reinterpret_cast<void**>(kernel), library, name);
}
CUresult module_function(CUfunction* function, CUmodule module, const char* name) {
  RETURN_IF_FAILED("cuModuleGetFunction", name);
  return find(reinterpret_cast<void**>(function), module, name);
}
CUresult kernel_function(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return enter("cuKernelGetFunction");
}
CUresult kernel_count(unsigned int* count, CUlibrary library) {
  *count = static_cast<unsigned int>(state().libraries[library].size());
  return CUDA_SUCCESS;
}
CUresult kernel_list(CUkernel* kernels, unsigned int count, CUlibrary library) {
  for (unsigned int index = 0; index < count; ++index) {
    find(reinterpret_cast<void**>(&kernels[index]), library,
         state().libraries[library][index].c_str());
  }
  return CUDA_SUCCESS;
}
CUresult kernel_name(const char** name, CUkernel kernel) {
  *name = name_of(kernel).c_str();
  return CUDA_SUCCESS;
}
CUresult function_name(const char** name, CUfunction function) {
  *name = name_of(function).c_str();
  return CUDA_SUCCESS;
}
CUresult find_global(CUdeviceptr* address, std::size_t* bytes, const char* name) {
  static std::array<float, 4> table = {};
  if (std::string(name) != "table") {
    return CUDA_ERROR_NOT_FOUND;
  }
  *address = number(table.data());
  *bytes = sizeof(table);
  return CUDA_SUCCESS;
}
CUresult library_global(CUdeviceptr* address, std::size_t* bytes, CUlibrary /*library*/,
                        const char* name) {
  RETURN_IF_FAILED("cuLibraryGetGlobal", name);
  return find_global(address, bytes, name);
}
CUresult module_global(CUdeviceptr* address, std::size_t* bytes, CUmodule /*module*/,
                       const char* name) {
  RETURN_IF_FAILED("cuModuleGetGlobal", name);
  return find_global(address, bytes, name);
}

CUresult function_attribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  RETURN_IF_FAILED("cuFuncGetAttribute", attribute);
  static const std::map<int, int> values = {{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 512},
                                            {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 256},
                                            {CU_FUNC_ATTRIBUTE_NUM_REGS, 40}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    *value = state().dynamic_bytes.emplace(function, 49152 - 256).first->second;
  }
  return CUDA_SUCCESS;
}
CUresult set_function_attribute(CUfunction function, CUfunction_attribute attribute, int value) {
  RETURN_IF_FAILED("cuFuncSetAttribute", attribute, value);
  state().dynamic_bytes[function] = value;
  return CUDA_SUCCESS;
}
// Every kernel takes a pointer, a pointer and an int.
CUresult parameter(CUfunction /*function*/, std::size_t index, std::size_t* offset_bytes,
                   std::size_t* size_bytes) {
  *offset_bytes = 8 * index;
  *size_bytes = index < 2 ? 8 : 4;
  return index < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                unsigned int block_x, unsigned int block_y, unsigned int block_z,
                unsigned int shared_bytes, CUstream stream, void** values, void** /*extra*/) {
  if (name_of(function) == "rtcg_set_condition") {  // it has two parameters
    RETURN_IF_FAILED("cuLaunchKernel", name_of(function), grid_x, block_x, number(stream) != 0,
                     *static_cast<CUgraphConditionalHandle*>(values[0]),
                     *static_cast<CUdeviceptr*>(values[1]));
    return CUDA_SUCCESS;
  }
  RETURN_IF_FAILED("cuLaunchKernel", name_of(function), grid_x, grid_y, grid_z, block_x, block_y,
                   block_z, shared_bytes, number(stream) != 0, *static_cast<int*>(values[2]));
  return is_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult loop_handle(CUgraphConditionalHandle* handle, CUgraph /*graph*/, CUcontext context,
                     unsigned int value, unsigned int flags) {
  RETURN_IF_FAILED("cuGraphConditionalHandleCreate", context == primary(), value, flags);
  *handle = 7;
  return CUDA_SUCCESS;
}
CUresult add_node(CUgraphNode* node, CUgraph /*graph*/, const CUgraphNode* /*before*/,
                  const CUgraphEdgeData* /*edges*/, std::size_t count, CUgraphNodeParams* given) {
  static std::array<CUgraph, 1> bodies = {reinterpret_cast<CUgraph>(0xb0d7)};
  RETURN_IF_FAILED("cuGraphAddNode", count, given->type, given->conditional.handle,
                   given->conditional.type, given->conditional.size,
                   given->conditional.ctx == primary());
  given->conditional.phGraph_out = bodies.data();
  *node = reinterpret_cast<CUgraphNode>(0x10de);
  return CUDA_SUCCESS;
}
CUresult go_on(CUstream /*stream*/, CUgraph graph, const CUgraphNode* before,
               const CUgraphEdgeData* /*edges*/, std::size_t count, CUstreamCaptureMode mode) {
  return enter("cuStreamBeginCaptureToGraph", number(graph) == 0xb0d7,
               count == 0 ? 0 : number(before[0]), mode);
}

// A graph that a stream is captured into: a kernel, and a loop after it. The body of each loop has
// a node of every other kind, in a row that begins with the last.
constexpr std::uintptr_t setter = 0x5e7;
constexpr std::uintptr_t loop_node = 0x10de;
constexpr std::uintptr_t first_of_body = 0xb100;
constexpr CUgraphNodeType types_of_body[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_EMPTY,
                                             CU_GRAPH_NODE_TYPE_GRAPH,  CU_GRAPH_NODE_TYPE_HOST,
                                             CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY};

CUgraphNode node_of(std::uintptr_t number) {
  return reinterpret_cast<CUgraphNode>(number);
}
std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  std::vector<CUgraphNode> nodes;
  if (number(graph) != 0xb0d7) {
    return {node_of(loop_node), node_of(setter)};
  }
  for (std::uintptr_t i = 0; i < std::size(types_of_body); ++i) {
    nodes.push_back(node_of(first_of_body + i));
  }
  return nodes;
}
CUresult capture_info(CUstream /*stream*/, CUstreamCaptureStatus* status, cuuint64_t* /*id*/,
                      CUgraph* graph, const CUgraphNode** before, std::size_t* count) {
  static const CUgraphNode last = node_of(setter);
  RETURN_IF_FAILED("cuStreamGetCaptureInfo");
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  *graph = nullptr;
  *before = &last;
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult graph_nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  RETURN_IF_FAILED("cuGraphGetNodes");
  const std::vector<CUgraphNode> all = nodes_of(graph);
  if (nodes != nullptr) {
    std::copy(all.begin(), all.end(), nodes);
  }
  *count = all.size();
  return CUDA_SUCCESS;
}
// Each node of a body comes after the next one of the list, so that the list is no order.
CUresult graph_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  RETURN_IF_FAILED("cuGraphGetEdges");
  const std::vector<CUgraphNode> all = nodes_of(graph);
  for (std::size_t i = 0; from != nullptr && i + 1 < all.size(); ++i) {
    from[i] = all[i + 1];
    to[i] = all[i];
  }
  *count = all.size() - 1;
  return CUDA_SUCCESS;
}
CUresult node_type(CUgraphNode node, CUgraphNodeType* type) {
  // refused once: the node is of a kind that nobody copies
  if (enter("cuGraphNodeGetType", number(node)) != CUDA_SUCCESS) {
    *type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    return CUDA_SUCCESS;
  }
  *type = number(node) == loop_node ? CU_GRAPH_NODE_TYPE_CONDITIONAL
          : number(node) == setter  ? CU_GRAPH_NODE_TYPE_KERNEL
                                    : types_of_body[number(node) - first_of_body];
  return CUDA_SUCCESS;
}
CUresult kernel_node(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* given) {
  static CUgraphConditionalHandle handle = 3;
  static CUdeviceptr condition = 0x1000;
  static std::array<void*, 2> arguments = {&handle, &condition};
  RETURN_IF_FAILED("cuGraphKernelNodeGetParams", number(node));
  given->kernelParams = arguments.data();
  return CUDA_SUCCESS;
}
CUresult add_kernel_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                         std::size_t count, const CUDA_KERNEL_NODE_PARAMS* given) {
  RETURN_IF_FAILED("cuGraphAddKernelNode", number(graph) == 0xb0d7, count,
                   count == 0 ? 0 : number(before[0]),
                   *static_cast<CUgraphConditionalHandle*>(given->kernelParams[0]));
  *node = node_of(0xc0c0);
  return CUDA_SUCCESS;
}

CUresult launch_cooperative(CUfunction function, unsigned int grid_x, unsigned int /*grid_y*/,
                            unsigned int /*grid_z*/, unsigned int block_x, unsigned int /*block_y*/,
                            unsigned int /*block_z*/, unsigned int /*shared_bytes*/,
                            CUstream /*stream*/, void** /*values*/) {
  RETURN_IF_FAILED("cuLaunchCooperativeKernel", name_of(function), grid_x, block_x);
  return grid_x > 264 ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}
CUresult launch_with(const CUlaunchConfig* launch, CUfunction function, void** values,
                     void** /*extra*/) {
  int cluster = 1;
  int others = 0;
  for (unsigned int i = 0; i < launch->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = launch->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      cluster = static_cast<int>(attribute.value.clusterDim.x * attribute.value.clusterDim.y);
    }
    others += attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE                         ? 1
              : attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ? 10
              : attribute.id == CU_LAUNCH_ATTRIBUTE_PRIORITY ? 100 * attribute.value.priority
                                                             : 0;
  }
  RETURN_IF_FAILED("cuLaunchKernelEx", name_of(function), launch->gridDimX, launch->blockDimX,
                   cluster, others, *static_cast<int*>(values[2]));
  return cluster > 16 ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}
CUresult count_clusters(int* clusters, CUfunction /*function*/, const CUlaunchConfig* launch) {
  RETURN_IF_FAILED("cuOccupancyMaxActiveClusters", launch->numAttrs);
  *clusters = 66;
  return CUDA_SUCCESS;
}
CUresult occupancy(int* blocks, CUfunction /*function*/, int threads, std::size_t shared_bytes) {
  RETURN_IF_FAILED("cuOccupancyMaxActiveBlocksPerMultiprocessor", threads, shared_bytes);
  *blocks = 2048 / threads;
  return CUDA_SUCCESS;
}
CUresult best_block(int* blocks, int* threads, CUfunction /*function*/,
                    CUoccupancyB2DSize /*shared_of*/, std::size_t /*shared_bytes*/, int /*limit*/) {
  RETURN_IF_FAILED("cuOccupancyMaxPotentialBlockSize");
  *blocks = 132;
  *threads = 384;
  return CUDA_SUCCESS;
}

}  // namespace

void add_program_functions(Table& table) {
  MADE(cuLibraryLoadData, 12000, library_load)
  MADE(cuLinkCreate, 6050, link_create)
  MADE(cuLinkAddData, 6050, link_add)
  MADE(cuLinkComplete, 5050, link_complete)
  MADE(cuLinkDestroy, 5050, link_destroy)
  MADE(cuLibraryUnload, 12000, library_unload)
  MADE(cuLibraryGetKernel, 12000, library_kernel)
  MADE(cuLibraryGetGlobal, 12000, library_global)
  MADE(cuLibraryGetKernelCount, 12040, kernel_count)
  MADE(cuLibraryEnumerateKernels, 12040, kernel_list)
  MADE(cuKernelGetFunction, 12000, kernel_function)
  MADE(cuKernelGetName, 12030, kernel_name)
  MADE(cuModuleLoadDataEx, 2010, module_load)
  MADE(cuModuleUnload, 2000, module_unload)
  MADE(cuModuleGetFunction, 2000, module_function)
  MADE(cuModuleGetGlobal, 3020, module_global)
  MADE(cuFuncGetAttribute, 2020, function_attribute)
  MADE(cuFuncSetAttribute, 9000, set_function_attribute)
  MADE(cuFuncGetName, 12030, function_name)
  MADE(cuFuncGetParamInfo, 12040, parameter)
  MADE(cuGraphConditionalHandleCreate, 12030, loop_handle)
  MADE(cuGraphAddNode, 12030, add_node)
  MADE(cuStreamGetCaptureInfo, 11030, capture_info)
  MADE(cuGraphGetNodes, 10000, graph_nodes)
  MADE(cuGraphGetEdges, 10000, graph_edges)
  MADE(cuGraphNodeGetType, 10000, node_type)
  MADE(cuGraphKernelNodeGetParams, 12000, kernel_node)
  MADE(cuGraphAddKernelNode, 12000, add_kernel_node)
  MADE(cuStreamBeginCaptureToGraph, 12030, go_on)
  MADE(cuLaunchKernel, 4000, launch)
  MADE(cuLaunchCooperativeKernel, 9000, launch_cooperative)
  MADE(cuLaunchKernelEx, 11060, launch_with)
  MADE(cuOccupancyMaxActiveClusters, 11070, count_clusters)
  MADE(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, occupancy)
  MADE(cuOccupancyMaxPotentialBlockSize, 6050, best_block)
}

}  // namespace fake_driver
