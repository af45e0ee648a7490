#pragma once
// Internal header: it is not installed.

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rtcg::runtime::cuda {

/// Who captures streams of a context, and who waits for all of it. The driver refuses such a wait
/// while any stream is captured, and has ended the process where a capture began meanwhile (CUDA
/// 13, two threads): one thread's captures and another one's waits take turns. Any thread may call.
class CaptureTurns {
 public:
  /// The calling thread captures from now on, until it has called end() as often.
  void begin();
  void end() noexcept;

  /// Calls `wait` while no other thread captures. A thread that captures itself learns from the
  /// driver that it may not.
  template <class Wait>
  void without_captures(const Wait& wait) {
    const bool is_counted = begin_wait();
    struct End {
      CaptureTurns& turns;
      bool is_counted;
      ~End() {
        if (is_counted) {
          turns.end_wait();
        }
      }
    };
    const End end{*this, is_counted};
    wait();
  }

 private:
  [[nodiscard]] bool begin_wait();
  void end_wait() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread::id> capturing_;
  int waits_ = 0;
};

}  // namespace rtcg::runtime::cuda
