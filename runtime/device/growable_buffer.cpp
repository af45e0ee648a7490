#include "rtcg/runtime/device/growable_buffer.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/launch_capture.h"

namespace rtcg::runtime {
namespace {

GrowableBackend& growable_of(Device device) {
  auto* const found = dynamic_cast<GrowableBackend*>(&device.backend());
  if (found == nullptr) {
    throw Unsupported("runtime.growable.unsupported",
                      fmt::format("'{}' gives no addresses without memory, so memory cannot grow "
                                  "where it is: make a larger Buffer and copy",
                                  device.info().name));
  }
  return *found;
}

}  // namespace

struct GrowableMemory::State {
  struct Held {
    GrowableBackend::Part part;
    std::size_t begin;
    std::size_t size_bytes;
  };

  Device device;
  GrowableBackend& backend;
  std::size_t granule;
  std::size_t most;
  std::size_t reserved;
  DeviceAddress address;
  std::vector<Held> parts;
  std::size_t held = 0;

  State(Device of, std::size_t most_bytes)
      : device(of),
        backend(growable_of(of)),
        granule(backend.granule_bytes()),
        most(most_bytes),
        reserved(rounded(std::max<std::size_t>(most_bytes, 1))),
        address(backend.reserve(reserved)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    detail::forget_memory(device, address, held);
    drop_from(0);
    backend.unreserve(address, reserved);
  }

  [[nodiscard]] std::size_t rounded(std::size_t bytes) const {
    return (bytes + granule - 1) / granule * granule;
  }
  /// Parts that begin there or later.
  void drop_from(std::size_t begin) noexcept {
    while (!parts.empty() && parts.back().begin >= begin) {
      const Held& last = parts.back();
      backend.drop_part(last.part, address + last.begin, last.size_bytes);
      held = last.begin;
      parts.pop_back();
    }
  }
};

GrowableMemory::GrowableMemory(Device device, std::size_t most_bytes)
    : state_(std::make_shared<State>(device, most_bytes)) {}

Device GrowableMemory::device() const noexcept {
  return state_->device;
}

DeviceAddress GrowableMemory::address() const noexcept {
  return state_->address;
}

std::size_t GrowableMemory::most_bytes() const noexcept {
  return state_->most;
}

std::size_t GrowableMemory::held_bytes() const noexcept {
  return state_->held;
}

void GrowableMemory::grow_to(std::size_t size_bytes) {
  State& state = *state_;
  if (size_bytes > state.most) {
    throw InvalidInput("runtime.growable.too_long",
                       fmt::format("memory of at most {} bytes cannot grow to {}: more addresses "
                                   "have to be reserved when it is made",
                                   state.most, size_bytes));
  }
  if (size_bytes <= state.held) {
    return;
  }
  const std::size_t more = state.rounded(size_bytes - state.held);
  state.parts.reserve(state.parts.size() + 1);
  state.parts.push_back(
      {state.backend.add_part(state.address + state.held, more), state.held, more});
  detail::forget_memory(state.device, state.address, state.held);
  state.held += more;
  detail::note_memory(state.device, state.address, state.held);
}

void GrowableMemory::shrink_to(std::size_t size_bytes) {
  detail::forget_memory(state_->device, state_->address, state_->held);
  state_->drop_from(size_bytes);
  detail::note_memory(state_->device, state_->address, state_->held);
}

}  // namespace rtcg::runtime
