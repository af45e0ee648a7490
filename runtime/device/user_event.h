#pragma once

#include <memory>
#include <optional>

#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a back end offers that has events of its own which the host sets; found by a cast of
/// Backend. `wait_event` takes them.
class UserEventBackend {
 public:
  virtual ~UserEventBackend() = default;
  [[nodiscard]] virtual Backend::Event create_user_event() = 0;
  virtual void set_user_event(Backend::Event event) = 0;
  virtual void destroy_user_event(Backend::Event event) noexcept = 0;
};

/// An event that the host sets, once, whenever it likes: streams wait for it meanwhile. Move-only.
/// Any thread may use it.
///
///     UserEvent arrived(device);
///     arrived.hold(stream);                   // does not block the host
///     kernel(stream, shape, ...);             // starts after set()
///     read_file(pinned); arrived.set();
///
/// A user event of OpenCL; on CUDA and the host a word of pinned memory (Flags). It is set when it
/// is destroyed, so that nothing waits for ever. Freeing memory, and other calls that wait for the
/// device, wait for held streams too.
class UserEvent {
 public:
  /// @throws Unsupported  runtime.flags.unsupported: a driver of CUDA without memory operations of
  ///                      streams
  explicit UserEvent(Device device);
  ~UserEvent();
  UserEvent(UserEvent&& other) noexcept;
  UserEvent& operator=(UserEvent&& other) noexcept;

  [[nodiscard]] Device device() const noexcept;
  /// Lets later work of a stream of the device wait until the event is set.
  ///
  /// @throws InvalidInput  runtime.launch.wrong_device
  void hold(StreamRef stream) const;
  /// By the host, at once. Setting it again changes nothing.
  void set() const;
  [[nodiscard]] bool is_set() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtcg::runtime
