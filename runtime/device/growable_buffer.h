#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// What a back end offers whose addresses can be had without memory; found by a cast of Backend.
/// Sizes are multiples of granule_bytes().
class GrowableBackend {
 public:
  /// Memory behind addresses: CUmemGenericAllocationHandle; on the host nothing.
  using Part = std::uint64_t;

  virtual ~GrowableBackend() = default;

  [[nodiscard]] virtual std::size_t granule_bytes() = 0;
  /// Addresses of nothing.
  [[nodiscard]] virtual DeviceAddress reserve(std::size_t size_bytes) = 0;
  virtual void unreserve(DeviceAddress address, std::size_t size_bytes) noexcept = 0;
  /// @throws DeviceError  runtime.memory.out_of_memory
  [[nodiscard]] virtual Part add_part(DeviceAddress address, std::size_t size_bytes) = 0;
  /// After all work that was submitted before.
  virtual void drop_part(Part part, DeviceAddress address, std::size_t size_bytes) noexcept = 0;
};

/// Memory of a device that grows where it is: its addresses are reserved at first, and memory is
/// put behind them as it is needed, so that kernels, graphs and pointers go on.
///
/// On CUDA devices and the host. Move-only. One thread at a time changes it.
class GrowableMemory {
 public:
  /// @param most_bytes  of addresses, which cost nothing
  /// @throws Unsupported  runtime.growable.unsupported
  /// @throws DeviceError  the driver has not that many addresses
  GrowableMemory(Device device, std::size_t most_bytes);
  GrowableMemory(GrowableMemory&&) noexcept = default;
  GrowableMemory& operator=(GrowableMemory&&) noexcept = default;

  [[nodiscard]] Device device() const noexcept;
  [[nodiscard]] DeviceAddress address() const noexcept;
  [[nodiscard]] std::size_t most_bytes() const noexcept;
  /// Of the memory that there is.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

  /// Puts memory behind the first `size_bytes`; what was there stays.
  ///
  /// @throws InvalidInput  runtime.growable.too_long: more than most_bytes()
  /// @throws DeviceError   runtime.memory.out_of_memory; the memory is then as before
  /// @cost   one allocation if there is not enough; does not wait
  void grow_to(std::size_t size_bytes);
  /// Gives back memory that is not needed for the first `size_bytes`. @cost  waits for the device
  void shrink_to(std::size_t size_bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Elements of type T in such memory.
///
///     GrowableBuffer<float> particles(device, 1'000'000'000);  // at most
///     particles.resize(1000);
///     kernel(stream, shape, particles, ...);
///     particles.resize(2000);  // the first 1000 are still there, and where they were
template <class T>
class GrowableBuffer {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "elements are copied byte by byte");

 public:
  /// No elements yet. @throws  as GrowableMemory
  GrowableBuffer(Device device, std::size_t most_count)
      : memory_(device, detail::checked_bytes(most_count, sizeof(T))) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const GrowableMemory& memory() const noexcept { return memory_; }
  /// Valid until elements are taken away.
  [[nodiscard]] BufferRef<T> ref() const noexcept {
    return {memory_.device(), memory_.address(), count_};
  }
  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator BufferRef<T>() const noexcept { return ref(); }

  /// New elements have no values. Fewer elements keep the memory: see shrink_to_fit.
  ///
  /// @throws  as GrowableMemory::grow_to
  void resize(std::size_t count) {
    memory_.grow_to(detail::checked_bytes(count, sizeof(T)));
    count_ = count;
  }
  /// Gives back memory without elements. @cost  waits for the device
  void shrink_to_fit() { memory_.shrink_to(count_ * sizeof(T)); }

 private:
  GrowableMemory memory_;
  std::size_t count_ = 0;
};

}  // namespace rtcg::runtime
