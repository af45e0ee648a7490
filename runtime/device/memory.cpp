#include "rtcg/runtime/device/memory.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/runtime/device/launch_capture.h"

namespace rtcg::runtime {

Memory::Memory(Device device, std::size_t size_bytes, MemoryKind kind)
    : stream_(device.default_stream()),
      address_(device.backend().allocate(size_bytes, kind)),
      size_bytes_(size_bytes),
      kind_(kind) {
  detail::note_memory(device, address_, size_bytes_);
}

Memory::Memory(std::shared_ptr<MemorySource> source, StreamRef stream, DeviceAddress address,
               std::size_t size_bytes, MemoryKind kind) noexcept
    : source_(std::move(source)),
      stream_(stream),
      address_(address),
      size_bytes_(size_bytes),
      kind_(kind) {
  detail::note_memory(device(), address_, size_bytes_);
}

Memory::~Memory() {
  if (address_ == 0) {
    return;
  }
  detail::forget_memory(device(), address_, size_bytes_);
  if (source_ != nullptr) {
    source_->take_back(address_, size_bytes_, stream_);
  } else {
    device().backend().free(address_, kind_);
  }
}

Memory::Memory(Memory&& other) noexcept
    : source_(std::move(other.source_)),
      stream_(other.stream_),
      address_(std::exchange(other.address_, 0)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      kind_(other.kind_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  // by way of a temporary, so that what this held is given back now and not with `other`
  Memory taken(std::move(other));
  std::swap(source_, taken.source_);
  std::swap(stream_, taken.stream_);
  std::swap(address_, taken.address_);
  std::swap(size_bytes_, taken.size_bytes_);
  std::swap(kind_, taken.kind_);
  return *this;
}

bool Memory::is_host_accessible() const noexcept {
  return kind_ != MemoryKind::device || device().info().id.kind == BackendKind::host;
}

void* Memory::host_pointer() const {
  if (!is_host_accessible()) {
    throw InvalidInput(
        "runtime.buffer.not_host_accessible",
        fmt::format("the host cannot touch {} bytes of memory of '{}': copy them, or "
                    "ask for pinned or managed memory",
                    size_bytes_, to_string(device().info().id)));
  }
  return reinterpret_cast<void*>(address_);
}

DeviceAddress Memory::kernel_address() const {
  if (kind_ != MemoryKind::pinned || address_ == 0) {
    return address_;
  }
  return device().backend().device_address_of_host(reinterpret_cast<void*>(address_));
}

RegisteredMemory::RegisteredMemory(Device device, void* pointer, std::size_t size_bytes)
    : device_(device), pointer_(pointer) {
  device_.backend().register_host_memory(pointer, size_bytes);
}

RegisteredMemory::~RegisteredMemory() {
  if (pointer_ != nullptr) {
    device_.backend().unregister_host_memory(pointer_);
  }
}

RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept
    : device_(other.device_), pointer_(std::exchange(other.pointer_, nullptr)) {}

RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept {
  RegisteredMemory taken(std::move(other));
  std::swap(device_, taken.device_);
  std::swap(pointer_, taken.pointer_);
  return *this;
}

DeviceAddress RegisteredMemory::kernel_address() const {
  return device_.backend().device_address_of_host(pointer_);
}

std::size_t padded_pitch_bytes(Device device, std::size_t row_bytes) {
  const std::size_t step = std::max<std::size_t>(device.info().memory_alignment_bytes, 1);
  return round_up(row_bytes, step);
}

}  // namespace rtcg::runtime
