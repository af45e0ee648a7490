#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace rtcg::loopy {

/// Threads that finish tasks without a waiting caller. The process waits for them at its end,
/// before the objects that they use are destroyed.
void leave(std::vector<std::thread> threads);

/// Destroys something without a waiting caller.
template <class T>
void destroy_aside(T&& thing) {
  std::vector<std::thread> threads;
  threads.emplace_back([owned = std::make_shared<std::decay_t<T>>(
                            std::forward<T>(thing))]() mutable { owned.reset(); });
  leave(std::move(threads));
}

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

/// A value that a thread of its own makes. The destructor does not wait for it: a thread that is
/// still at work is left to itself.
template <class T>
class MadeAside {
 public:
  /// @param make  owns what it refers to
  explicit MadeAside(std::function<T()> make) {
    std::packaged_task<T()> task(std::move(make));
    value_ = task.get_future();
    thread_ = std::thread(std::move(task));
  }
  ~MadeAside() {
    if (!thread_.joinable()) {
      return;
    }
    constexpr std::chrono::milliseconds patience{50};
    if (value_.wait_for(patience) == std::future_status::ready) {
      thread_.join();
      return;
    }
    std::vector<std::thread> threads;
    threads.push_back(std::move(thread_));
    leave(std::move(threads));
  }
  MadeAside(const MadeAside&) = delete;
  MadeAside& operator=(const MadeAside&) = delete;

  [[nodiscard]] bool is_ready() const {
    return value_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Once. @throws  what `make` threw
  [[nodiscard]] T get() {
    thread_.join();
    return value_.get();
  }

 private:
  std::future<T> value_{};
  std::thread thread_{};
};

}  // namespace rtcg::loopy
