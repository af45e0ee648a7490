#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/memory.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::arrays {

/// The memory of an array and all its views, and the stream that used it last. Shared; any thread
/// may use it.
///
/// The host never waits to keep streams in order. A stream that uses the memory waits for the
/// stream that used it last, and the memory returns to its pool after all of them. The stream it
/// was made for must outlive the use of the memory; others, unless they are foreign, may end
/// earlier.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  /// Memory of the device's standard pool.
  ///
  /// @throws DeviceError  runtime.memory.out_of_memory
  Storage(runtime::StreamRef stream, std::size_t size_bytes);
  /// Takes over memory, e.g. pinned or managed.
  Storage(runtime::StreamRef stream, runtime::Memory memory);
  /// Uses foreign memory. `owner` is kept until the last view is destroyed. On the host, that
  /// destruction waits for the work.
  Storage(runtime::StreamRef stream, runtime::DeviceAddress address, std::size_t size_bytes,
          std::shared_ptr<const void> owner);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] runtime::Device device() const noexcept { return stream_.device(); }
  /// The stream it was made for.
  [[nodiscard]] runtime::StreamRef stream() const noexcept { return stream_; }
  [[nodiscard]] runtime::DeviceAddress address() const noexcept { return address_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// To be called before work that uses the memory is submitted to `stream`.
  void use_on(runtime::StreamRef stream);

 private:
  friend void bring_home_from(runtime::StreamRef stream) noexcept;
  /// When `stream` used the memory last: lets its own stream wait for that. @returns  whether it
  /// did
  bool come_home_from(runtime::StreamRef stream) noexcept;

  runtime::StreamRef stream_;
  std::unique_ptr<runtime::Memory> memory_;
  std::shared_ptr<const void> owner_;
  runtime::DeviceAddress address_;
  std::size_t size_bytes_;
  std::mutex mutex_;  // of last_use_
  runtime::StreamRef last_use_;
};

/// While this object exists, work of this thread on arrays of the stream's device goes to `stream`,
/// unless a call names another. Scopes nest.
class StreamScope {
 public:
  explicit StreamScope(runtime::StreamRef stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  runtime::StreamRef stream_;
  StreamScope* outer_;
  friend runtime::StreamRef current_stream();
  friend runtime::StreamRef current_stream(runtime::StreamRef otherwise);
};

/// The stream of the innermost scope, otherwise the default stream of Device::best().
[[nodiscard]] runtime::StreamRef current_stream();
/// The stream of the innermost scope if it is on the same device; otherwise `otherwise`.
[[nodiscard]] runtime::StreamRef current_stream(runtime::StreamRef otherwise);

}  // namespace rtcg::arrays
