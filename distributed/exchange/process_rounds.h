#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/distributed/exchange/transport.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/distributed/exchange/watched_rounds.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/interprocess.h"

namespace rtcg::distributed::detail {

/// Whether a process of this machine has ended; its parent may not have asked for it yet.
[[nodiscard]] bool process_has_ended(std::int64_t number);

/// What the processes of partners see of a rank's rounds, in memory of the host that they share.
class SharedProgress {
 public:
  /// Of this process.
  SharedProgress();
  /// Of another one. @throws  as ImportedMemory
  explicit SharedProgress(const runtime::MemoryHandle& handle);
  [[nodiscard]] runtime::MemoryHandle handle() const;

  void count(std::uint64_t sent) noexcept;
  /// The rounds are given up; later, their work is done, and memory of others is closed.
  void close() noexcept;
  void end() noexcept;
  void fail(std::string_view reason) noexcept;

  [[nodiscard]] std::uint64_t sent() const noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  [[nodiscard]] bool is_over() const noexcept;
  /// Nothing: it has not failed.
  [[nodiscard]] std::optional<std::string> failure() const;
  /// Whether the process has ended before it ended the rounds.
  [[nodiscard]] bool is_dead() const;

 private:
  struct Words;
  [[nodiscard]] Words& words() const noexcept;

  std::optional<runtime::Memory> own_;
  std::optional<runtime::ImportedMemory> theirs_;
};

/// Memory that partners' processes still use, after the rounds of this one have ended. It is given
/// back when they have closed it.
class KeptMemory {
 public:
  struct Entry {
    std::shared_ptr<const void> owner;
    std::shared_ptr<SharedProgress> own;
    std::vector<std::shared_ptr<const SharedProgress>> partners;
  };
  KeptMemory() = default;
  /// Waits for partners, at most two seconds, unless this rank has failed.
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  /// Waits a little for partners.
  void add(Entry entry);
  /// Gives back what no partner uses.
  void sweep() noexcept;
  /// Partners of rounds that have ended are to learn why others do not follow.
  void fail(std::string_view reason) noexcept;

 private:
  void wait(std::chrono::milliseconds longest) noexcept;

  std::vector<Entry> entries_;
  bool has_failed_ = false;
};

/// One rank's rounds with partners in other processes, for kernels that store into partners' memory
/// and wait for theirs by themselves.
///
/// No host waits for another one. A driver's call in one process waits for its own devices only, so
/// that launches need not be made together, as those of ranks in one process.
class ProcessRounds final : public WatchedRounds {
 public:
  ProcessRounds(int rank, std::string_view call, std::vector<int> partners, runtime::Device device,
                std::shared_ptr<RoundsWatch> watch, std::shared_ptr<KeptMemory> kept);
  ~ProcessRounds() override;

  /// What a partner gives, whose memory is mapped here.
  struct Given {
    std::vector<std::byte> text;
    std::vector<runtime::BufferRef<std::byte>> memory;
  };
  /// Partners call it together.
  ///
  /// @param texts   one for each partner
  /// @param memory  shareable memory of the device, the same for all partners
  /// @param owner   keeps it
  /// @returns  nothing where a handle cannot be made or opened; partners may have got all
  [[nodiscard]] std::optional<std::vector<Given>> trade(
      Transport& transport, std::span<const std::vector<std::byte>> texts,
      std::span<const runtime::BufferRef<std::byte>> memory, std::shared_ptr<const void> owner);
  [[nodiscard]] runtime::BufferRef<const std::uint32_t> given_up() const;
  /// Launches work of so many rounds.
  void replay(int rounds, const std::function<void()>& launch);
  [[nodiscard]] std::size_t partners() const noexcept { return partners_.size(); }
  /// Tells partners why this rank does not follow.
  void fail_partners(std::string_view reason) noexcept;

 private:
  [[nodiscard]] Progress progress(std::size_t partner) override;
  void open() noexcept override;

  const std::vector<int> partners_;
  const runtime::Device device_;
  const std::shared_ptr<RoundsWatch> watch_;
  const std::shared_ptr<KeptMemory> kept_;
  std::optional<runtime::Flags> given_up_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<SharedProgress> own_;
  std::vector<std::shared_ptr<const SharedProgress>> others_;  ///< by partner
  std::vector<runtime::ImportedMemory> imported_;
  std::uint64_t sent_ = 0;
  bool is_watched_ = false;

  // Of the watch: it asks the system now and then.
  struct Life {
    unsigned looks = 0;
    bool is_dead = false;
  };
  std::vector<Life> lives_;
};

/// What a transport offers whose ranks are processes of one machine; found by a cast of Transport.
class ProcessTransport {
 public:
  virtual ~ProcessTransport() = default;
  /// Who waits: `kernels`, `measured`, or `hosts` if kernels of the group's devices cannot. The
  /// same on all ranks.
  [[nodiscard]] virtual Waiting waiting_of_kernels() = 0;
  /// Null where that is `hosts`.
  [[nodiscard]] virtual std::shared_ptr<ProcessRounds> open_process_rounds(
      std::string_view call, std::span<const int> partners) = 0;
};

}  // namespace rtcg::distributed::detail
