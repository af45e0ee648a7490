#pragma once

#include <cstddef>

#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// A place in a stream that others can wait for; does not own it. A cheap value.
class EventRef {
 public:
  /// Takes a foreign event: CUevent, cl_event.
  EventRef(Device device, void* native_handle) noexcept : device_(device), handle_(native_handle) {}
  EventRef(Device device, int) = delete;
  EventRef(Device device, std::nullptr_t) = delete;

  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }

  /// Waits until everything before the latest record is done. An event never recorded is done.
  void synchronize() const { device_.backend().synchronize_event(handle_); }
  [[nodiscard]] bool is_done() const { return device_.backend().is_event_done(handle_); }

 private:
  Device device_;
  void* handle_;
};

/// Owns an event. Move-only; may be destroyed while recorded work is still running.
class Event {
 public:
  explicit Event(Device device, const EventOptions& options = {});
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  // NOLINTNEXTLINE(google-explicit-constructor): an owner converts to a reference.
  operator EventRef() const noexcept { return {device_, handle_}; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }
  void synchronize() const { EventRef(*this).synchronize(); }
  [[nodiscard]] bool is_done() const { return EventRef(*this).is_done(); }

 private:
  Device device_;
  void* handle_;
};

/// Time between two recorded events, in milliseconds. Waits for both.
///
/// @throws InvalidInput  runtime.event.not_recorded, runtime.event.no_timing
[[nodiscard]] double elapsed_ms(EventRef begin, EventRef end);

}  // namespace rtcg::runtime
