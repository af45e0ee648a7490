#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/device.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays::testing {

/// A device of this machine that writes down what is asked of it: waiting, copies, launches.
///
/// Everything reaches the real back end. Never destroyed, as other back ends.
class WatchedBackend : public runtime::Backend {
 public:
  struct Call {
    std::string name;
    Stream stream = nullptr;
  };

  explicit WatchedBackend(runtime::Device device) : real_(device.backend()) {}

  /// The calls since the last time.
  [[nodiscard]] std::vector<Call> take_calls() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }

  [[nodiscard]] const runtime::DeviceInfo& info() const override { return real_.info(); }
  [[nodiscard]] void* native_context() const override { return real_.native_context(); }
  runtime::DeviceAddress allocate(std::size_t size_bytes, runtime::MemoryKind kind) override {
    note("allocate");
    return real_.allocate(size_bytes, kind);
  }
  void free(runtime::DeviceAddress address, runtime::MemoryKind kind) noexcept override {
    note("free");
    real_.free(address, kind);
  }
  runtime::DeviceAddress allocate_on(Stream stream, std::size_t size_bytes) override {
    note("allocate_on", stream);
    return real_.allocate_on(stream, size_bytes);
  }
  void free_on(Stream stream, runtime::DeviceAddress address) noexcept override {
    note("free_on", stream);
    real_.free_on(stream, address);
  }
  [[nodiscard]] runtime::MemoryInfo memory_info() const override { return real_.memory_info(); }
  void register_host_memory(void* pointer, std::size_t size_bytes) override {
    real_.register_host_memory(pointer, size_bytes);
  }
  void unregister_host_memory(void* pointer) noexcept override {
    real_.unregister_host_memory(pointer);
  }
  runtime::DeviceAddress device_address_of_host(void* pointer) override {
    return real_.device_address_of_host(pointer);
  }

  Stream create_stream(const runtime::StreamOptions& options) override {
    return real_.create_stream(options);
  }
  void destroy_stream(Stream stream) noexcept override { real_.destroy_stream(stream); }
  void synchronize(Stream stream) override {
    note("synchronize", stream);
    real_.synchronize(stream);
  }
  [[nodiscard]] bool is_done(Stream stream) override {
    note("is_done", stream);
    return real_.is_done(stream);
  }
  void wait_event(Stream stream, Event event) override {
    note("wait_event", stream);
    real_.wait_event(stream, event);
  }
  void synchronize_device() override {
    note("synchronize_device");
    real_.synchronize_device();
  }
  Event create_event(const runtime::EventOptions& options) override {
    return real_.create_event(options);
  }
  void destroy_event(Event event) noexcept override { real_.destroy_event(event); }
  void record(Event event, Stream stream) override {
    note("record", stream);
    real_.record(event, stream);
  }
  void synchronize_event(Event event) override {
    note("synchronize_event");
    real_.synchronize_event(event);
  }
  [[nodiscard]] bool is_event_done(Event event) override {
    note("is_event_done");
    return real_.is_event_done(event);
  }
  [[nodiscard]] double elapsed_ms(Event begin, Event end) override {
    note("elapsed_ms");
    return real_.elapsed_ms(begin, end);
  }

  void copy(Stream stream, const runtime::CopyRegion& region) override {
    const auto device = runtime::CopyRegion::Side::device;
    const bool is_on_device = region.source.side == device && region.target.side == device;
    note(is_on_device ? "copy_on_device" : "copy_with_host", stream);
    real_.copy(stream, region);
  }
  void fill(Stream stream, runtime::DeviceAddress address, std::span<const std::byte> pattern,
            std::size_t count) override {
    note("fill", stream);
    real_.fill(stream, address, pattern, count);
  }

  [[nodiscard]] runtime::Compiler& compiler() override { return real_.compiler(); }
  [[nodiscard]] runtime::OutputKind output_kind() const override { return real_.output_kind(); }
  Program load(const runtime::CompiledProgram& compiled) override {
    note("load");
    return real_.load(compiled);
  }
  void unload(Program program) noexcept override { real_.unload(program); }
  Kernel find_kernel(Program program, const std::string& name) override {
    return real_.find_kernel(program, name);
  }
  [[nodiscard]] runtime::KernelAttributes kernel_attributes(Kernel kernel) override {
    return real_.kernel_attributes(kernel);
  }
  runtime::SymbolAddress find_global(Program program, const std::string& name) override {
    return real_.find_global(program, name);
  }
  void launch(Stream stream, Kernel kernel, const runtime::LaunchShape& shape,
              const runtime::ArgumentView& arguments) override {
    note("launch", stream);
    real_.launch(stream, kernel, shape, arguments);
  }
  void call_host(Stream stream, HostFunction function, void* data) override {
    note("call_host", stream);
    real_.call_host(stream, function, data);
  }
  void begin_capture(Stream stream) override { real_.begin_capture(stream); }
  [[nodiscard]] Graph end_capture(Stream stream) override { return real_.end_capture(stream); }
  void drop_capture(Stream stream) noexcept override { real_.drop_capture(stream); }
  void launch_graph(Stream stream, Graph graph) override {
    note("launch_graph", stream);
    real_.launch_graph(stream, graph);
  }
  void destroy_graph(Graph graph) noexcept override { real_.destroy_graph(graph); }
  [[nodiscard]] int blocks_per_multiprocessor(Kernel kernel, int block_threads,
                                              std::size_t shared_bytes) override {
    return real_.blocks_per_multiprocessor(kernel, block_threads, shared_bytes);
  }
  [[nodiscard]] int suggested_block_threads(Kernel kernel, std::size_t shared_bytes) override {
    return real_.suggested_block_threads(kernel, shared_bytes);
  }

 protected:
  void note(const char* name, Stream stream = nullptr) noexcept {
    const std::lock_guard lock(mutex_);
    calls_.push_back({name, stream});
  }

  runtime::Backend& real_;

 private:
  std::mutex mutex_;
  std::vector<Call> calls_;
};

/// Runs `body(watched)` with each device of this machine, watched.
template <class Body>
void on_every_watched_device(Body&& body) {
  static auto& all = *new std::vector<std::unique_ptr<WatchedBackend>>;
  if (all.empty()) {
    for (const runtime::Device device : rtcg::runtime::judged_devices()) {
      all.push_back(std::make_unique<WatchedBackend>(device));
    }
  }
  for (const auto& watched : all) {
    SCOPED_TRACE(runtime::to_string(watched->info().id));
    body(*watched);
  }
}

/// How many of the calls have one of these names.
inline int count_of(const std::vector<WatchedBackend::Call>& calls,
                    const std::vector<std::string>& names) {
  return static_cast<int>(
      std::count_if(calls.begin(), calls.end(), [&](const WatchedBackend::Call& call) {
        return std::find(names.begin(), names.end(), call.name) != names.end();
      }));
}

}  // namespace rtcg::arrays::testing
