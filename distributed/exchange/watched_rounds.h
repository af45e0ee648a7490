#pragma once
// Internal header: it is not installed.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rtcg/runtime/device/stream.h"

namespace rtcg::distributed::detail {

/// A rank that waits for a partner's round, as a watch sees it.
struct Awaited {
  int rank;
  int awaited;
  std::string_view call;
  double seconds;
  bool is_closed;  ///< the partner has given the rounds up
  /// Of a partner in another process, which has ended, and why it has failed if it has said so.
  bool has_ended = false;
  std::optional<std::string> failure{};
};
/// Why a rank waits in vain; null: the message may still come.
using Judge = std::function<std::exception_ptr(const Awaited&)>;

/// One rank's rounds, as a watch looks after them: the streams that wait for partners go on when
/// what they wait for does not come, and their synchronize() throws why.
class WatchedRounds {
 public:
  virtual ~WatchedRounds() = default;
  WatchedRounds(const WatchedRounds&) = delete;
  WatchedRounds& operator=(const WatchedRounds&) = delete;

  /// Work of the stream waits for partners.
  void tell(runtime::StreamRef stream);
  [[nodiscard]] bool uses(runtime::StreamRef stream) const noexcept;
  virtual void forget(runtime::StreamRef stream) noexcept;

  /// By a watch, again and again.
  void look(const Judge& judge);

 protected:
  WatchedRounds(int rank, std::string_view call, std::size_t partners);

  /// What a partner has done, as this rank sees it.
  struct Progress {
    int rank;
    std::uint64_t sent;
    bool is_closed;
    bool has_ended = false;  ///< its process; without having closed the rounds
    std::optional<std::string> failure{};
  };
  [[nodiscard]] virtual Progress progress(std::size_t partner) = 0;
  /// Lets go on whatever waits on the device. Called again and again after a failure: partners that
  /// go on may have changed words since.
  virtual void open() noexcept = 0;

  // From these calls on it is looked after, and no more.
  void begin_watch();
  void forget_stream_ends() noexcept;
  /// Waits for the streams: one of the watches lets them go on.
  void wait_for_streams() const noexcept;

  /// @throws  the failure, if there is one
  void check() const;

  const int rank_;
  const std::string call_;
  std::atomic<std::uint64_t> awaited_ = 0;  ///< how many rounds partners have to send

  mutable std::mutex mutex_;  // of the next two
  std::vector<runtime::StreamRef> streams_;
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_ = false;

 private:
  using Clock = std::chrono::steady_clock;
  void fail(const std::exception_ptr& error);

  /// How many rounds the watch has seen a partner send, and since when.
  struct Seen {
    std::optional<std::uint64_t> sent{};
    Clock::time_point since{};
  };
  std::vector<Seen> seen_;  // of the watch, by partner
};

/// A thread that looks after the rounds of ranks, whose hosts may wait for their devices: it lets
/// streams go on that wait for what will not come.
class RoundsWatch {
 public:
  explicit RoundsWatch(Judge judge) : judge_(std::move(judge)) {}
  ~RoundsWatch();
  RoundsWatch(const RoundsWatch&) = delete;
  RoundsWatch& operator=(const RoundsWatch&) = delete;

  void add(WatchedRounds* rounds);
  void remove(WatchedRounds* rounds) noexcept;

 private:
  void run();

  Judge judge_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WatchedRounds*> watched_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace rtcg::distributed::detail
