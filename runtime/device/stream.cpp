#include "rtcg/runtime/device/stream.h"

#include <mutex>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::runtime {

namespace {

struct Listeners {
  std::mutex mutex;
  std::vector<void (*)(StreamRef) noexcept> all;
};

Listeners& listeners() {
  static Listeners& made = *new Listeners;  // streams with static storage may end late
  return made;
}

}  // namespace

void detail::on_stream_end(void (*listener)(StreamRef) noexcept) {
  const std::lock_guard lock(listeners().mutex);
  listeners().all.push_back(listener);
}

Event StreamRef::record(const EventOptions& options) const {
  Event event(device_, options);
  record(event);
  return event;
}

Stream::Stream(Device device, const StreamOptions& options)
    : device_(device), handle_(device.backend().create_stream(options)) {}

Stream::~Stream() {
  if (handle_ != nullptr) {
    std::vector<void (*)(StreamRef) noexcept> told;
    {
      const std::lock_guard lock(listeners().mutex);
      told = listeners().all;
    }
    for (const auto listener : told) {
      listener(*this);
    }
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
