#include "rtcg/runtime/device/interprocess.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

InterprocessBackend& handles_of(Device device) {
  auto* const found = dynamic_cast<InterprocessBackend*>(&device.backend());
  if (found == nullptr) {
    throw Unsupported("runtime.interprocess.unsupported",
                      fmt::format("'{}' has no memory for other processes: devices of CUDA and "
                                  "the host have",
                                  device.info().name));
  }
  return *found;
}

/// Gives shareable memory of a device back.
class ShareableSource final : public MemorySource {
 public:
  void take_back(DeviceAddress address, std::size_t /*size_bytes*/,
                 StreamRef stream) noexcept override {
    dynamic_cast<InterprocessBackend&>(stream.device().backend()).free_shareable(address);
  }
};

}  // namespace

Memory shareable_memory(Device device, std::size_t size_bytes) {
  static const auto source = std::make_shared<ShareableSource>();
  return {source, device.default_stream(), handles_of(device).allocate_shareable(size_bytes),
          size_bytes, MemoryKind::device};
}

bool is_shareable(BufferRef<const std::byte> memory) {
  auto* const found = dynamic_cast<InterprocessBackend*>(&memory.device().backend());
  return found != nullptr && found->is_shareable(memory.address());
}

MemoryHandle export_memory(BufferRef<const std::byte> memory) {
  return handles_of(memory.device()).export_memory(memory.address(), memory.size_bytes());
}

ImportedMemory::ImportedMemory(Device device, const MemoryHandle& handle)
    : device_(device), handle_(handle), block_(handles_of(device).import_memory(handle.block)) {}

ImportedMemory::~ImportedMemory() {
  if (block_ != 0) {
    handles_of(device_).close_memory(block_);
  }
}

ImportedMemory::ImportedMemory(ImportedMemory&& other) noexcept
    : device_(other.device_), handle_(other.handle_), block_(std::exchange(other.block_, 0)) {}

ImportedMemory& ImportedMemory::operator=(ImportedMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(block_, other.block_);
  return *this;
}

BufferRef<std::byte> ImportedMemory::ref() const noexcept {
  return {device_, block_ + handle_.offset_bytes, handle_.size_bytes};
}

InterprocessEvent::InterprocessEvent(Device device)
    : device_(device), event_(handles_of(device).create_interprocess_event()) {}

InterprocessEvent::InterprocessEvent(Device device, const InterprocessHandle& handle)
    : device_(device), event_(handles_of(device).import_event(handle)) {}

InterprocessEvent::~InterprocessEvent() {
  if (event_ != nullptr) {
    device_.backend().destroy_event(event_);
  }
}

InterprocessEvent::InterprocessEvent(InterprocessEvent&& other) noexcept
    : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}

InterprocessEvent& InterprocessEvent::operator=(InterprocessEvent&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}

InterprocessHandle InterprocessEvent::handle() const {
  return handles_of(device_).export_event(event_);
}

}  // namespace rtcg::runtime
