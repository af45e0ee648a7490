#include "rtcg/distributed/group/run_ranks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/exchange/relax.h"
#include "rtcg/distributed/exchange/staging.h"
#include "rtcg/distributed/group/named_failure.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/peer.h"

namespace rtcg::distributed {
namespace {

using runtime::Device;
using runtime::Event;

/// A message on its way: bytes of the host, or the place of memory on a device.
struct Message {
  enum class Stage {
    posted,
    claimed,  ///< the receiver submits the copy
    taken,    ///< it has: `taken` is the copy's end
  };
  std::vector<std::byte> bytes;
  std::optional<runtime::BufferRef<const std::byte>> source;
  std::shared_ptr<const Event> ready;  ///< `source` has its values
  std::shared_ptr<const Event> taken;
  Stage stage = Stage::posted;
};

/// What the ranks of one process share.
class Hub {
 public:
  Hub(std::vector<Device> devices, const GroupOptions& options)
      : devices_(std::move(devices)),
        timeout_seconds_(options.timeout_seconds),
        waiting_(options.waiting),
        calls_(devices_.size()),
        has_ended_(devices_.size(), false),
        watch_(std::make_shared<detail::RoundsWatch>(
            [this](const detail::Awaited& waiting) { return why_in_vain(waiting); })) {}

  [[nodiscard]] const std::vector<Device>& devices() const noexcept { return devices_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(devices_.size()); }

  void post(int from, int to, std::shared_ptr<Message> message) {
    const std::lock_guard lock(mutex_);
    mail_[{from, to}].push_back(std::move(message));
    tell_change();
  }

  [[nodiscard]] std::shared_ptr<Message> next(std::string_view call, int from, int to) {
    std::unique_lock lock(mutex_);
    std::deque<std::shared_ptr<Message>>& mail = mail_[{from, to}];
    wait(lock, call, to, from, [&] { return !mail.empty(); });
    std::shared_ptr<Message> message = std::move(mail.front());
    mail.pop_front();
    message->stage = Message::Stage::claimed;
    return message;
  }

  /// @param taken  null: the receiver cannot copy
  void take(Message& message, std::shared_ptr<const Event> taken) {
    const std::lock_guard lock(mutex_);
    message.taken = std::move(taken);
    message.stage = Message::Stage::taken;
    tell_change();
  }

  void wait_until_taken(std::string_view call, const Message& message, int from, int to) {
    std::unique_lock lock(mutex_);
    wait(lock, call, from, to, [&] { return message.stage == Message::Stage::taken; });
  }

  /// From now on nobody reads the message's memory.
  void withdraw(int from, int to, const std::shared_ptr<Message>& message) {
    {
      std::unique_lock lock(mutex_);
      std::deque<std::shared_ptr<Message>>& mail = mail_[{from, to}];
      mail.erase(std::remove(mail.begin(), mail.end(), message), mail.end());
      changed_.wait(lock, [&] { return message->stage != Message::Stage::claimed; });
    }
    if (message->taken != nullptr) {
      message->taken->synchronize();
    }
  }

  void fail(int rank, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = {rank, reason};
    }
    has_ended_[static_cast<std::size_t>(rank)] = true;
    tell_change();
  }
  void end(int rank) {
    const std::lock_guard lock(mutex_);
    has_ended_[static_cast<std::size_t>(rank)] = true;
    tell_change();
  }

  /// Whether the devices of all ranks wait for each other: the same answer to every rank.
  [[nodiscard]] bool waits_on_devices() {
    const std::lock_guard lock(devices_mutex_);
    if (!waits_on_devices_) {
      waits_on_devices_ = waiting_ != Waiting::hosts && can_wait_on_devices();
      if (*waits_on_devices_) {
        lane_memory_ = std::make_shared<detail::LaneMemory>(devices_[0]);
      }
    }
    return *waits_on_devices_;
  }
  [[nodiscard]] Waiting waiting() { return waits_on_devices() ? waiting_ : Waiting::hosts; }
  [[nodiscard]] const std::shared_ptr<detail::RoundsWatch>& watch() const { return watch_; }

  /// The lane of the rounds that rank `by`, one of the two, opens as its next ones in this
  /// direction.
  [[nodiscard]] std::shared_ptr<detail::Lane> lane(std::string_view call, int from, int to, int by,
                                                   std::size_t bytes) {
    const std::lock_guard lock(devices_mutex_);
    const std::size_t number = opened_[{from, to, by}]++;
    const auto found = lanes_.find({from, to, number});
    if (found == lanes_.end()) {
      const auto made = std::make_shared<detail::Lane>(
          lane_memory_, from, devices_[static_cast<std::size_t>(to)], to, bytes);
      lanes_.emplace(std::tuple(from, to, number), made);
      return made;
    }
    std::shared_ptr<detail::Lane> both = std::move(found->second);
    lanes_.erase(found);
    if (both->bytes() != bytes) {
      const std::size_t others = both->bytes();
      detail::throw_size_mismatch(call, from, by == from ? bytes : others, to,
                                  by == from ? others : bytes);
    }
    return both;
  }

