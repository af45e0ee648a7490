#pragma once
// Internal header: it is not installed.

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "rtcg/runtime/cuda/capture_turns.h"
#include "rtcg/runtime/cuda/cuda_compiler.h"
#include "rtcg/runtime/cuda/driver_api.h"
#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/driver_pool.h"
#include "rtcg/runtime/device/external.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/graph_loop.h"
#include "rtcg/runtime/device/graph_nodes.h"
#include "rtcg/runtime/device/graphics.h"
#include "rtcg/runtime/device/growable_buffer.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/joint_launch.h"
#include "rtcg/runtime/device/launch_attributes.h"
#include "rtcg/runtime/device/pci_address.h"
#include "rtcg/runtime/device/peer.h"
#include "rtcg/runtime/device/replay_program.h"

namespace rtcg::runtime::cuda {

/// A loop of a graph: its node, the handle of its condition, what it repeats, and the kernels that
/// set the condition, ahead of it and at the end of a round.
struct LoopOfGraph {
  CUgraphNode node = nullptr;
  CUgraphConditionalHandle handle = 0;
  CUgraph body = nullptr;
  std::array<CUgraphNode, 2> setters{};
};
using LoopsOfGraph = std::vector<LoopOfGraph>;

/// One NVIDIA GPU through the driver.
///
/// Works in the device's primary context, which libraries of the runtime API share; it is retained
/// at first use and never released. Handles: Stream is CUstream, Event CUevent, Kernel CUfunction,
/// Program CUlibrary (CUmodule where the driver is older than CUDA 12). Any thread may call.
class CudaBackend final : public Backend,
                          public PeerBackend,
                          public InterprocessBackend,
                          public FlagBackend,
                          public ImageBackend,
                          public GraphicsBackend,
                          public ExternalBackend,
                          public LaunchAttributesBackend,
                          public ReplayBackend,
                          public PciBackend,
                          public GraphLoopBackend,
                          public GraphNodeBackend,
                          public DriverPoolBackend,
                          public GrowableBackend {
 public:
  /// @throws DeviceError  runtime.cuda.call_failed
  CudaBackend(const DriverApi& driver, int index);

  [[nodiscard]] const DriverApi& driver() const noexcept { return driver_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  /// The primary context; retained by the first call.
  [[nodiscard]] CUcontext context() const;
  /// Our own pool; made by the first call. @throws Unsupported runtime.cuda.no_memory_pools
  [[nodiscard]] CUmemoryPool pool();
  [[nodiscard]] bool uses_libraries() const noexcept { return bool(driver_.cuLibraryLoadData); }
  [[nodiscard]] int attribute(CUdevice_attribute attribute) const;
  /// The driver's name of a kernel; `?` if the driver is too old to have one.
  [[nodiscard]] std::string kernel_name(CUfunction kernel) const;
  /// Opts a kernel in to more dynamic shared memory than every kernel has. Needs our context.
  CUresult opt_in_to_shared(CUfunction kernel, std::size_t shared_bytes) const;
  /// And to clusters of more blocks than every device has.
  CUresult opt_in_to_cluster(CUfunction kernel, const LaunchAttributes& given) const;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] void* native_context() const override { return context(); }

  DeviceAddress allocate(std::size_t size_bytes, MemoryKind kind) override;
  void free(DeviceAddress address, MemoryKind kind) noexcept override;
  DeviceAddress allocate_on(Stream stream, std::size_t size_bytes) override;
  void free_on(Stream stream, DeviceAddress address) noexcept override;
  [[nodiscard]] std::size_t granule_bytes() override;
  [[nodiscard]] DeviceAddress reserve(std::size_t size_bytes) override;
  void unreserve(DeviceAddress address, std::size_t size_bytes) noexcept override;
  [[nodiscard]] Part add_part(DeviceAddress address, std::size_t size_bytes) override;
  void drop_part(Part part, DeviceAddress address, std::size_t size_bytes) noexcept override;
  [[nodiscard]] MemoryInfo memory_info() const override;
  void register_host_memory(void* pointer, std::size_t size_bytes) override;
  void unregister_host_memory(void* pointer) noexcept override;
  DeviceAddress device_address_of_host(void* pointer) override;

  Stream create_stream(const StreamOptions& options) override;
  void destroy_stream(Stream stream) noexcept override;
  void synchronize(Stream stream) override;
  [[nodiscard]] bool is_done(Stream stream) override;
  void wait_event(Stream stream, Event event) override;
  void synchronize_device() override;
  Event create_event(const EventOptions& options) override;
  void destroy_event(Event event) noexcept override;
  void record(Event event, Stream stream) override;
  void synchronize_event(Event event) override;
  [[nodiscard]] bool is_event_done(Event event) override;
  [[nodiscard]] double elapsed_ms(Event begin, Event end) override;

  void copy(Stream stream, const CopyRegion& region) override;
  void fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
            std::size_t count) override;

