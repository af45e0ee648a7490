#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/memory.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

struct DriverPoolOptions {
  /// In memory of the host at this NUMA node, which the host and the device both reach; copies of
  /// rows with gaps take it by its host_span(). Default: in the device's own memory.
  std::optional<int> numa_node{};
  /// Other processes may import the pool. Memory of the host is never exported.
  bool is_exportable = false;
};

/// What a back end offers whose driver has pools; found by a cast of Backend.
class DriverPoolBackend {
 public:
  using Pool = void*;
  virtual ~DriverPoolBackend() = default;
  /// @throws Unsupported  runtime.driver_pool.unsupported
  [[nodiscard]] virtual Pool create_pool(const DriverPoolOptions& options) = 0;
  [[nodiscard]] virtual Pool import_pool(int file_descriptor) = 0;
  virtual void destroy_pool(Pool pool) noexcept = 0;
  [[nodiscard]] virtual DeviceAddress allocate_from(Pool pool, Backend::Stream stream,
                                                    std::size_t size_bytes) = 0;
  [[nodiscard]] virtual int export_pool(Pool pool) = 0;
  [[nodiscard]] virtual InterprocessHandle export_block(DeviceAddress block) = 0;
  [[nodiscard]] virtual DeviceAddress import_block(Pool pool, const InterprocessHandle& block) = 0;
  [[nodiscard]] virtual std::optional<int> nearest_numa_node() = 0;
};

/// A pool of the driver that a program places or shares: at a NUMA node of the host, or with other
/// processes. Memory is allocated and freed in the order of streams, as from a MemoryPool. Of CUDA.
/// Move-only; its memory may outlive it, but not the stream that it was taken for. Any thread may
/// use it.
///
///     DriverPool pool(device, {.is_exportable = true});
///     const Buffer<float> x = pool.allocate<float>(stream, n);
///     send(pool.export_file(), pool.export_block(x));  // the file by SCM_RIGHTS, the block as
///     bytes
///
///     DriverPool theirs(device, file);                 // in another process
///     const Buffer<float> y(theirs.import_block(stream, block, n * sizeof(float)));
///
/// The two processes order their work themselves, by an InterprocessEvent; the importer's memory
/// has to go before the exporter's.
class DriverPool {
 public:
  /// @throws Unsupported   runtime.driver_pool.unsupported: the device is not of CUDA, or the
  /// driver
  ///                       has no such pools
  /// @throws InvalidInput  runtime.driver_pool.bad_options: an exportable pool at a NUMA node
  explicit DriverPool(Device device, const DriverPoolOptions& options = {});
  /// The pool of another process. @param file_descriptor  stays the caller's
  DriverPool(Device device, int file_descriptor);
  ~DriverPool();
  DriverPool(DriverPool&& other) noexcept;
  DriverPool& operator=(DriverPool&& other) noexcept;

  [[nodiscard]] Device device() const noexcept;

  /// @throws DeviceError   runtime.memory.out_of_memory
  /// @throws InvalidInput  runtime.pool.wrong_device, runtime.buffer.too_long
  [[nodiscard]] Memory allocate_bytes(StreamRef stream, std::size_t size_bytes);
  template <class T>
  [[nodiscard]] Buffer<T> allocate(StreamRef stream, std::size_t count) {
    return Buffer<T>(allocate_bytes(stream, detail::checked_bytes(count, sizeof(T))));
  }

  /// A file descriptor by which another process imports the pool; the caller closes it.
  ///
  /// @throws DeviceError  runtime.cuda.call_failed: the pool is not exportable
  [[nodiscard]] int export_file() const;
  /// A handle of memory that was allocated here, from its beginning on.
  [[nodiscard]] InterprocessHandle export_block(BufferRef<const std::byte> block) const;
  /// Memory of another process, of the pool that was imported as this one; freed in the order of
  /// the stream, which leaves the other's as it is.
  ///
  /// @throws InvalidInput  runtime.pool.wrong_device
  [[nodiscard]] Memory import_block(StreamRef stream, const InterprocessHandle& block,
                                    std::size_t size_bytes) const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// The NUMA node of the host that is nearest to the device, where the driver knows it.
[[nodiscard]] std::optional<int> nearest_numa_node(Device device);

}  // namespace rtcg::runtime
