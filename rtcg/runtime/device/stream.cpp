#include "rtcg/runtime/device/stream.h"

#include <utility>

#include "rtcg/runtime/memory/memory_pool.h"

namespace rtcg::runtime {

Event StreamRef::record(const EventOptions& options) const {
  Event event(device_, options);
  record(event);
  return event;
}

Stream::Stream(Device device, const StreamOptions& options)
    : device_(device), handle_(device.backend().create_stream(options)) {}

Stream::~Stream() {
  if (handle_ != nullptr) {
    // before destroy_stream: pools hold blocks that are free from a place in this stream on
    detail::forget_stream(*this);
    device_.backend().destroy_stream(handle_);
  }
}

Stream::Stream(Stream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

}  // namespace rtcg::runtime