  bool reach(Backend& other) override;
  bool copy_between(Stream stream, Backend& of_stream, DeviceAddress target, Backend& of_target,
                    DeviceAddress source, Backend& of_source, std::size_t size_bytes) override;
  [[nodiscard]] DeviceAddress allocate_shareable(std::size_t size_bytes) override {
    return allocate(size_bytes, MemoryKind::device);
  }
  void free_shareable(DeviceAddress address) noexcept override {
    free(address, MemoryKind::device);
  }
  [[nodiscard]] bool is_shareable(DeviceAddress /*address*/) override { return true; }
  [[nodiscard]] MemoryHandle export_memory(DeviceAddress address, std::size_t size_bytes) override;
  [[nodiscard]] DeviceAddress import_memory(const InterprocessHandle& block) override;
  void close_memory(DeviceAddress block) noexcept override;
  [[nodiscard]] Event create_interprocess_event() override;
  [[nodiscard]] InterprocessHandle export_event(Event event) override;
  [[nodiscard]] Event import_event(const InterprocessHandle& event) override;

  [[nodiscard]] bool has_flags() override;
  [[nodiscard]] bool has_flags_in_graphs() override;
  void set_flag(Stream stream, DeviceAddress flag, std::uint32_t value) override;
  void wait_for_flag(Stream stream, DeviceAddress flag, std::uint32_t bits) override;

  [[nodiscard]] std::string why_no_image(const ImageShape& shape) override;
  [[nodiscard]] Image create_image(const ImageShape& shape) override;
  void destroy_image(Image image, const ImageShape& shape) noexcept override;
  void copy_image(Stream stream, const Copy& copy) override;
  [[nodiscard]] Access create_texture(Image image, const ImageShape& shape,
                                      const TextureOptions& options) override;
  void destroy_texture(Access texture) noexcept override;
  [[nodiscard]] Access create_surface(Image image, const ImageShape& shape, int level) override;
  void destroy_surface(Access surface) noexcept override;

  [[nodiscard]] bool draws_opengl() override;
  [[nodiscard]] Resource register_opengl_buffer(std::uint32_t buffer,
                                                GraphicsAccess access) override;
  [[nodiscard]] Resource register_opengl_image(std::uint32_t image, std::uint32_t target,
                                               GraphicsAccess access) override;
  void unregister(Resource resource) noexcept override;
  void map(Stream stream, Resource resource) override;
  void unmap(Stream stream, Resource resource) noexcept override;
  [[nodiscard]] GraphicsBackend::Memory mapped_memory(Resource resource) override;
  [[nodiscard]] Texels mapped_image(Resource resource, int layer, int level,
                                    TexelKind kind) override;

  [[nodiscard]] ExternalBackend::Memory import_external(
      int file_descriptor, const ExternalMemoryOptions& options) override;
  void destroy_external(ExternalBackend::Memory memory) noexcept override;
  [[nodiscard]] DeviceAddress map_external(ExternalBackend::Memory memory,
                                           std::size_t size_bytes) override;
  void unmap_external(DeviceAddress address) noexcept override;
  [[nodiscard]] Mipmap external_image(ExternalBackend::Memory memory, std::size_t offset_bytes,
                                      const ImageShape& shape, bool is_drawn_to) override;
  [[nodiscard]] Image texels_of(Mipmap mipmap, const ImageShape& shape) override;
  void destroy_external_image(Mipmap mipmap) noexcept override;
  [[nodiscard]] Semaphore import_semaphore(int file_descriptor,
                                           ExternalSemaphoreKind kind) override;
  void destroy_semaphore(Semaphore semaphore) noexcept override;
  void signal(Stream stream, Semaphore semaphore, std::uint64_t value) override;
  void wait(Stream stream, Semaphore semaphore, std::uint64_t value) override;

  [[nodiscard]] Compiler& compiler() override { return compiler_; }
  [[nodiscard]] OutputKind output_kind() const override { return OutputKind::cubin; }
  Program load(const CompiledProgram& compiled) override;
  void unload(Program program) noexcept override;
  Kernel find_kernel(Program program, const std::string& lowered_name) override;
  [[nodiscard]] KernelAttributes kernel_attributes(Kernel kernel) override;
  SymbolAddress find_global(Program program, const std::string& lowered_name) override;
  void launch(Stream stream, Kernel kernel, const LaunchShape& shape,
              const ArgumentView& arguments) override;

  [[nodiscard]] std::optional<PciAddress> pci_address() const override;

  [[nodiscard]] ReplayProgram replay(const CapturedLaunch& launch) override;

