#include "rtcg/runtime/device/user_event.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {

struct UserEvent::State {
  explicit State(Device of) : device(of), backend(dynamic_cast<UserEventBackend*>(&of.backend())) {
    if (backend != nullptr) {
      native = backend->create_user_event();
    } else {
      flag.emplace(device, 1);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      set();
    } catch (const Error&) {
      // the driver is broken: nothing runs any more that could wait
    }
    if (backend != nullptr) {
      backend->destroy_user_event(native);
    }
  }

  void set() {
    const std::lock_guard lock(mutex);
    if (is_set) {
      return;
    }
    if (backend != nullptr) {
      backend->set_user_event(native);
    } else {
      flag->store(0, 1);
    }
    is_set = true;
  }

  Device device;
  UserEventBackend* backend;
  Backend::Event native = nullptr;
  std::optional<Flags> flag{};
  std::mutex mutex{};
  bool is_set = false;
};

UserEvent::UserEvent(Device device) : state_(std::make_unique<State>(device)) {}
UserEvent::~UserEvent() = default;
UserEvent::UserEvent(UserEvent&& other) noexcept = default;
UserEvent& UserEvent::operator=(UserEvent&& other) noexcept = default;

Device UserEvent::device() const noexcept {
  return state_->device;
}

void UserEvent::hold(StreamRef stream) const {
  if (stream.device() != state_->device) {
    throw InvalidInput(
        "runtime.launch.wrong_device",
        fmt::format("the event is of '{}' and the stream of '{}'",
                    to_string(state_->device.info().id), to_string(stream.device().info().id)));
  }
  if (state_->backend != nullptr) {
    stream.wait(EventRef(state_->device, state_->native));
  } else {
    state_->flag->wait(stream, 0, 1);
  }
}

void UserEvent::set() const {
  state_->set();
}

bool UserEvent::is_set() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->is_set;
}

}  // namespace rtcg::runtime
