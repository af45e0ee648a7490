#include "rtcg/distributed/exchange/watched_rounds.h"

#include <algorithm>

#include "rtcg/runtime/device/fail_stream.h"

namespace rtcg::distributed::detail {
namespace {

constexpr auto watch_interval = std::chrono::milliseconds(2);

void wait_for(runtime::StreamRef stream) noexcept {
  try {
    stream.device().backend().synchronize(stream.native_handle());
  } catch (...) {
    // its device has failed: nothing of it writes any more
  }
}

/// All rounds of the process, for streams that end.
class Registry {
 public:
  static Registry& instance() {
    static Registry& made = [&]() -> Registry& {
      runtime::detail::on_stream_end(
          [](runtime::StreamRef stream) noexcept { instance().end(stream); });
      return *new Registry;
    }();
    return made;
  }

  void add(WatchedRounds* rounds) {
    const std::lock_guard lock(mutex_);
    all_.push_back(rounds);
  }
  void remove(WatchedRounds* rounds) noexcept {
    const std::lock_guard lock(mutex_);
    all_.erase(std::find(all_.begin(), all_.end(), rounds));
  }

 private:
  void end(runtime::StreamRef stream) noexcept {
    const auto is_used = [&] {
      const std::lock_guard lock(mutex_);
      return std::any_of(all_.begin(), all_.end(),
                         [&](const WatchedRounds* each) { return each->uses(stream); });
    };
    if (!is_used()) {
      return;
    }
    wait_for(stream);  // without the mutex: the stream may wait for ranks that need it
    const std::lock_guard lock(mutex_);
    for (WatchedRounds* each : all_) {
      each->forget(stream);
    }
  }

  std::mutex mutex_;
  std::vector<WatchedRounds*> all_;
};

}  // namespace

WatchedRounds::WatchedRounds(int rank, std::string_view call, std::size_t partners)
    : rank_(rank), call_(call), seen_(partners) {}

void WatchedRounds::begin_watch() {
  Registry::instance().add(this);
}

void WatchedRounds::forget_stream_ends() noexcept {
  Registry::instance().remove(this);
}

void WatchedRounds::wait_for_streams() const noexcept {
  for (const runtime::StreamRef& each : streams_) {
    wait_for(each);
  }
}

void WatchedRounds::tell(runtime::StreamRef stream) {
  const std::lock_guard lock(mutex_);
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) {
    streams_.push_back(stream);
  }
}

bool WatchedRounds::uses(runtime::StreamRef stream) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::find(streams_.begin(), streams_.end(), stream) != streams_.end();
}

void WatchedRounds::forget(runtime::StreamRef stream) noexcept {
  const std::lock_guard lock(mutex_);
  streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
}

void WatchedRounds::look(const Judge& judge) {
  if (has_failed_) {
    open();
    return;
  }
  const Clock::time_point now = Clock::now();
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Progress partner = progress(i);
    Seen& seen = seen_[i];
    // the last rounds of a process that has ended were perhaps submitted, but not done
    if (partner.sent >= awaited_ && !partner.has_ended) {
      seen = {};
      continue;
    }
    if (seen.sent != partner.sent) {
      seen = {partner.sent, now};
    }
    const double seconds = std::chrono::duration<double>(now - seen.since).count();
    const std::exception_ptr error = judge({rank_, partner.rank, call_, seconds, partner.is_closed,
                                            partner.has_ended, partner.failure});
    // the partner may have sent, and ended, since
    if (error != nullptr && (partner.has_ended || progress(i).sent < awaited_)) {
      fail(error);
      return;
    }
  }
}

void WatchedRounds::fail(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  failure_ = error;
  for (const runtime::StreamRef& each : streams_) {
    runtime::detail::fail_stream(each, error);
  }
  has_failed_ = true;
}

void WatchedRounds::check() const {
  if (has_failed_) {
    const std::lock_guard lock(mutex_);
    std::rethrow_exception(failure_);
  }
}

RoundsWatch::~RoundsWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void RoundsWatch::add(WatchedRounds* rounds) {
  const std::lock_guard lock(mutex_);
  watched_.push_back(rounds);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
}

void RoundsWatch::remove(WatchedRounds* rounds) noexcept {
  const std::lock_guard lock(mutex_);
  watched_.erase(std::find(watched_.begin(), watched_.end(), rounds));
}

void RoundsWatch::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, watch_interval, [&] { return is_over_; })) {
    for (WatchedRounds* each : watched_) {
      each->look(judge_);
    }
  }
}

}  // namespace rtcg::distributed::detail
