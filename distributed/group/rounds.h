#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/distributed/exchange/partner.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/distributed/group/group.h"

namespace rtcg::distributed {

namespace detail {
class PeerRounds;
}

/// Exchanges of messages of the same lengths between the same ranks, one after the other, in which
/// no host waits for a device: kernels write into memory of the partner's device, and streams wait
/// for flags. Move-only.
///
/// A round is: work of a stream that writes outgoing(i) for each partner i, send(), receive(), and
/// work that reads incoming(i). A rank does not send again before it has received, and all this
/// work of a rank is in the order of one stream, or as if it were. Partners make the same calls:
/// receive() and replay() return when they have, too.
class Rounds {
 public:
  Rounds(Group group, std::shared_ptr<detail::PeerRounds> rounds, std::size_t sent_bytes);
  /// Waits until the work submitted to its streams is done.
  ~Rounds();
  Rounds(Rounds&&) noexcept;
  Rounds& operator=(Rounds&&) noexcept;

  [[nodiscard]] std::size_t partners() const noexcept;
  /// Where the next message to a partner has to be written, in memory of the partner's device.
  [[nodiscard]] runtime::BufferRef<std::byte> outgoing(std::size_t partner) const;
  /// The work of `stream` so far has written the messages.
  ///
  /// @throws  as receive
  void send(runtime::StreamRef stream) const;
  /// Later work of `stream` finds the messages of the latest round in incoming().
  ///
  /// @throws DeviceError  as Group::exchange: why messages of earlier rounds did not come. The next
  ///                      synchronize() of the stream throws it, too
  void receive(runtime::StreamRef stream) const;
  /// The message received from a partner.
  [[nodiscard]] runtime::BufferRef<const std::byte> incoming(std::size_t partner) const;
  // Copies between a message and memory of the rank's own device. CUDA does not capture write():
  // kernels that store to outgoing() are captured.
  void write(runtime::StreamRef stream, std::size_t partner,
             runtime::BufferRef<const std::byte> message) const;
  void read(runtime::StreamRef stream, std::size_t partner,
            runtime::BufferRef<std::byte> message) const;
  /// A whole round: write() of a message to each partner, send() and receive(). One kernel does it:
  /// no stream has to wait for another one's flag, so it takes less time than the three. Partners
  /// do this round by it, too, and it returns when they, theirs, and so on have called it. Between
  /// begin_capture() and end_capture() it makes the three calls; CUDA does not capture write().
  ///
  /// @param messages  as many as partners; the memory stays as it is until the round is done
  /// @throws InvalidInput  distributed.exchange.size_mismatch
  /// @throws  as receive
  /// @cost  one launch
  void exchange(runtime::StreamRef stream,
                std::span<const runtime::BufferRef<const std::byte>> messages) const;
  /// For graphs of work that has rounds: slots and flags are used in turns, so that captured work
  /// fits where as many rounds have been sent, modulo 4, as when it was captured.
  [[nodiscard]] int phase() const noexcept;
  // Rounds between these two are captured: they happen when replay() launches them.
  void begin_capture() const;
  void end_capture() const;
  /// Calls `launch`, which submits captured work of so many rounds, when all ranks are about to do
  /// so: partners, theirs, and so on.
  ///
  /// @throws  as receive
  void replay(int rounds, const std::function<void()>& launch) const;

  // For kernels that wait by themselves, in rounds without send() and receive(): launches that
  // replay() submits.
  /// What each partner gives when it calls this, too: the ranks of rounds are threads of one
  /// process.
  ///
  /// @throws  as receive
  [[nodiscard]] std::vector<std::shared_ptr<const void>> trade(
      std::shared_ptr<const void> own) const;
  /// A word that all devices read. It is 0 until what kernels wait for does not come any more: they
  /// then have to end.
  [[nodiscard]] runtime::BufferRef<const std::uint32_t> given_up() const;

  /// Has synchronize() of a stream, whose work waits for that of receive()'s, throw as well.
  void tell(runtime::StreamRef stream) const;

 private:
  void count(std::size_t rounds) const;

  Group group_;
  std::shared_ptr<detail::PeerRounds> rounds_;
  std::size_t sent_bytes_ = 0;
};

/// What the group's options ask for; `hosts` if the devices of the group cannot wait for each
/// other. It is the same on all ranks. Of ranks that are processes only kernels wait: it is
/// `kernels`, `measured` or `hosts`.
[[nodiscard]] Waiting waiting_of(const Group& group);
/// Whether open_rounds gives rounds: the same on all ranks.
[[nodiscard]] bool has_rounds(const Group& group);

/// Begins rounds with partners, who begin them with this rank. Nothing if the devices of the group
/// cannot wait for each other: that is the same on all ranks.
///
/// @param partners  other ranks, each once
/// @param call      what messages of errors call it
/// @throws InvalidInput  distributed.group.bad_rank; distributed.exchange.size_mismatch
[[nodiscard]] std::optional<Rounds> open_rounds(const Group& group,
                                                std::span<const Partner> partners,
                                                std::string_view call);

}  // namespace rtcg::distributed
