#pragma once
// Internal header: it is not installed.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/distributed/exchange/partner.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/distributed/exchange/watched_rounds.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/flags.h"

namespace rtcg::distributed::detail {

/// Memory for lanes, which is used again and given back with the last lane: to free memory of a
/// device waits for its streams, and these may wait for whoever does it.
class LaneMemory {
 public:
  /// @param device  one of those of the ranks
  explicit LaneMemory(runtime::Device device);

  struct Area {
    int from = 0;
    int to = 0;
    std::shared_ptr<const runtime::Buffer<std::byte>> bytes;
    std::shared_ptr<const runtime::Flags> flags;
    std::size_t first_flag = 0;  ///< of two
  };
  /// At least `bytes` of the receiver's device.
  [[nodiscard]] Area take(int from, runtime::Device receiver, int to, std::size_t bytes);
  void give_back(Area area) noexcept;

 private:
  std::mutex mutex_;
  runtime::Device device_;
  std::shared_ptr<const runtime::Flags> flags_;
  std::size_t flags_used_ = 0;
  std::vector<Area> free_;
};

class Lane;

/// What other ranks see of a rank's launches that wait for theirs.
struct Attendance {
  std::atomic<std::uint64_t> arrived = 0;    ///< how many it is ready to make
  std::vector<std::shared_ptr<Lane>> lanes;  ///< of its rounds
  // Of all ranks that are connected, on one of them.
  std::atomic<std::uint64_t> launched = 0;
  std::atomic<int> held = 0;  ///< joint launches that have begun and not yet been ended
};

/// The messages of rounds from one rank to another, which both have.
///
/// There are two slots, which rounds use in turns. When a rank sends round n + 2 it has received
/// round n + 1, which its partner sent after it had read round n: the slot is free without a word.
class Lane {
 public:
  Lane(std::shared_ptr<LaneMemory> memory, int from, runtime::Device receiver, int to,
       std::size_t bytes);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] runtime::BufferRef<std::byte> slot(std::uint64_t round) const;
  /// The sender's stream has written round `round`.
  void set(runtime::StreamRef stream, std::uint64_t round) const;
  /// The receiver's stream waits for it.
  void wait(runtime::StreamRef stream, std::uint64_t round) const;
  /// The same two for kernels: the flag, and the bit that it gets.
  [[nodiscard]] runtime::BufferRef<std::uint32_t> word(std::uint64_t round) const;
  [[nodiscard]] static std::uint32_t bit(std::uint64_t round) noexcept;
  /// What the sender gives the receiver, once.
  void give(std::shared_ptr<const void> object);
  /// Null: not yet.
  [[nodiscard]] std::shared_ptr<const void> given() const;
  /// Lets all waits pass that have been submitted.
  void open() const noexcept;

  /// How many rounds the sender has submitted, and whether it submits no more.
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<bool> is_closed = false;

  /// The rank that sends, and the one that receives, once they have opened the rounds.
  void join(const std::shared_ptr<Attendance>& rank, bool is_sender);
  [[nodiscard]] std::shared_ptr<Attendance> attendance(bool of_sender) const;

 private:
  [[nodiscard]] std::size_t flag(std::uint64_t round) const noexcept;

  std::size_t bytes_;
  std::shared_ptr<LaneMemory> memory_;
  LaneMemory::Area area_;
  std::weak_ptr<Attendance> sender_;
  std::weak_ptr<Attendance> receiver_;
  mutable std::mutex mutex_;  // of the next
  std::shared_ptr<const void> given_;
};

/// One rank's side of Rounds.
///
/// A stream waits only for what has been submitted already: the host of a rank lets its stream wait
/// for a message when the partner's host has submitted it. Whatever a rank does meanwhile, such as
/// to allocate memory, which may wait for all devices and keep others from submitting work, thus
/// comes to an end. Launches that both send and receive wait for each other: they are made
/// together.
class PeerRounds final : public WatchedRounds {
 public:
  struct End {
    Partner partner;
    std::shared_ptr<Lane> out;
    std::shared_ptr<Lane> in;
  };
  PeerRounds(int rank, std::string_view call, std::vector<End> ends,
             std::shared_ptr<RoundsWatch> watch);
  ~PeerRounds() override;

  [[nodiscard]] std::size_t partners() const noexcept { return ends_.size(); }
  /// Later work of the stream comes after all work that earlier rounds have submitted to others.
  void follow(runtime::StreamRef stream);
  [[nodiscard]] runtime::BufferRef<std::byte> outgoing(std::size_t partner) const;
  void send(runtime::StreamRef stream);
  void receive(runtime::StreamRef stream);
  [[nodiscard]] runtime::BufferRef<const std::byte> incoming(std::size_t partner) const;
  [[nodiscard]] int phase() const noexcept { return static_cast<int>(sent_ % 4); }
  void begin_capture();
  void end_capture();
  [[nodiscard]] bool is_captured() const noexcept { return before_capture_.has_value(); }
  void replay(int rounds, const std::function<void()>& launch);
  [[nodiscard]] std::vector<std::shared_ptr<const void>> trade(std::shared_ptr<const void> own);
  [[nodiscard]] runtime::BufferRef<const std::uint32_t> given_up() const;

  /// What a kernel needs that does the next round by itself, sets and waits for flags included;
  /// replay(1, its launch) counts it.
  struct Ports {
    runtime::BufferRef<std::byte> out;
    runtime::BufferRef<std::uint32_t> set;
    runtime::BufferRef<std::byte> in;
    runtime::BufferRef<std::uint32_t> awaited;
  };
  [[nodiscard]] Ports ports(std::size_t partner) const;
  [[nodiscard]] std::uint32_t bit() const noexcept { return Lane::bit(sent_); }
  /// A word of the rank's own device, in which the blocks of such a kernel count. It is 0 before
  /// and after each of them.
  [[nodiscard]] runtime::BufferRef<std::uint32_t> counter(runtime::Device device);
  void forget(runtime::StreamRef stream) noexcept override;

 private:
  [[nodiscard]] Progress progress(std::size_t partner) override;
  void open() noexcept override;
  void count_sent(std::uint64_t rounds);
  template <class Condition>
  void wait_until(const Condition& is_met) const;
  [[nodiscard]] bool find_all();
  void launch_together(const std::function<void()>& launch);

  const std::vector<End> ends_;
  const std::shared_ptr<RoundsWatch> watch_;
  const std::shared_ptr<Attendance> attendance_;
  /// Whom partners lead to, in an order that is the same for all; empty: not yet known.
  std::vector<std::shared_ptr<Attendance>> all_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::optional<runtime::Buffer<std::uint32_t>> counter_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> before_capture_;  ///< sent, received
  // That follow() had, unless it has ended; with the mutex.
  std::optional<runtime::StreamRef> last_;
};

/// What a transport offers whose ranks' devices wait for each other; found by a cast of Transport.
class RoundsTransport {
 public:
  virtual ~RoundsTransport() = default;
  /// Who waits in rounds of this group: the same on all ranks. `hosts` if open_rounds gives null.
  [[nodiscard]] virtual Waiting waiting() = 0;
  /// Null: the devices of the group cannot.
  [[nodiscard]] virtual std::shared_ptr<PeerRounds> open_rounds(
      std::string_view call, std::span<const Partner> partners) = 0;
};

}  // namespace rtcg::distributed::detail
