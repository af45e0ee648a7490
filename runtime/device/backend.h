#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/device/device_info.h"
#include "rtcg/runtime/device/launch_shape.h"

namespace rtcg::runtime {

/// An address on a device: a host pointer, an OpenCL shared-virtual-memory pointer or a
/// CUdeviceptr. Arithmetic on it is plain byte arithmetic on every back end.
using DeviceAddress = std::uint64_t;

enum class MemoryKind {
  device,   ///< default: on the device, the host cannot touch it
  pinned,   ///< page-locked host memory: copies overlap; the device may read it where supported
  managed,  ///< one address for both sides, moved on demand
};

struct StreamOptions {
  int priority = 0;          ///< lower runs first; clamped to the device's range
  bool non_blocking = true;  ///< does not wait for the legacy default stream (CUDA only)
  /// False: work that shares no memory may run side by side, or in another order (OpenCL only;
  /// other streams stay in order). Two launches, copies or fills keep their order if one writes an
  /// allocation, or the host's memory, that the other uses; parameters that point to const are read
  /// only. Events, waits, call_host and copies of images keep their order with all work. Memory
  /// that a kernel reaches by addresses within values or within memory is not seen: put
  /// `stream.wait(stream.record())` before and after it.
  bool in_order = true;
};

struct EventOptions {
  bool with_timing = true;
};

/// One 1-D, 2-D or 3-D copy: `extent` is bytes in a row, rows, planes; pitches are in bytes.
struct CopyRegion {
  enum class Side { host, device };
  struct End {
    Side side = Side::device;
    DeviceAddress address = 0;  ///< a host pointer when side is host
    std::size_t row_pitch_bytes = 0;
    std::size_t plane_pitch_bytes = 0;
  };
  End source;
  End target;
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t planes = 1;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

/// One parameter of a kernel as its binary declares it.
struct KernelParameter {
  std::size_t size_bytes = 0;
  std::optional<bool> is_pointer;  ///< unknown to CUDA's driver
  std::string type_name;           ///< if the back end has it (OpenCL)
};

/// The resources of a loaded kernel. Zero: unknown to the back end.
struct KernelAttributes {
  std::string name;  ///< lowered
  std::optional<std::vector<KernelParameter>>
      parameters;  ///< nullopt: not known, launches go unchecked
  int registers = 0;
  int max_threads_per_block = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t constant_bytes = 0;
  std::size_t local_bytes = 0;
  int preferred_block_multiple = 1;
  int sub_group_lanes = 0;  ///< of OpenCL, in the largest block of one axis
};

struct SymbolAddress {
  DeviceAddress address = 0;
  std::size_t size_bytes = 0;
};

/// Pointers to the arguments' values, in order, as for cuLaunchKernel, with their `sizes_bytes`.
struct ArgumentView {
  std::span<void* const> values;
  std::span<const std::size_t> sizes_bytes;
};

/// The operations of one device, with raw handles: the interface between the public classes and the
/// back ends.
///
/// There is one object for each device, made at first use and never destroyed (the order in which
/// drivers end at exit is not defined). All calls may come from any thread. Functions that create
/// throw; functions that destroy do not. Operations that a device lacks throw Unsupported with the
/// reason. Handles are the native ones (CUstream, cl_command_queue, CUevent, ...), so foreign code
/// can share them; a stream handle of null is the device's default stream.
class Backend {
 public:
  using Stream = void*;
  using Event = void*;
  using Program = void*;
  using Kernel = void*;
  using Graph = void*;

  virtual ~Backend() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// Raw handle of the device or its context: CUcontext, cl_context; null on the host.
  [[nodiscard]] virtual void* native_context() const = 0;

  // Memory. `allocate` of 0 bytes gives address 0, which `free` accepts. `free` waits for the work
  // submitted before.
  // @throws DeviceError  runtime.memory.out_of_memory
  virtual DeviceAddress allocate(std::size_t size_bytes, MemoryKind kind) = 0;
  virtual void free(DeviceAddress address, MemoryKind kind) noexcept = 0;
  /// Ordered on `stream`, if info().has_stream_ordered_allocation.
  /// @throws Unsupported  runtime.memory.not_stream_ordered: default
  virtual DeviceAddress allocate_on(Stream stream, std::size_t size_bytes);
  virtual void free_on(Stream stream, DeviceAddress address) noexcept;
  [[nodiscard]] virtual MemoryInfo memory_info() const = 0;
  /// Page-locks memory the caller owns, or ends that. Default: copies are as fast without.
  virtual void register_host_memory(void* pointer, std::size_t size_bytes);
  virtual void unregister_host_memory(void* pointer) noexcept;
  /// The address by which the device reaches pinned or registered host memory (zero-copy).
  virtual DeviceAddress device_address_of_host(void* pointer) = 0;

