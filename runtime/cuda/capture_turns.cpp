#include "rtcg/runtime/cuda/capture_turns.h"

#include <algorithm>

namespace rtcg::runtime::cuda {

void CaptureTurns::begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waits_ == 0; });
  capturing_.push_back(std::this_thread::get_id());
}

void CaptureTurns::end() noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(capturing_.begin(), capturing_.end(), std::this_thread::get_id());
  if (found != capturing_.end()) {
    capturing_.erase(found);
  }
  changed_.notify_all();
}

bool CaptureTurns::begin_wait() {
  std::unique_lock lock(mutex_);
  const auto self = std::this_thread::get_id();
  if (std::find(capturing_.begin(), capturing_.end(), self) != capturing_.end()) {
    return false;
  }
  changed_.wait(lock, [&] { return capturing_.empty(); });
  ++waits_;
  return true;
}

void CaptureTurns::end_wait() noexcept {
  const std::lock_guard lock(mutex_);
  --waits_;
  changed_.notify_all();
}

}  // namespace rtcg::runtime::cuda
