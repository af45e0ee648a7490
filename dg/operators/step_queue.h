#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <vector>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg::detail {

/// Bounds how many time steps are queued on a device and not yet done: a run ends soon after it is
/// stopped. A few if they are short, so the device does not wait for the host; one if they are
/// long.
///
/// Not to be used by several threads at once.
class StepQueue {
 public:
  explicit StepQueue(runtime::Device device);

  /// Waits until another step may be queued.
  void make_room();
  /// A step was queued on `stream`.
  void note(runtime::StreamRef stream);

 private:
  using Clock = std::chrono::steady_clock;

  runtime::Device device_;
  std::vector<runtime::Event> ends_;  ///< of the last steps, in a ring
  long long noted_ = 0;
  long long done_ = 0;  ///< steps that were waited for
  Clock::time_point last_wait_{};
  double step_seconds_ = 0;
};

}  // namespace rtcg::dg::detail