  // Streams and events.
  virtual Stream create_stream(const StreamOptions& options) = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;
  virtual void synchronize(Stream stream) = 0;
  /// May be false for a moment after the end, but becomes true without a wait.
  [[nodiscard]] virtual bool is_done(Stream stream) = 0;
  virtual void wait_event(Stream stream, Event event) = 0;
  virtual void synchronize_device() = 0;
  virtual Event create_event(const EventOptions& options) = 0;
  virtual void destroy_event(Event event) noexcept = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void synchronize_event(Event event) = 0;
  [[nodiscard]] virtual bool is_event_done(Event event) = 0;
  [[nodiscard]] virtual double elapsed_ms(Event begin, Event end) = 0;

  // Copies and fills: asynchronous on `stream`; host memory must stay valid until they are done.
  virtual void copy(Stream stream, const CopyRegion& region) = 0;
  /// Repeats a pattern of 1, 2, 4, 8 or 16 bytes `count` times.
  virtual void fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
                    std::size_t count) = 0;

  // Programs. The request's kind and target are what this device loads.
  [[nodiscard]] virtual Compiler& compiler() = 0;
  [[nodiscard]] virtual OutputKind output_kind() const = 0;
  virtual Program load(const CompiledProgram& compiled) = 0;
  virtual void unload(Program program) noexcept = 0;
  /// @throws InvalidInput  runtime.program.unknown_kernel, naming the kernels there are where known
  virtual Kernel find_kernel(Program program, const std::string& lowered_name) = 0;
  [[nodiscard]] virtual KernelAttributes kernel_attributes(Kernel kernel) = 0;
  /// A constant or global variable. @throws InvalidInput runtime.program.unknown_global
  virtual SymbolAddress find_global(Program program, const std::string& lowered_name) = 0;
  virtual void launch(Stream stream, Kernel kernel, const LaunchShape& shape,
                      const ArgumentView& arguments) = 0;

  /// Calls the function at this place of the stream, on some thread; later work of the stream waits
  /// for its end. It must not call the device.
  using HostFunction = void (*)(void* data);
  virtual void call_host(Stream stream, HostFunction function, void* data) = 0;

  // Graphs: between begin_capture and end_capture a stream keeps its work instead of running it.
  // @throws Unsupported   runtime.graph.unsupported: default
  // @throws InvalidInput  runtime.graph.cannot_capture: also by calls that wait for such a stream
  virtual void begin_capture(Stream stream);
  [[nodiscard]] virtual Graph end_capture(Stream stream);
  /// Ends the capture and forgets its work.
  virtual void drop_capture(Stream stream) noexcept;
  virtual void launch_graph(Stream stream, Graph graph);
  /// Makes the graph a part of the one that is being captured from the stream.
  virtual void add_graph(Stream stream, Graph graph);
  /// Takes over the parameters of `from`, if its structure is the same; whether it is.
  virtual bool update_graph(Graph graph, Graph from);
  virtual void destroy_graph(Graph graph) noexcept;
  [[nodiscard]] virtual void* native_graph(Graph graph) const;
  [[nodiscard]] virtual std::size_t graph_nodes(Graph graph);
  [[nodiscard]] virtual std::string graph_dot(Graph graph);

  // Occupancy. @throws Unsupported  runtime.occupancy.unsupported: default
  /// Blocks of that many threads that one multiprocessor holds at once.
  [[nodiscard]] virtual int blocks_per_multiprocessor(Kernel kernel, int block_threads,
                                                      std::size_t shared_bytes);
  /// The block length with the highest occupancy.
  [[nodiscard]] virtual int suggested_block_threads(Kernel kernel, std::size_t shared_bytes);
};

/// The devices of one back end, or a sentence that says why it has none.
struct BackendDevices {
  std::vector<Backend*> devices;
  std::string why_none;
};

// Each back end's door; they do not throw. The objects live as long as the process.
[[nodiscard]] const BackendDevices& host_devices();    // runtime/host
[[nodiscard]] const BackendDevices& opencl_devices();  // runtime/opencl
[[nodiscard]] const BackendDevices& cuda_devices();    // runtime/cuda

}  // namespace rtcg::runtime
