#pragma once
// Internal header: it is not installed.

#include <functional>
#include <memory>
#include <thread>
#include <vector>


namespace rtcg::loopy {

/// Threads that finish what nobody waits for. The process waits for them when it ends, before what
/// they use goes.
void leave(std::vector<std::thread> threads);

/// Does one task after the other on a thread of its own, which can be left in the middle of one: a
/// launch that was begun cannot be taken back. For one thread.
class LeavableThread {
 public:
  LeavableThread();
  ~LeavableThread();
  LeavableThread(const LeavableThread&) = delete;
  LeavableThread& operator=(const LeavableThread&) = delete;

  /// Does a task and waits for it, asking `is_given_up` many times a second.
  ///
  /// @param task  owns what it refers to: it may go on after this call
  /// @returns false  it was given up, and the thread is left: it takes no other task
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
