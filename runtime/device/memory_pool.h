#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/memory.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

namespace detail {
class PoolState;
}  // namespace detail

struct PoolOptions {
  MemoryKind kind = MemoryKind::device;
  /// Leaves the work to the driver's own stream-ordered pool, if there is one and the kind is
  /// device memory: shared by all sizes and by CUDA graphs, about 1 us for each allocation.
  bool use_driver_pool = false;
};

struct PoolStatistics {
  std::uint64_t active_blocks = 0;  ///< in use
  std::uint64_t active_bytes = 0;   ///< as asked for
  std::uint64_t held_blocks = 0;    ///< free, kept for reuse
  std::uint64_t held_bytes = 0;
  std::uint64_t managed_bytes = 0;       ///< taken from the driver: used and held blocks
  std::uint64_t peak_managed_bytes = 0;  ///< the most of it so far
  std::uint64_t allocations = 0;         ///< so far
  std::uint64_t reuses = 0;              ///< allocations served without the driver
  std::uint64_t trims = 0;  ///< times that held blocks were given up for lack of memory
};

/// Keeps freed memory for the next that ask for about as much, in the order of streams.
///
/// A block that was freed on a stream serves that stream again at once, since its work runs in
/// order; another stream gets it when the work before the free is done. Nothing waits, and no
/// driver is called, except when a block has to be taken from it. When memory runs out, held blocks
/// are given back and the allocation is tried again. Any thread may use it. Memory taken from a
/// pool may outlive the MemoryPool object, but not the stream it was taken for.
class MemoryPool {
 public:
  explicit MemoryPool(Device device, const PoolOptions& options = {});
  /// Releases the held blocks; blocks in use are released when they are freed.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// The device's own, from which In, Out and InOut take memory. Lives as long as the process.
  [[nodiscard]] static MemoryPool& standard(Device device, MemoryKind kind = MemoryKind::device);

  /// Memory for work on `stream`, to be freed in its order.
  ///
  /// @throws DeviceError   runtime.memory.out_of_memory, after everything held was given back
  /// @throws InvalidInput  runtime.pool.wrong_device, runtime.buffer.too_long
  [[nodiscard]] Memory allocate_bytes(StreamRef stream, std::size_t size_bytes);
  template <class T>
  [[nodiscard]] Buffer<T> allocate(StreamRef stream, std::size_t count) {
    return Buffer<T>(allocate_bytes(stream, detail::checked_bytes(count, sizeof(T))));
  }

  [[nodiscard]] PoolStatistics statistics() const;
  /// Gives held blocks back to the driver until at most that many bytes are held; how many bytes
  /// went. @cost  waits for the work before the frees
  std::size_t trim(std::size_t max_held_bytes = 0);
  /// Gives everything held back, now and whenever something is freed.
  void stop_holding();

 private:
  std::shared_ptr<detail::PoolState> state_;
};

namespace detail {
/// Notifies the pools that a stream is about to end: an event now guards the memory freed on it.
/// Foreign streams need no notification: each free on them records an event.
void forget_stream(StreamRef stream) noexcept;
}  // namespace detail

}  // namespace rtcg::runtime
