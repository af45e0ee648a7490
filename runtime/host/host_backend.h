#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/graph_loop.h"
#include "rtcg/runtime/device/growable_buffer.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/peer.h"
#include "rtcg/runtime/device/replay_program.h"
#include "rtcg/runtime/host/host_queue.h"

namespace rtcg::runtime {

/// The CPU as a device: memory of the process, streams that are threads, kernels that are functions
/// of a shared object made by the system's compiler (host_kernel_header() declares them).
///
/// Every stream runs its work in order on its own thread; a kernel spreads its blocks over OpenMP
/// threads itself. Work of different streams overlaps. An exception out of a kernel is reported by
/// the next synchronisation of its stream. Use handles made before a fork() only in the parent.
class HostBackend : public Backend,
                    public PeerBackend,
                    public InterprocessBackend,
                    public FlagBackend,
                    public ImageBackend,
                    public GrowableBackend,
                    public ReplayBackend,
                    public GraphLoopBackend {
 public:
  HostBackend();

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] void* native_context() const override { return nullptr; }

  DeviceAddress allocate(std::size_t size_bytes, MemoryKind kind) override;
  void free(DeviceAddress address, MemoryKind kind) noexcept override;
  [[nodiscard]] MemoryInfo memory_info() const override;
  DeviceAddress device_address_of_host(void* pointer) override;

  [[nodiscard]] ReplayProgram replay(const CapturedLaunch& launch) override;

  [[nodiscard]] std::size_t granule_bytes() override;
  [[nodiscard]] DeviceAddress reserve(std::size_t size_bytes) override;
  void unreserve(DeviceAddress address, std::size_t size_bytes) noexcept override;
  [[nodiscard]] Part add_part(DeviceAddress address, std::size_t size_bytes) override;
  void drop_part(Part part, DeviceAddress address, std::size_t size_bytes) noexcept override;

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

  // Objects of this class, of which tests make several, are devices that share their memory.
  bool reach(Backend& other) override { return dynamic_cast<HostBackend*>(&other) != nullptr; }
  bool copy_between(Stream stream, Backend& of_stream, DeviceAddress target, Backend& of_target,
                    DeviceAddress source, Backend& of_source, std::size_t size_bytes) override;
  // Memory is a file without a name, which others open by the process that made it.
  [[nodiscard]] DeviceAddress allocate_shareable(std::size_t size_bytes) override;
  void free_shareable(DeviceAddress address) noexcept override;
  [[nodiscard]] bool is_shareable(DeviceAddress address) override;
  [[nodiscard]] MemoryHandle export_memory(DeviceAddress address, std::size_t size_bytes) override;
  [[nodiscard]] DeviceAddress import_memory(const InterprocessHandle& block) override;
  void close_memory(DeviceAddress block) noexcept override { free_shareable(block); }
  [[nodiscard]] Event create_interprocess_event() override;
  [[nodiscard]] InterprocessHandle export_event(Event event) override;
  [[nodiscard]] Event import_event(const InterprocessHandle& event) override;

  [[nodiscard]] bool has_flags() override { return true; }
  [[nodiscard]] bool has_flags_in_graphs() override { return true; }
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

  [[nodiscard]] Compiler& compiler() override;
  [[nodiscard]] OutputKind output_kind() const override { return OutputKind::host_shared_object; }
  Program load(const CompiledProgram& compiled) override;
  void unload(Program program) noexcept override;
  Kernel find_kernel(Program program, const std::string& lowered_name) override;
  [[nodiscard]] KernelAttributes kernel_attributes(Kernel kernel) override;
  SymbolAddress find_global(Program program, const std::string& lowered_name) override;
  void launch(Stream stream, Kernel kernel, const LaunchShape& shape,
              const ArgumentView& arguments) override;

  void call_host(Stream stream, HostFunction function, void* data) override;
  void begin_capture(Stream stream) override;
  [[nodiscard]] Graph end_capture(Stream stream) override;
  void drop_capture(Stream stream) noexcept override;
  void launch_graph(Stream stream, Graph graph) override;
  bool update_graph(Graph graph, Graph from) override;
  void destroy_graph(Graph graph) noexcept override;
  [[nodiscard]] std::size_t graph_nodes(Graph graph) override;
  [[nodiscard]] std::string graph_dot(Graph graph) override;
  void repeat_while(Stream stream, DeviceAddress condition,
                    const std::function<void()>& body) override;

 private:
  // Shared, since a queue may be ended while another thread waits for it.
  using QueueList = std::vector<std::shared_ptr<HostQueue>>;
  [[nodiscard]] HostQueue& queue(Stream stream);
  [[nodiscard]] QueueList queues() const;

  const DeviceInfo info_;
  const std::shared_ptr<HostQueue> default_queue_;
  /// Memory that processes share.
  struct SharedBlock {
    std::size_t size_bytes;
    int file;  ///< -1: another process has it
  };
  using SharedBlocks = std::map<DeviceAddress, SharedBlock>;
  /// That with the address; the end if there is none. With the mutex.
  [[nodiscard]] SharedBlocks::const_iterator shared_block_at(DeviceAddress address) const;

  mutable std::mutex mutex_;    // of the next two
  QueueList queues_;            // of all streams but the default one
  SharedBlocks shared_blocks_;  // by address
};

}  // namespace rtcg::runtime
