#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// The owner to which a Memory returns, if that is not the driver.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Takes back memory that it gave out; it is free from this place in `stream` on.
  virtual void take_back(DeviceAddress address, std::size_t size_bytes,
                         StreamRef stream) noexcept = 0;
};

/// Owns a stretch of memory of a device. Move-only.
///
/// Taken from the driver, it is given back after all work on the device that was submitted before
/// has ended. Taken from a MemoryPool, it is given back in the order of the stream for which it was
/// taken: no waiting. That stream must still be there then.
class Memory {
 public:
  Memory(Device device, std::size_t size_bytes, MemoryKind kind = MemoryKind::device);
  /// An allocation of a pool.
  Memory(std::shared_ptr<MemorySource> source, StreamRef stream, DeviceAddress address,
         std::size_t size_bytes, MemoryKind kind) noexcept;
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  [[nodiscard]] Device device() const noexcept { return stream_.device(); }
  /// 0 for no bytes.
  [[nodiscard]] DeviceAddress address() const noexcept { return address_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }

  /// Whether the host may read and write it directly: pinned and managed memory, and the host's
  /// own.
  [[nodiscard]] bool is_host_accessible() const noexcept;
  /// @throws InvalidInput  runtime.buffer.not_host_accessible
  [[nodiscard]] void* host_pointer() const;
  /// The address for kernels: pinned memory may have another one than for the host.
  ///
  /// @throws Unsupported  where the device cannot reach pinned memory
  [[nodiscard]] DeviceAddress kernel_address() const;

 private:
  std::shared_ptr<MemorySource> source_;
  StreamRef stream_;
  DeviceAddress address_ = 0;
  std::size_t size_bytes_ = 0;
  MemoryKind kind_ = MemoryKind::device;
};

/// Page-locks memory that the caller owns, for as long as this lives: copies from it then overlap
/// with other work. Move-only; all work that uses the memory must be done when it is destroyed.
class RegisteredMemory {
 public:
  RegisteredMemory(Device device, void* pointer, std::size_t size_bytes);
  ~RegisteredMemory();
  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;

  /// The address by which kernels reach the memory. @throws Unsupported
  [[nodiscard]] DeviceAddress kernel_address() const;

 private:
  Device device_;
  void* pointer_;
};

/// Bytes from row to row that keep every row of `row_bytes` aligned as the device likes best.
[[nodiscard]] std::size_t padded_pitch_bytes(Device device, std::size_t row_bytes);

}  // namespace rtcg::runtime
