#include "rtcg/dg/operators/step_queue.h"

#include <algorithm>

namespace rtcg::dg::detail {
namespace {

constexpr long long most_queued = 8;
constexpr double queued_seconds = 0.02;  // what may be queued as a whole, but for one step

}  // namespace

StepQueue::StepQueue(runtime::Device device) : device_(device) {}

void StepQueue::make_room() {
  const long long allowed =
      step_seconds_ > 0
          ? std::clamp(static_cast<long long>(queued_seconds / step_seconds_), 1LL, most_queued)
          : 1;
  if (noted_ - done_ < allowed) {
    return;
  }
  const long long last = noted_ - allowed;  // the number of the latest step that must be done
  ends_[static_cast<std::size_t>(last % most_queued)].synchronize();
  const Clock::time_point now = Clock::now();
  if (done_ > 0) {
    const double each = std::chrono::duration<double>(now - last_wait_).count() /
                        static_cast<double>(last + 1 - done_);
    step_seconds_ = std::max(each, 1e-9);
  }
  last_wait_ = now;
  done_ = last + 1;
}

void StepQueue::note(runtime::StreamRef stream) {
  if (static_cast<long long>(ends_.size()) < most_queued) {
    ends_.emplace_back(device_);
    stream.record(ends_.back());
  } else {
    stream.record(ends_[static_cast<std::size_t>(noted_ % most_queued)]);
  }
  ++noted_;
}

}  // namespace rtcg::dg::detail
