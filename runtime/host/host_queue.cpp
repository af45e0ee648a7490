#include "rtcg/runtime/host/host_queue.h"

#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {

struct HostQueue::State {
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<Task> tasks;
  Ticket submitted = 0;
  Ticket done = 0;
  bool has_thread = false;
  bool is_closed = false;
  std::exception_ptr first_error;
  std::optional<std::vector<Kept>> kept;
  std::thread::id keeper;  ///< the thread that captures

  void wait_for_all_so_far(std::unique_lock<std::mutex>& lock) const {
    const Ticket last = submitted;
    changed.wait(lock, [&] { return done >= last; });
  }
};

HostQueue::HostQueue() : state_(std::make_shared<State>()) {}

HostQueue::~HostQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
  state_->changed.notify_all();
}

void HostQueue::submit(Task task, std::string_view label) {
  const std::lock_guard lock(state_->mutex);
  if (state_->kept) {
    state_->kept->push_back({std::move(task), std::string(label)});
    return;
  }
  if (!state_->has_thread) {
    // detached: a queue that lives as long as the process is never joined
    std::thread([state = state_] { run(state); }).detach();
    state_->has_thread = true;
  }
  state_->tasks.push_back(std::move(task));
  ++state_->submitted;
  state_->changed.notify_all();
}

void HostQueue::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return !state->tasks.empty() || state->is_closed; });
    if (state->tasks.empty()) {
      return;
    }
    Task task = std::move(state->tasks.front());
    state->tasks.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
    task = nullptr;  // its captures are destroyed here, not under the lock
    lock.lock();
    if (error != nullptr && state->first_error == nullptr) {
      state->first_error = error;
    }
    ++state->done;
    state->changed.notify_all();
  }
}

void HostQueue::begin_keeping() {
  refuse_while_keeping("capture the stream a second time");
  const std::lock_guard lock(state_->mutex);
  state_->kept.emplace();
  state_->keeper = std::this_thread::get_id();
}

std::vector<HostQueue::Kept> HostQueue::end_keeping() {
  const std::lock_guard lock(state_->mutex);
  std::vector<Kept> kept = std::move(state_->kept).value();
  state_->kept.reset();
  return kept;
}

void HostQueue::refuse_while_keeping(std::string_view action) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->kept) {
    throw InvalidInput(
        "runtime.graph.cannot_capture",
        fmt::format("cannot {} while a graph is captured from it: its work is kept, not run. Let "
                    "what waits, and what other streams have to do before, come before the capture",
                    action));
  }
}

bool HostQueue::is_done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done == state_->submitted;
}

void HostQueue::wait() const noexcept {
  std::unique_lock lock(state_->mutex);
  state_->wait_for_all_so_far(lock);
}

void HostQueue::synchronize() {
  refuse_while_keeping("wait for a stream");
  wait_and_rethrow();
}

void HostQueue::synchronize_with_device() {
  const bool keeps = [&] {
    const std::lock_guard lock(state_->mutex);
    return state_->kept && state_->keeper == std::this_thread::get_id();
  }();
  if (keeps) {
    refuse_while_keeping("wait for the device of a stream");
  }
  wait_and_rethrow();
}

void HostQueue::wait_and_rethrow() {
  std::unique_lock lock(state_->mutex);
  state_->wait_for_all_so_far(lock);
  if (state_->first_error != nullptr) {
    std::rethrow_exception(std::exchange(state_->first_error, nullptr));
  }
}

struct HostEvent::State {
  explicit State(bool with_timing_) : with_timing(with_timing_) {}

  const bool with_timing;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;  // number of the latest record
  std::uint64_t passed = 0;    // number of the latest record that was passed
  Clock::time_point time;

  void wait_for(std::uint64_t record) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return passed >= record; });
  }
  std::uint64_t latest() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
};

HostEvent::HostEvent(bool with_timing) : state_(std::make_shared<State>(with_timing)) {}

void HostEvent::record(HostQueue& queue) const {
  queue.refuse_while_keeping("record an event of a stream");
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state_->mutex);
    number = ++state_->recorded;
  }
  queue.submit(
      [state = state_, number] {
        const std::lock_guard lock(state->mutex);
        // records on several queues may be passed in another order than they were made
        if (number > state->passed) {
          state->passed = number;
          state->time = Clock::now();
        }
        state->changed.notify_all();
      },
      "record");
}

bool HostEvent::is_done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->passed >= state_->recorded;
}

void HostEvent::synchronize() const {
  state_->wait_for(state_->latest());
}

void HostEvent::hold_up(HostQueue& queue) const {
  const std::uint64_t record = state_->latest();
  if (is_done()) {
    return;
  }
  queue.refuse_while_keeping("let a stream wait for an event");
  queue.submit([state = state_, record] { state->wait_for(record); }, "wait");
}

bool HostEvent::has_timing() const noexcept {
  return state_->with_timing;
}

bool HostEvent::is_recorded() const {
  return state_->latest() != 0;
}

HostEvent::Clock::time_point HostEvent::time() const {
  const std::lock_guard lock(state_->mutex);
  return state_->time;
}

}  // namespace rtcg::runtime
