#pragma once
// Internal header: it is not installed.

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace rtcg::loopy {

/// Threads that finish tasks without a waiting caller. The process waits for them at its end,
/// before the objects that they use are destroyed.
void leave(std::vector<std::thread> threads);

/// Does one task after the other on its own thread. The caller can leave the thread in the middle
/// of a task, since a launch cannot be cancelled. For one thread.
class LeavableThread {
 public:
  LeavableThread();
  ~LeavableThread();
  LeavableThread(const LeavableThread&) = delete;
  LeavableThread& operator=(const LeavableThread&) = delete;

  /// Does a task and waits for it; calls `is_given_up` many times a second.
  ///
  /// @param task  owns what it refers to: it may go on after this call
  /// @returns false  it was given up, and the thread is left: it accepts no other task
  /// @throws  what the task threw
  [[nodiscard]] bool run(std::function<void()> task, const std::function<bool()>& is_given_up);
  [[nodiscard]] bool is_left() const { return is_left_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_{};
  bool is_left_ = false;
};

}  // namespace rtcg::loopy
