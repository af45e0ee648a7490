#include "rtcg/runtime/device/stream.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/fail_stream.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::runtime {

namespace {

struct Listeners {
  std::mutex mutex;
  std::vector<void (*)(StreamRef) noexcept> all;
};

Listeners& listeners() {
  static Listeners& made = *new Listeners;  // streams with static storage may end late
  return made;
}

/// What functions on the host threw, and why work did not come, by stream, until somebody waits for
/// it.
class StreamErrors {
 public:
  static StreamErrors& instance() {
    static StreamErrors& made = *new StreamErrors;  // calls may end late
    return made;
  }

  void add(StreamRef stream, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (errors_.emplace(Key(&stream.device().backend(), stream.native_handle()), std::move(error))
            .second) {
      ++count_;
    }
  }

  /// Those of an earlier stream of the same handle.
  void forget(StreamRef stream) {
    if (count_.load(std::memory_order_acquire) == 0) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (errors_.erase({&stream.device().backend(), stream.native_handle()}) != 0) {
      --count_;
    }
  }

  /// Throws the first one of the stream, if there is one.
  void rethrow(StreamRef stream) {
    if (count_.load(std::memory_order_acquire) == 0) {
      return;
    }
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      const auto found = errors_.find({&stream.device().backend(), stream.native_handle()});
      if (found == errors_.end()) {
        return;
      }
      error = found->second;
      errors_.erase(found);
      --count_;
    }
    std::rethrow_exception(error);
  }

 private:
  using Key = std::pair<const Backend*, void*>;
  std::mutex mutex_;
  std::map<Key, std::exception_ptr> errors_;
  std::atomic<int> count_ = 0;
};

/// A function that a stream calls, once or at each launch of a graph.
struct HostCall {
  StreamRef stream;
  std::function<void()> function;

  void run() const noexcept {
    try {
      function();
    } catch (...) {
      StreamErrors::instance().add(stream, std::current_exception());
    }
  }
};

void run_once(void* data) {
  const std::unique_ptr<const HostCall> call(static_cast<const HostCall*>(data));
  call->run();
}

void run_again(void* data) {
  static_cast<const HostCall*>(data)->run();
}

/// A thread that releases what streams no longer use: functions called by a driver may not call it.
class Releaser {
 public:
  static Releaser& instance() {
    static Releaser& made = *new Releaser;
    return made;
  }

  void release(std::shared_ptr<const void> owner) {
    const std::lock_guard lock(mutex_);
    if (!has_thread_) {
      std::thread([this] { run(); }).detach();  // lives as long as the process
      has_thread_ = true;
    }
    owners_.push_back(std::move(owner));
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !owners_.empty(); });
      std::vector<std::shared_ptr<const void>> ended = std::exchange(owners_, {});
      lock.unlock();
      ended.clear();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<const void>> owners_;
  bool has_thread_ = false;
};

}  // namespace

void StreamRef::synchronize() const {
  device_.backend().synchronize(handle_);
  StreamErrors::instance().rethrow(*this);
}

void StreamRef::call_host(std::function<void()> function) const {
  if (detail::is_captured(*this)) {
    const auto call = std::make_shared<HostCall>(HostCall{*this, std::move(function)});
    device_.backend().call_host(handle_, run_again, call.get());
    detail::keep_in_graph(*this, call);
    return;
  }
  auto call = std::make_unique<HostCall>(HostCall{*this, std::move(function)});
  device_.backend().call_host(handle_, run_once, call.get());
  static_cast<void>(call.release());
}

void StreamRef::keep(std::shared_ptr<const void> owner) const {
  if (detail::keep_in_graph(*this, owner)) {
    return;
  }
  // shared, since a std::function is copied: the last copy goes with the call
  const auto held = std::make_shared<std::shared_ptr<const void>>(std::move(owner));
  call_host([held] { Releaser::instance().release(std::exchange(*held, nullptr)); });
}

void detail::fail_stream(StreamRef stream, std::exception_ptr error) {
  StreamErrors::instance().add(stream, std::move(error));
}

void detail::on_stream_end(void (*listener)(StreamRef) noexcept) {
  const std::lock_guard lock(listeners().mutex);
  listeners().all.push_back(listener);
}

Event StreamRef::record(const EventOptions& options) const {
  Event event(device_, options);
  record(event);
  return event;
}

Stream::Stream(Device device, const StreamOptions& options)
    : device_(device), handle_(device.backend().create_stream(options)) {
  StreamErrors::instance().forget(*this);
}

Stream::~Stream() {
  if (handle_ != nullptr) {
    std::vector<void (*)(StreamRef) noexcept> told;
    {
      const std::lock_guard lock(listeners().mutex);
      told = listeners().all;
    }
    for (const auto listener : told) {
      listener(*this);
    }
    // before destroy_stream: pools hold blocks that are free from a place in this stream on
    detail::forget_stream(*this);
    device_.backend().destroy_stream(handle_);
  }
}

Stream::Stream(Stream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  return *this;
}

}  // namespace rtcg::runtime
