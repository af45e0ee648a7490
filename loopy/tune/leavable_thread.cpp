#include "rtcg/loopy/tune/leavable_thread.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include "rtcg/loopy/tune/tune.h"

namespace rtcg::loopy {
namespace {

class LeftThreads {
 public:
  static LeftThreads& instance() {
    static auto* left = new LeftThreads;  // outlives the handlers of atexit
    return *left;
  }
  void add(std::vector<std::thread> threads) {
    {
      const std::lock_guard lock(mutex_);
      std::move(threads.begin(), threads.end(), std::back_inserter(threads_));
    }
    // each time anew: what these threads use was made before, and so goes after they have ended
    std::atexit([] { instance().join(); });
  }
  bool is_empty() {
    const std::lock_guard lock(mutex_);
    return threads_.empty();
  }

 private:
  void join() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (std::thread& each : threads) {
      each.join();
    }
  }
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace

void leave(std::vector<std::thread> threads) {
  LeftThreads::instance().add(std::move(threads));
}

bool is_work_left() {
  return !LeftThreads::instance().is_empty();
}

struct LeavableThread::State {
  std::mutex mutex{};  // of all below
  std::condition_variable is_changed{};
  std::function<void()> task{};
  bool is_closed = false;
  bool is_done = false;
  std::exception_ptr problem{};

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      is_changed.wait(lock, [&] { return is_closed || task; });
      if (!task) {
        return;
      }
      std::function<void()> now;
      now.swap(task);
      lock.unlock();
      std::exception_ptr thrown;
      try {
        now();
      } catch (...) {
        thrown = std::current_exception();
      }
      now = nullptr;  // its captures are destroyed before it is reported as done
      lock.lock();
      problem = thrown;
      is_done = true;
      is_changed.notify_all();
    }
  }
};

LeavableThread::LeavableThread() : state_(std::make_shared<State>()) {
  thread_ = std::thread([state = state_] { state->work(); });
}

LeavableThread::~LeavableThread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  state_->is_changed.notify_all();
  if (is_left_) {
    std::vector<std::thread> threads;
    threads.push_back(std::move(thread_));
    leave(std::move(threads));
  } else {
    thread_.join();
  }
}

bool LeavableThread::run(std::function<void()> task, const std::function<bool()>& is_given_up) {
  std::unique_lock lock(state_->mutex);
  state_->task = std::move(task);
  state_->is_done = false;
  state_->is_changed.notify_all();
  constexpr std::chrono::milliseconds patience{20};
  while (!state_->is_changed.wait_for(lock, patience, [&] { return state_->is_done; })) {
    lock.unlock();
    is_left_ = is_given_up();
    lock.lock();
    if (is_left_ && !state_->is_done) {
      return false;
    }
    is_left_ = false;
  }
  if (state_->problem) {
    std::rethrow_exception(std::exchange(state_->problem, nullptr));
  }
  return true;
}

}  // namespace rtcg::loopy