  [[nodiscard]] int first_failed() const {
    const std::lock_guard lock(mutex_);
    return failure_ ? failure_->rank : -1;
  }

 private:
  // A device that two ranks share would hold one of them up while the other one waits for it:
  // whoever waits for a device waits for all of its streams, and these may share queues of
  // hardware.
  [[nodiscard]] bool can_wait_on_devices() const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!runtime::has_flags(devices_[i])) {
        return false;
      }
      for (std::size_t j = 0; j < devices_.size(); ++j) {
        if (i != j &&
            (devices_[i] == devices_[j] || !runtime::can_access_peer(devices_[i], devices_[j]))) {
          return false;
        }
      }
    }
    return true;
  }

  // What a watch asks.
  [[nodiscard]] std::exception_ptr why_in_vain(const detail::Awaited& waiting) {
    // a rank that is about to fail gives its rounds up before it says why
    constexpr double seconds_of_ending = 1;
    const std::lock_guard lock(mutex_);
    const bool has_ended = has_ended_[static_cast<std::size_t>(waiting.awaited)] ||
                           (waiting.is_closed && waiting.seconds > seconds_of_ending);
    if (!has_ended && waiting.seconds <= timeout_seconds_) {
      return nullptr;
    }
    Call& here = calls_[static_cast<std::size_t>(waiting.rank)];
    const Call before = here;
    here = {std::string(waiting.call), waiting.awaited};
    const std::string chain = chain_from(waiting.rank);
    here = before;
    try {
      if (failure_) {
        detail::throw_rank_failed(failure_->rank, failure_->reason);
      }
      if (has_ended) {
        detail::throw_rank_ended(waiting.awaited, chain);
      }
      detail::throw_time_out(timeout_seconds_, chain);
    } catch (const Error&) {
      return std::current_exception();
    }
  }

  struct Failure {
    int rank;
    std::string reason;
  };
  struct Call {
    std::string name;
    int awaited = -1;
  };

  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, std::string_view call, int rank, int awaited,
            const Condition& is_met) {
    if (is_met()) {
      return;
    }
    Call& here = calls_[static_cast<std::size_t>(rank)];
    here = {std::string(call), awaited};
    // after a failure, too, a message of a rank that goes on may come: it ends when it asks others
    const auto is_over = [&] { return is_met() || has_ended_[static_cast<std::size_t>(awaited)]; };
    look_again(lock, is_over);
    const bool is_in_time =
        changed_.wait_for(lock, std::chrono::duration<double>(timeout_seconds_), is_over);
    if (!is_met()) {
      if (failure_) {
        detail::throw_rank_failed(failure_->rank, failure_->reason);
      }
      const std::string waiting = chain_from(rank);
      if (is_in_time) {
        detail::throw_rank_ended(awaited, waiting);
      }
      detail::throw_time_out(timeout_seconds_, waiting);
    }
    here = {};
  }

  void tell_change() {
    changes_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }

  // Messages are often a few microseconds away, where sleeping takes longer. The lock is free
  // meanwhile, and no call of the system is made: such calls take as long as a message. Not where
  // ranks have to share processors.
  template <class Condition>
  void look_again(std::unique_lock<std::mutex>& lock, const Condition& is_over) const {
    constexpr auto longest = std::chrono::microseconds(50);
    if (detail::processors() <= devices_.size()) {
      return;
    }
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!is_over()) {
      const std::uint64_t seen = changes_.load(std::memory_order_relaxed);
      lock.unlock();
      bool is_late = false;
      while (!is_late && changes_.load(std::memory_order_acquire) == seen) {
        for (int i = 0; i < 16; ++i) {
          detail::relax();
        }
        is_late = std::chrono::steady_clock::now() >= end;
      }
      lock.lock();
      if (is_late) {
        return;
      }
    }
  }

  // `rank 0 waits for rank 1 in gather, which waits for rank 2 in ...`
  [[nodiscard]] std::string chain_from(int rank) const {
    std::string text = fmt::format("rank {}", rank);
    std::vector<bool> is_named(devices_.size(), false);
    while (true) {
      is_named[static_cast<std::size_t>(rank)] = true;
      const Call& call = calls_[static_cast<std::size_t>(rank)];
      if (call.awaited < 0) {
        return text + " is in no call of the group";
      }
      text += fmt::format(" waits for rank {} in {}", call.awaited, call.name);
      rank = call.awaited;
      if (is_named[static_cast<std::size_t>(rank)]) {
        return text;
      }
      text += ", which";
    }
  }

  const std::vector<Device> devices_;
  const double timeout_seconds_;
  const Waiting waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> changes_ = 0;  ///< how many there were, under the mutex
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail_;
  std::vector<Call> calls_;  ///< that ranks wait in
  std::vector<bool> has_ended_;
  std::optional<Failure> failure_;

  std::mutex devices_mutex_;  // of the next four; held while devices are asked
  std::shared_ptr<detail::LaneMemory> lane_memory_;
  std::optional<bool> waits_on_devices_;
  std::map<std::tuple<int, int, std::size_t>, std::shared_ptr<detail::Lane>>
      lanes_;  ///< of one end
  std::map<std::tuple<int, int, int>, std::size_t> opened_;
  const std::shared_ptr<detail::RoundsWatch> watch_;  // its thread ends first
};

