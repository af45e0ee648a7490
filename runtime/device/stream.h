#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/event.h"

namespace rtcg::runtime {

/// A queue of a device, whose work runs in the order in which it came (or as if, with
/// StreamOptions::in_order false); does not own it. A cheap value. Any thread may submit.
class StreamRef {
 public:
  /// Takes a foreign stream: CUstream, cl_command_queue. It must live as long as work is submitted.
  StreamRef(Device device, void* native_handle) noexcept
      : device_(device), handle_(native_handle), is_foreign_(true) {}
  StreamRef(Device device, int) = delete;
  StreamRef(Device device, std::nullptr_t) = delete;
  [[nodiscard]] static StreamRef default_of(Device device) noexcept {
    return {device, nullptr, false};
  }

  [[nodiscard]] Device device() const noexcept { return device_; }
  /// CUstream, cl_command_queue; null for the default stream.
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }
  /// Whether it was made outside of rtcg, so its end is not noticed.
  [[nodiscard]] bool is_foreign() const noexcept { return is_foreign_; }

  /// Waits for all work submitted so far.
  ///
  /// @throws DeviceError  a fault of earlier asynchronous work
  /// @throws  what a function of call_host threw
  void synchronize() const;
  [[nodiscard]] bool is_done() const { return device_.backend().is_done(handle_); }
  /// Calls a function on the host when the work submitted so far is done; later work of the stream
  /// waits for its end. Asynchronous.
  ///
  /// The function runs on some thread and must neither wait for a device nor submit work. The next
  /// synchronize() of this stream throws what it throws. Within a capture it is a node of the
  /// graph, called at each launch.
  void call_host(std::function<void()> function) const;
  /// Keeps `owner` until the work submitted so far is done, without waiting: a thread of its own
  /// then releases it, which may free memory of devices.
  void keep(std::shared_ptr<const void> owner) const;
  /// Lets later work of this stream wait for the event's latest record; does not block the host.
  void wait(EventRef event) const { device_.backend().wait_event(handle_, event.native_handle()); }
  /// Marks this place; a second record of one event moves it.
  void record(EventRef event) const { device_.backend().record(event.native_handle(), handle_); }
  /// A new event at this place.
  [[nodiscard]] Event record(const EventOptions& options = {}) const;

  friend bool operator==(const StreamRef& a, const StreamRef& b) noexcept {
    return a.device_ == b.device_ && a.handle_ == b.handle_;
  }

 private:
  friend class Stream;
  StreamRef(Device device, void* handle, bool is_foreign) noexcept
      : device_(device), handle_(handle), is_foreign_(is_foreign) {}

  Device device_;
  void* handle_;
  bool is_foreign_;
};

namespace detail {
/// Has `listener` called before a Stream ends, while work can still be submitted to it; for as long
/// as the process lives.
void on_stream_end(void (*listener)(StreamRef) noexcept);
}  // namespace detail

/// Owns a stream. Move-only. Work still queued when it is destroyed is completed.
class Stream {
 public:
  explicit Stream(Device device, const StreamOptions& options = {});
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator StreamRef() const noexcept { return {device_, handle_, false}; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }
  void synchronize() const { StreamRef(*this).synchronize(); }
  [[nodiscard]] bool is_done() const { return StreamRef(*this).is_done(); }
  void wait(EventRef event) const { StreamRef(*this).wait(event); }
  void call_host(std::function<void()> function) const {
    StreamRef(*this).call_host(std::move(function));
  }
  void keep(std::shared_ptr<const void> owner) const { StreamRef(*this).keep(std::move(owner)); }
  void record(EventRef event) const { StreamRef(*this).record(event); }
  [[nodiscard]] Event record(const EventOptions& options = {}) const {
    return StreamRef(*this).record(options);
  }

 private:
  Device device_;
  void* handle_;
};

}  // namespace rtcg::runtime
