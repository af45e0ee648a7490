#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rtcg::runtime {

/// Runs tasks one after the other on its own thread: a stream of the host.
///
/// Any thread may call. The thread starts with the first task, and ends when the queue is destroyed
/// and its tasks are done; destruction does not wait for them. After fork() a child has no such
/// threads: it must not use queues made before.
class HostQueue {
 public:
  using Task = std::function<void()>;
  /// Number of a task, from 1.
  using Ticket = std::uint64_t;

  HostQueue();
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  /// A task that is kept instead of run.
  struct Kept {
    Task task;
    std::string label;
  };

  /// @param label  what a graph calls the task
  void submit(Task task, std::string_view label = "task");
  /// From now on tasks are kept. @throws InvalidInput  runtime.graph.cannot_capture: they are
  /// already
  void begin_keeping();
  /// Ends that. @returns  the tasks
  [[nodiscard]] std::vector<Kept> end_keeping();
  /// @param action  completes `cannot ...`
  /// @throws InvalidInput  runtime.graph.cannot_capture: tasks are being kept
  void refuse_while_keeping(std::string_view action) const;
  [[nodiscard]] bool is_done() const;
  /// Waits for all tasks submitted so far, and throws the first exception of a task since the last
  /// call.
  ///
  /// @throws InvalidInput  runtime.graph.cannot_capture
  void synchronize();
  /// The same as for one of all streams of a device: what another thread captures meanwhile has not
  /// been submitted.
  void synchronize_with_device();
  /// Waits for all tasks submitted so far; synchronize() reports their exceptions.
  void wait() const noexcept;

 private:
  void wait_and_rethrow();
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // also the thread's, which may outlive the queue
};

/// A place in a queue to wait for, or where the time is taken. Copies are the same event.
class HostEvent {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HostEvent(bool with_timing);

  /// A later record makes this the event's place instead.
  void record(HostQueue& queue) const;
  /// Whether the latest record has been passed; true if nothing was recorded.
  [[nodiscard]] bool is_done() const;
  void synchronize() const;
  /// Lets later tasks of the queue wait for the latest record so far.
  void hold_up(HostQueue& queue) const;
  [[nodiscard]] bool has_timing() const noexcept;
  [[nodiscard]] bool is_recorded() const;
  /// When the latest record was passed.
  [[nodiscard]] Clock::time_point time() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rtcg::runtime