/// Events of one device, used again when the last owner of a message has gone.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  explicit EventPool(Device device) : device_(device) {}

  [[nodiscard]] std::shared_ptr<const Event> take() {
    std::unique_ptr<const Event> event;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        event = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (event == nullptr) {
      event = std::make_unique<const Event>(device_, runtime::EventOptions{.with_timing = false});
    }
    return {event.release(), [pool = shared_from_this()](const Event* used) {
              const std::lock_guard lock(pool->mutex_);
              pool->free_.emplace_back(used);
            }};
  }

 private:
  Device device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Event>> free_;
};

/// Messages that this rank has posted. If it leaves before they are taken, nobody reads them any
/// more.
class PostedMessages {
 public:
  PostedMessages(Hub& hub, int rank) : hub_(hub), rank_(rank) {}
  PostedMessages(const PostedMessages&) = delete;
  PostedMessages& operator=(const PostedMessages&) = delete;
  ~PostedMessages() {
    for (const auto& [to, message] : messages_) {
      hub_.withdraw(rank_, to, message);
    }
  }

  void add(int to, std::shared_ptr<Message> message) {
    messages_.emplace_back(to, message);
    hub_.post(rank_, to, std::move(message));
  }
  void wait_until_taken(std::string_view call, runtime::StreamRef stream) {
    while (!messages_.empty()) {
      const auto& [to, message] = messages_.back();
      hub_.wait_until_taken(call, *message, rank_, to);
      if (message->taken != nullptr) {
        stream.wait(*message->taken);
      }
      messages_.pop_back();
    }
  }

 private:
  Hub& hub_;
  int rank_;
  std::vector<std::pair<int, std::shared_ptr<Message>>> messages_;
};

/// Messages whose copies this rank submits. Their senders learn when it is done, or has failed.
class ClaimedMessages {
 public:
  explicit ClaimedMessages(Hub& hub) : hub_(hub) {}
  ClaimedMessages(const ClaimedMessages&) = delete;
  ClaimedMessages& operator=(const ClaimedMessages&) = delete;
  ~ClaimedMessages() { take(nullptr); }

  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }
  const Message& add(std::shared_ptr<Message> message) {
    return *messages_.emplace_back(std::move(message));
  }
  void take(const std::shared_ptr<const Event>& taken) {
    for (const std::shared_ptr<Message>& each : messages_) {
      hub_.take(*each, taken);
    }
    messages_.clear();
  }

 private:
  Hub& hub_;
  std::vector<std::shared_ptr<Message>> messages_;
};

