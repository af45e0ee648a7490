#pragma once
// Internal header: it is not installed.

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/replay_program.h"
#include "rtcg/runtime/device/split_device.h"
#include "rtcg/runtime/device/user_event.h"
#include "rtcg/runtime/opencl/command_order.h"
#include "rtcg/runtime/opencl/opencl_api.h"
#include "rtcg/runtime/opencl/opencl_buffers.h"
#include "rtcg/runtime/opencl/opencl_compiler.h"
#include "rtcg/runtime/opencl/opencl_kernel.h"

namespace rtcg::runtime::opencl {

/// Flags to allocate memory of that kind.
///
/// @throws Unsupported  runtime.opencl.no_managed_memory
[[nodiscard]] cl_svm_mem_flags svm_flags(cl_device_svm_capabilities capabilities, MemoryKind kind,
                                         const std::string& device_name);

/// How OpenCL says what an image, or an address mode of a texture, is.
[[nodiscard]] cl_image_format format_of(const ImageShape& shape);
[[nodiscard]] cl_mem_object_type object_of(const ImageShape& shape);
[[nodiscard]] cl_addressing_mode mode_of(AddressMode mode);

/// One OpenCL device, in its own context, which is made when it is first needed.
///
/// Memory is shared virtual memory, so an address is a plain pointer on both sides; so is pinned
/// memory if the device is coherent with the host (fine grain); otherwise pinned memory is aligned
/// host memory. Without shared virtual memory it is buffer objects (BufferMemory): a kernel then
/// accepts pointers into memory only at multiples of info().memory_alignment_bytes. Streams are
/// queues with profiling, in order or with a CommandOrder. Programs and kernels are cl_program and
/// cl_kernel; a kernel lives as long as its program. An event is an object of rtcg, since a
/// cl_event cannot be recorded twice; a foreign cl_event may be waited for and timed, not recorded.
class OpenClBackend : public Backend,
                      public ImageBackend,
                      public ReplayBackend,
                      public UserEventBackend,
                      public SplitBackend {
 public:
  OpenClBackend(const Api& api, cl_device_id device, const DeviceName& name);
  OpenClBackend(const OpenClBackend&) = delete;
  OpenClBackend& operator=(const OpenClBackend&) = delete;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] cl_device_id device() const noexcept { return device_; }
  /// Makes it at first use.
  [[nodiscard]] cl_context context() const;