  void call_host(Stream stream, HostFunction function, void* data) override;
  void begin_capture(Stream stream) override;
  [[nodiscard]] Graph end_capture(Stream stream) override;
  void drop_capture(Stream stream) noexcept override;
  void launch_graph(Stream stream, Graph graph) override;
  void add_graph(Stream stream, Graph graph) override;
  bool update_graph(Graph graph, Graph from) override;
  void destroy_graph(Graph graph) noexcept override;
  [[nodiscard]] void* native_graph(Graph graph) const override;
  [[nodiscard]] std::size_t graph_nodes(Graph graph) override;
  [[nodiscard]] std::string graph_dot(Graph graph) override;
  [[nodiscard]] Pool create_pool(const DriverPoolOptions& options) override;
  [[nodiscard]] Pool import_pool(int file_descriptor) override;
  void destroy_pool(Pool pool) noexcept override;
  [[nodiscard]] DeviceAddress allocate_from(Pool pool, Stream stream,
                                            std::size_t size_bytes) override;
  [[nodiscard]] int export_pool(Pool pool) override;
  [[nodiscard]] InterprocessHandle export_block(DeviceAddress block) override;
  [[nodiscard]] DeviceAddress import_block(Pool pool, const InterprocessHandle& block) override;
  [[nodiscard]] std::optional<int> nearest_numa_node() override;

  [[nodiscard]] std::vector<Node> capture_ends(Stream stream) override;
  void set_capture_ends(Stream stream, std::span<const Node> ends) override;
  void repeat_while(Stream stream, DeviceAddress condition,
                    const std::function<void()>& body) override;

  [[nodiscard]] std::string why_no_launch(const LaunchAttributes& attributes) const override;
  void launch_with(Stream stream, Kernel kernel, const LaunchShape& shape,
                   const ArgumentView& arguments, const LaunchAttributes& attributes) override;
  [[nodiscard]] int clusters_at_once(Kernel kernel, const LaunchShape& shape,
                                     const LaunchAttributes& attributes) override;

  [[nodiscard]] int blocks_per_multiprocessor(Kernel kernel, int block_threads,
                                              std::size_t shared_bytes) override;
  [[nodiscard]] int suggested_block_threads(Kernel kernel, std::size_t shared_bytes) override;

 private:
  void open_pool(CUmemoryPool pool, CUdevice reader) const;
  [[nodiscard]] DeviceAddress take_from(CUmemoryPool from, Stream stream, std::size_t size_bytes);
  /// Opens our pool to another device, also if it is made later.
  void add_reader(CUdevice reader);
  [[nodiscard]] CUresult try_allocate(CUdeviceptr* address, std::size_t size_bytes,
                                      MemoryKind kind) const;
  [[nodiscard]] bool release_cached_memory() const;
  [[nodiscard]] bool try_flags();
  [[nodiscard]] bool try_flags_in_graphs(Stream stream, DeviceAddress flag) noexcept;
  [[nodiscard]] std::string kernel_list(Program program) const;
  [[nodiscard]] CUfunction condition_kernel();
  LoopsOfGraph take_loops(Stream stream) noexcept;
  void resume_capture(Stream stream, CUgraph graph, CUgraphNode after);

  const DriverApi& driver_;
  CUdevice device_ = 0;
  DeviceInfo info_;
  CudaCompiler compiler_;
  mutable std::mutex mutex_;  // guards the making of the first two below, and the sets
  mutable std::atomic<CUcontext> context_ = nullptr;
  std::atomic<bool> has_node_pools_ = false;  // any pool was made at a NUMA node
  std::atomic<CUmemoryPool> pool_ = nullptr;
  std::set<CUdevice> readers_;                // devices that reach our memory
  std::mutex peers_mutex_;                    // guards the next one
  std::map<const CudaBackend*, bool> peers_;  // whether we reach theirs
  mutable CaptureTurns captures_;
  std::once_flag flags_tried_;
  bool has_flags_ = false;
  bool has_flags_in_graphs_ = false;
  std::map<Program, std::map<std::string, std::size_t>> parameter_bytes_;  // of each kernel
  std::map<CUfunction, std::size_t> bytes_of_kernels_;                     // of those found
  CUfunction condition_kernel_ = nullptr;    // of a module that is never unloaded
  std::map<Stream, LoopsOfGraph> loops_;     // of the graphs that are captured
  std::set<CUevent> events_without_timing_;  // the driver has one status for all bad events
};

/// Makes a backend's context current on this thread while it lives.
///
/// A thread that had none keeps it, as with the runtime API, which makes later calls cheap; a
/// foreign context is put back.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaBackend& backend);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const DriverApi& driver_;
  bool was_pushed_ = false;
};

/// Everything that is fixed about a device.
[[nodiscard]] DeviceInfo read_device_info(const DriverApi& driver, CUdevice device, int index);

/// Runs a call that destroys something; failures are ignored.
template <class Action>
void ignoring_errors(const CudaBackend& backend, const Action& action) noexcept {
  try {
    const CurrentContext current(backend);
    action();
  } catch (const Error&) {
    // The context cannot be made current: the driver is shutting down and takes all with it.
  }
}

}  // namespace rtcg::runtime::cuda
