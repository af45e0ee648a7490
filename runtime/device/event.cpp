#include "rtcg/runtime/device/event.h"

#include <utility>

namespace rtcg::runtime {

Event::Event(Device device, const EventOptions& options)
    : device_(device), handle_(device.backend().create_event(options)) {}

Event::~Event() {
  if (handle_ != nullptr) {
    device_.backend().destroy_event(handle_);
  }
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

double elapsed_ms(EventRef begin, EventRef end) {
  begin.synchronize();
  end.synchronize();
  return begin.device().backend().elapsed_ms(begin.native_handle(), end.native_handle());
}

}  // namespace rtcg::runtime
