#pragma once

#include <array>
#include <cstddef>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/memory.h"

// Memory and events that several processes of one machine use: one exports a handle, sends its
// bytes to others by any means, and they import it. Memory on CUDA devices and on the host, events
// on CUDA devices.
//
// @throws Unsupported  runtime.interprocess.unsupported: a device of another kind

namespace rtcg::runtime {

/// The bytes of a driver's handle; may be sent to other processes of the machine.
using InterprocessHandle = std::array<std::byte, 64>;

struct MemoryHandle {
  InterprocessHandle block{};    ///< the allocation that has the memory
  std::size_t offset_bytes = 0;  ///< of the memory in it
  std::size_t size_bytes = 0;
};

/// What a back end offers that has such handles; found by a cast of Backend.
class InterprocessBackend {
 public:
  virtual ~InterprocessBackend() = default;
  /// Memory that export_memory takes; free_shareable gives it back.
  [[nodiscard]] virtual DeviceAddress allocate_shareable(std::size_t size_bytes) = 0;
  virtual void free_shareable(DeviceAddress address) noexcept = 0;
  /// Whether export_memory takes memory that Buffer made.
  [[nodiscard]] virtual bool is_shareable(DeviceAddress address) = 0;
  [[nodiscard]] virtual MemoryHandle export_memory(DeviceAddress address,
                                                   std::size_t size_bytes) = 0;
  /// The beginning of the allocation.
  [[nodiscard]] virtual DeviceAddress import_memory(const InterprocessHandle& block) = 0;
  virtual void close_memory(DeviceAddress block) noexcept = 0;
  [[nodiscard]] virtual Backend::Event create_interprocess_event() = 0;
  [[nodiscard]] virtual InterprocessHandle export_event(Backend::Event event) = 0;
  [[nodiscard]] virtual Backend::Event import_event(const InterprocessHandle& event) = 0;
};

/// Memory that export_memory takes. It keeps its contents for processes that have imported it, also
/// when this one has ended.
[[nodiscard]] Memory shareable_memory(Device device, std::size_t size_bytes);
/// Whether export_memory takes memory that is not of a pool: all of a CUDA device, and that of
/// shareable_memory. False on devices that have no handles.
[[nodiscard]] bool is_shareable(BufferRef<const std::byte> memory);

/// A handle of memory that Buffer or shareable_memory made, not a pool. The memory has to stay
/// while others use it.
///
/// @throws Unsupported  runtime.interprocess.unsupported: memory of the host that shareable_memory
///                      did not make
/// @throws DeviceError  runtime.cuda.call_failed: memory of a pool
[[nodiscard]] MemoryHandle export_memory(BufferRef<const std::byte> memory);

/// Memory of another process. Move-only; the memory itself is the other's.
class ImportedMemory {
 public:
  /// @throws DeviceError  runtime.cuda.call_failed: the handle is of this process, or of none;
  ///                      runtime.interprocess.not_found: the same on the host, where a handle of
  ///                      this process is imported as well
  ImportedMemory(Device device, const MemoryHandle& handle);
  ~ImportedMemory();
  ImportedMemory(ImportedMemory&& other) noexcept;
  ImportedMemory& operator=(ImportedMemory&& other) noexcept;

  [[nodiscard]] BufferRef<std::byte> ref() const noexcept;

 private:
  Device device_;
  MemoryHandle handle_;
  DeviceAddress block_ = 0;
};

/// An event that several processes record and wait for, on CUDA devices. Move-only. It measures no
/// time.
class InterprocessEvent {
 public:
  /// A new one.
  explicit InterprocessEvent(Device device);
  /// That of another process.
  ///
  /// @throws DeviceError  runtime.cuda.call_failed: the handle is of this process, or of none
  InterprocessEvent(Device device, const InterprocessHandle& handle);
  ~InterprocessEvent();
  InterprocessEvent(InterprocessEvent&& other) noexcept;
  InterprocessEvent& operator=(InterprocessEvent&& other) noexcept;

  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator EventRef() const noexcept { return {device_, event_}; }
  [[nodiscard]] InterprocessHandle handle() const;

 private:
  Device device_;
  Backend::Event event_;
};

}  // namespace rtcg::runtime