class ThreadTransport final : public Transport, public detail::RoundsTransport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank)
      : hub_(std::move(hub)),
        rank_(rank),
        device_(hub_->devices()[static_cast<std::size_t>(rank)]),
        staging_(device_),
        events_(std::make_shared<EventPool>(device_)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return hub_->size(); }
  [[nodiscard]] int node_rank() const override { return rank_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] std::string name() const override { return "threads"; }

  void exchange_on_host(std::string_view call, std::span<const HostSend> sends,
                        std::span<const HostReceive> receives) override {
    for (const HostSend& each : sends) {
      auto message = std::make_shared<Message>();
      message->bytes.assign(each.values.begin(), each.values.end());
      hub_->post(rank_, each.to, std::move(message));
    }
    for (const HostReceive& each : receives) {
      const std::shared_ptr<Message> message = hub_->next(call, each.from, rank_);
      check_size(call, each.from, message->bytes.size(), each.values.size());
      std::copy(message->bytes.begin(), message->bytes.end(), each.values.begin());
    }
  }

  void exchange(std::string_view call, runtime::StreamRef stream, std::span<const Send> sends,
                std::span<const Receive> receives) override {
    exchange_and_use(call, stream, sends, receives, {});
  }

  void exchange_and_use(std::string_view call, runtime::StreamRef stream,
                        std::span<const Send> sends, std::span<const Receive> receives,
                        const UseOfMessages& use) override {
    std::vector<Send> staged_sends;
    PostedMessages posted(*hub_, rank_);
    std::shared_ptr<const Event> ready;
    for (const Send& each : sends) {
      if (!is_direct(each.to)) {
        staged_sends.push_back(each);
        continue;
      }
      if (ready == nullptr) {
        ready = events_->take();
        stream.record(*ready);
      }
      auto message = std::make_shared<Message>();
      message->source = each.values;
      message->ready = ready;
      posted.add(each.to, std::move(message));
    }
    std::vector<Receive> staged_receives;
    std::vector<runtime::BufferRef<const std::byte>> messages;  // where they are
    ClaimedMessages arrived(*hub_);
    for (const Receive& each : receives) {
      messages.emplace_back(each.values);
      if (!is_direct(each.from)) {
        staged_receives.push_back(each);
        continue;
      }
      const Message& message = arrived.add(hub_->next(call, each.from, rank_));
      require_internal(message.source.has_value(), "both ends of an exchange take the same way");
      check_size(call, each.from, message.source->size_bytes(), each.values.size_bytes());
      if (each.values.size_bytes() > 0) {
        stream.wait(*message.ready);
        if (use && runtime::can_access_peer(device_, message.source->device())) {
          messages.back() = *message.source;
        } else {
          runtime::copy_on_device(stream, *message.source, each.values);
        }
      }
    }
    if (!staged_sends.empty() || !staged_receives.empty()) {
      staging_.exchange(*this, call, stream, staged_sends, staged_receives);
    }
    if (use) {
      use(messages);
    }
    if (!arrived.empty()) {
      const std::shared_ptr<const Event> taken = events_->take();
      stream.record(*taken);
      arrived.take(taken);
    }
    posted.wait_until_taken(call, stream);
  }

  [[nodiscard]] Waiting waiting() override { return hub_->waiting(); }

  [[nodiscard]] std::shared_ptr<detail::PeerRounds> open_rounds(
      std::string_view call, std::span<const Partner> partners) override {
    if (!hub_->waits_on_devices()) {
      return nullptr;
    }
    std::vector<detail::PeerRounds::End> ends;
    for (const Partner& each : partners) {
      ends.push_back({each, hub_->lane(call, rank_, each.rank, rank_, each.sent_bytes),
                      hub_->lane(call, each.rank, rank_, rank_, each.received_bytes)});
    }
    return std::make_shared<detail::PeerRounds>(rank_, call, std::move(ends), hub_->watch());
  }

  void fail(const std::string& reason) noexcept override { hub_->fail(rank_, reason); }

 private:
  // Whether streams of both devices can wait for each other, and copy.
  [[nodiscard]] bool is_direct(int other) const {
    const Device& theirs = hub_->devices()[static_cast<std::size_t>(other)];
    return theirs == device_ || (theirs.info().id.kind == runtime::BackendKind::cuda &&
                                 device_.info().id.kind == runtime::BackendKind::cuda);
  }

  void check_size(std::string_view call, int from, std::size_t sent, std::size_t expected) const {
    if (sent != expected) {
      detail::throw_size_mismatch(call, from, sent, rank_, expected);
    }
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  Device device_;
  detail::Staging staging_;
  std::shared_ptr<EventPool> events_;
};

}  // namespace

void run_ranks(const std::vector<Device>& devices, const std::function<void(const Group&)>& work,
               const GroupOptions& options) {
  if (devices.empty()) {
    throw InvalidInput("distributed.run_ranks.no_devices",
                       "a group of no ranks: give the device of each");
  }
  detail::check_timeout(options.timeout_seconds);
  const auto hub = std::make_shared<Hub>(devices, options);
  std::vector<std::exception_ptr> errors(devices.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < hub->size(); ++rank) {
    threads.emplace_back([&, rank] {
      std::exception_ptr& error = errors[static_cast<std::size_t>(rank)];
      try {
        work(Group(std::make_shared<ThreadTransport>(hub, rank)));
        hub->end(rank);
      } catch (...) {
        error = std::current_exception();
        hub->fail(rank, detail::text_of(error));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  if (const int failed = hub->first_failed(); failed >= 0) {
    const std::exception_ptr& error = errors[static_cast<std::size_t>(failed)];
    if (error != nullptr) {
      detail::rethrow_of_rank(error, failed);
    }
    // a rank that said so, and went on
    for (const std::exception_ptr& each : errors) {
      if (each != nullptr) {
        std::rethrow_exception(each);
      }
    }
  }
}

std::vector<Device> devices_of(std::string_view names) {
  std::vector<Device> devices;
  while (true) {
    const std::size_t comma = names.find(',');
    devices.push_back(Device::find(names.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return devices;
    }
    names.remove_prefix(comma + 1);
  }
}

}  // namespace rtcg::distributed