  [[nodiscard]] std::vector<Backend*> split(int count) override;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] void* native_context() const override { return context(); }

  DeviceAddress allocate(std::size_t size_bytes, MemoryKind kind) override;
  void free(DeviceAddress address, MemoryKind kind) noexcept override;
  /// Waits for this stream alone.
  void free_on(Stream stream, DeviceAddress address) noexcept override;
  [[nodiscard]] MemoryInfo memory_info() const override;
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

  [[nodiscard]] Event create_user_event() override;
  void set_user_event(Event event) override;
  void destroy_user_event(Event event) noexcept override;

  void copy(Stream stream, const CopyRegion& region) override;
  void fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
            std::size_t count) override;

  [[nodiscard]] ReplayProgram replay(const CapturedLaunch& launch) override;

  [[nodiscard]] std::string why_no_image(const ImageShape& shape) override;
  [[nodiscard]] Image create_image(const ImageShape& shape) override;
  void destroy_image(Image image, const ImageShape& shape) noexcept override;
  void copy_image(Stream stream, const Copy& copy) override;
  [[nodiscard]] Access create_texture(Image image, const ImageShape& shape,
                                      const TextureOptions& options) override;
  void destroy_texture(Access texture) noexcept override;
  [[nodiscard]] Access create_surface(Image image, const ImageShape& shape, int level) override;
  void destroy_surface(Access surface) noexcept override;

  [[nodiscard]] Compiler& compiler() override { return compiler_; }
  [[nodiscard]] OutputKind output_kind() const override { return OutputKind::opencl_binary; }
  Program load(const CompiledProgram& compiled) override;
  void unload(Program program) noexcept override;
  Kernel find_kernel(Program program, const std::string& lowered_name) override;
  [[nodiscard]] KernelAttributes kernel_attributes(Kernel kernel) override;
  SymbolAddress find_global(Program program, const std::string& lowered_name) override;
  void launch(Stream stream, Kernel kernel, const LaunchShape& shape,
              const ArgumentView& arguments) override;
  void call_host(Stream stream, HostFunction function, void* data) override;

 private:
  /// How far a queue is. Submissions of all queues share one numbering, so a number never belongs
  /// to a later queue with the same handle.
  struct Progress {
    bool is_foreign = true;  // others submit too: a past state does not last
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;
    cl_event marker = nullptr;  // of is_done, after submission `marked`
    std::uint64_t marked = 0;
    std::shared_ptr<CommandOrder> order{};  // of an out-of-order queue
  };
  struct Allocation {
    std::size_t size_bytes = 0;
    bool is_on_host = false;
  };
  struct LoadedProgram {
    ParameterTable parameters;
    std::map<std::string, cl_kernel> kernels;
  };
  /// What a texture or surface is.
  struct ImageAccess {
    cl_mem image = nullptr;
    cl_sampler sampler = nullptr;  // of a texture
  };
  struct Recorded;
  struct RecordedEvent;
  struct ReleaseQueue {
    const Api* api;
    void operator()(cl_command_queue queue) const noexcept { api->clReleaseCommandQueue(queue); }
  };
  using HeldQueue = std::unique_ptr<std::remove_pointer_t<cl_command_queue>, ReleaseQueue>;

  [[nodiscard]] cl_command_queue queue(Stream stream);
  [[nodiscard]] cl_command_queue new_queue(cl_command_queue_properties order) const;
  /// Null for a queue that runs its commands in order.
  [[nodiscard]] std::shared_ptr<CommandOrder> order_of(cl_command_queue queue) const;
  /// The allocation that has the address.
  [[nodiscard]] MemoryUse memory_use(DeviceAddress address, bool is_written) const;
  [[nodiscard]] std::vector<MemoryUse> memory_uses(const LoadedKernel& loaded,
                                                   const ArgumentView& arguments) const;
  /// Retained: another thread may destroy a stream meanwhile.
  [[nodiscard]] std::vector<HeldQueue> queues() const;
  /// After commands were enqueued: lets them start, and counts them.
  void submit(cl_command_queue queue);
  [[nodiscard]] cl_event new_marker(cl_command_queue queue) const;
  /// Number of the queue's latest submission.
  [[nodiscard]] std::uint64_t latest_submission(cl_command_queue queue) const;
  /// The queue has been seen to be done up to that submission.
  void note_done(cl_command_queue queue, std::uint64_t submission);
  void finish(cl_command_queue queue);

  /// Null for a foreign event.
  [[nodiscard]] RecordedEvent* own_event(Event event) const;
  [[nodiscard]] Recorded recorded(Event event) const;
  [[nodiscard]] bool is_complete(cl_event event) const;
  [[nodiscard]] double end_ms(Event event);

  [[nodiscard]] bool is_coherent() const noexcept;
  [[nodiscard]] bool has_svm() const noexcept;
  /// Whether memory of that kind is plain memory of the host.
  [[nodiscard]] bool is_host_memory(MemoryKind kind) const noexcept;
  /// The allocation that contains the address.
  [[nodiscard]] std::optional<Allocation> find_allocation(DeviceAddress address) const;
  [[nodiscard]] bool is_in_host_memory(DeviceAddress address) const;
  /// Null where the driver refuses even once all work is done.
  [[nodiscard]] void* allocate_svm(cl_svm_mem_flags flags, std::size_t size_bytes);
  /// Frees memory that no work uses.
  void release(DeviceAddress address, MemoryKind kind) noexcept;
  /// 0 if there is not enough.
  [[nodiscard]] DeviceAddress try_allocate(std::size_t size_bytes, MemoryKind kind);
  void copy_bytes(cl_command_queue queue, DeviceAddress target, DeviceAddress source,
                  std::size_t size_bytes, bool blocking);

  /// A cl_mem that is neither texture nor surface of ours goes on as it is.
  [[nodiscard]] ImageAccess image_access(Access handle) const;
  [[nodiscard]] Access add_access(const ImageAccess& access);
  void finish_all() const noexcept;
  void copy_layers_of_rows(cl_command_queue on, const Copy& copy);
  /// The buffer that has the memory, and where in it.
  struct BufferPart {
    HeldBuffer held;
    cl_mem buffer = nullptr;
    std::size_t offset_bytes = 0;
  };
  [[nodiscard]] BufferPart buffer_of(DeviceAddress address);

  [[nodiscard]] HeldProgram program_of_spirv(const CompiledProgram& compiled) const;
  [[nodiscard]] LoadedKernel& loaded_kernel(Kernel kernel);
  /// @returns  an object that must live until the kernel is enqueued
  [[nodiscard]] std::vector<HeldBuffer> set_arguments(cl_kernel kernel, const LoadedKernel& loaded,
                                                      const LaunchShape& shape,
                                                      const ArgumentView& arguments) const;

  const Api& api_;
  const cl_device_id device_;
  const DeviceInfo info_;
  const cl_device_svm_capabilities svm_;
  OpenClCompiler compiler_;
  BufferMemory buffers_;  // unused where there is shared virtual memory

  std::mutex split_mutex_;
  std::map<int, std::vector<Backend*>> parts_;  // by their number

  mutable std::once_flag context_made_;
  mutable cl_context context_ = nullptr;
  std::once_flag default_queue_made_;
  cl_command_queue default_queue_ = nullptr;

  std::atomic<bool> has_orders_ = false;  // any stream is an out-of-order queue

  std::mutex svm_mutex_;      // of clSVMAlloc and clSVMFree
  mutable std::mutex mutex_;  // of everything below
  std::unordered_map<cl_command_queue, Progress> progress_;
  std::uint64_t submissions_ = 0;
  std::unordered_set<Event> events_;  // all of ours
  std::map<DeviceAddress, Allocation> allocations_;
  std::size_t allocated_bytes_ = 0;
  std::unordered_map<Access, std::unique_ptr<ImageAccess>> accesses_;
  std::unordered_map<cl_program, LoadedProgram> programs_;
  std::unordered_map<cl_kernel, std::unique_ptr<LoadedKernel>> kernels_;
};

}  // namespace rtcg::runtime::opencl
