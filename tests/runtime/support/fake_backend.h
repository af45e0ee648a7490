#pragma once

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::runtime {

/// A device without memory, whose streams get on only when a test says so. It writes down what it
/// was asked for.
class FakeBackend : public Backend {
 public:
  FakeBackend() {
    info_.id = {BackendKind::cuda, 7};
    info_.max_threads_per_block = 1024;
    info_.max_block = {1024, 1024, 64};
    info_.max_grid = {2147483647, 65535, 65535};
    info_.shared_bytes_per_block = 48 << 10;
  }

  DeviceInfo info_;
  std::size_t capacity_bytes = std::size_t{1} << 40;
  std::map<DeviceAddress, std::size_t> allocated;
  std::set<Stream> busy;  // streams with work that is not done
  std::vector<std::string> calls;
  struct FakeEvent {
    Stream stream = nullptr;
    bool is_recorded = false;
  };

  [[nodiscard]] std::size_t used_bytes() const {
    std::size_t sum = 0;
    for (const auto& [address, size_bytes] : allocated) {
      sum += size_bytes;
    }
    return sum;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] void* native_context() const override { return nullptr; }
  DeviceAddress allocate(std::size_t size_bytes, MemoryKind /*kind*/) override {
    if (size_bytes > capacity_bytes - used_bytes()) {
      throw DeviceError("runtime.memory.out_of_memory", "the fake device is full", "allocate",
                        "FULL");
    }
    const DeviceAddress address = next_address_;
    next_address_ += size_bytes + 4096;
    allocated[address] = size_bytes;
    return address;
  }
  void free(DeviceAddress address, MemoryKind /*kind*/) noexcept override {
    if (allocated.erase(address) != 1) {
      std::abort();  // freed twice, or never allocated
    }
  }
  DeviceAddress allocate_on(Stream /*stream*/, std::size_t size_bytes) override {
    calls.emplace_back("allocate_on");
    return allocate(size_bytes, MemoryKind::device);
  }
  void free_on(Stream /*stream*/, DeviceAddress address) noexcept override {
    calls.emplace_back("free_on");
    free(address, MemoryKind::device);
  }
  [[nodiscard]] MemoryInfo memory_info() const override {
    return {capacity_bytes - used_bytes(), capacity_bytes};
  }
  void register_host_memory(void* /*pointer*/, std::size_t /*size_bytes*/) override {
    calls.emplace_back("register");
  }
  void unregister_host_memory(void* /*pointer*/) noexcept override {
    calls.emplace_back("unregister");
  }
  DeviceAddress device_address_of_host(void* pointer) override {
    return reinterpret_cast<DeviceAddress>(pointer) + 1;
  }

  Stream create_stream(const StreamOptions& /*options*/) override {
    return reinterpret_cast<Stream>(++next_handle_);
  }
  void destroy_stream(Stream stream) noexcept override {
    calls.emplace_back("destroy_stream");
    ended_.insert(stream);
  }
  void synchronize(Stream stream) override { busy.erase(stream); }
  [[nodiscard]] bool is_done(Stream stream) override {
    if (ended_.count(stream) != 0) {
      std::abort();  // a driver may crash on such a handle
    }
    return busy.count(stream) == 0;
  }
  void wait_event(Stream /*stream*/, Event /*event*/) override {}
  void synchronize_device() override { busy.clear(); }
  Event create_event(const EventOptions& /*options*/) override { return new FakeEvent; }
  void destroy_event(Event event) noexcept override { delete static_cast<FakeEvent*>(event); }
  void record(Event event, Stream stream) override {
    *static_cast<FakeEvent*>(event) = {stream, true};
    calls.emplace_back("record");
  }
  void synchronize_event(Event event) override {
    busy.erase(static_cast<FakeEvent*>(event)->stream);
    calls.emplace_back("synchronize_event");
  }
  [[nodiscard]] bool is_event_done(Event event) override {
    return busy.count(static_cast<FakeEvent*>(event)->stream) == 0;
  }
  [[nodiscard]] double elapsed_ms(Event /*begin*/, Event /*end*/) override { return 0; }
  void copy(Stream /*stream*/, const CopyRegion& region) override { copies.push_back(region); }
  void fill(Stream /*stream*/, DeviceAddress /*address*/, std::span<const std::byte> /*pattern*/,
            std::size_t /*count*/) override {}

  [[nodiscard]] Compiler& compiler() override { return HostCompiler::instance(); }
  [[nodiscard]] OutputKind output_kind() const override { return OutputKind::cubin; }
  Program load(const CompiledProgram& /*compiled*/) override { return nullptr; }
  void unload(Program /*program*/) noexcept override {}
  Kernel find_kernel(Program /*program*/, const std::string& /*name*/) override { return nullptr; }
  [[nodiscard]] KernelAttributes kernel_attributes(Kernel /*kernel*/) override {
    return attributes;
  }
  SymbolAddress find_global(Program /*program*/, const std::string& /*name*/) override {
    return {4096, 10};
  }
  void call_host(Stream /*stream*/, HostFunction function, void* data) override { function(data); }
  void launch(Stream /*stream*/, Kernel /*kernel*/, const LaunchShape& shape,
              const ArgumentView& /*arguments*/) override {
    launches.push_back(shape);
    if (launch_fails) {
      throw DeviceError("runtime.fake.launch_failed", "the driver refused", "cuLaunchKernel",
                        "CUDA_ERROR_UNKNOWN");
    }
  }
  [[nodiscard]] int blocks_per_multiprocessor(Kernel /*kernel*/, int /*block_threads*/,
                                              std::size_t /*shared_bytes*/) override {
    return 2;
  }
  [[nodiscard]] int suggested_block_threads(Kernel /*kernel*/,
                                            std::size_t /*shared_bytes*/) override {
    return 256;
  }

  std::vector<CopyRegion> copies;
  std::vector<LaunchShape> launches;
  KernelAttributes attributes;
  bool launch_fails = false;

 private:
  DeviceAddress next_address_ = 4096;
  std::uintptr_t next_handle_ = 0;
  std::set<Stream> ended_;
};

/// The kernel `smooth` with the backend's attributes: at most 256 threads and 1024 shared bytes.
inline Kernel kernel_on(FakeBackend& backend) {
  KernelAttributes attributes = backend.attributes;
  attributes.name = "smooth";
  return Kernel(std::make_shared<const detail::LoadedKernel>(
      detail::LoadedKernel{nullptr, Device(backend), nullptr, attributes, 256, 1024, false}));
}

}  // namespace rtcg::runtime
