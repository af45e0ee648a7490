#include "rtcg/distributed/group/rounds.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/round_kernel.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::distributed {

Rounds::Rounds(Group group, std::shared_ptr<detail::PeerRounds> rounds, std::size_t sent_bytes)
    : group_(std::move(group)), rounds_(std::move(rounds)), sent_bytes_(sent_bytes) {}
Rounds::~Rounds() = default;
Rounds::Rounds(Rounds&&) noexcept = default;
Rounds& Rounds::operator=(Rounds&&) noexcept = default;

std::size_t Rounds::partners() const noexcept {
  return rounds_->partners();
}
runtime::BufferRef<std::byte> Rounds::outgoing(std::size_t partner) const {
  return rounds_->outgoing(partner);
}
void Rounds::send(runtime::StreamRef stream) const {
  rounds_->send(stream);
  if (!rounds_->is_captured()) {
    count(1);
  }
}
void Rounds::receive(runtime::StreamRef stream) const {
  rounds_->receive(stream);
}
runtime::BufferRef<const std::byte> Rounds::incoming(std::size_t partner) const {
  return rounds_->incoming(partner);
}
void Rounds::write(runtime::StreamRef stream, std::size_t partner,
                   runtime::BufferRef<const std::byte> message) const {
  runtime::copy_on_device(stream, message, outgoing(partner));
}
void Rounds::read(runtime::StreamRef stream, std::size_t partner,
                  runtime::BufferRef<std::byte> message) const {
  runtime::copy_on_device(stream, incoming(partner), message);
}
void Rounds::exchange(runtime::StreamRef stream,
                      std::span<const runtime::BufferRef<const std::byte>> messages) const {
  bool fits = messages.size() == partners();
  for (std::size_t i = 0; fits && i < messages.size(); ++i) {
    fits = messages[i].count() == outgoing(i).count();
  }
  if (!fits) {
    throw InvalidInput("distributed.exchange.size_mismatch",
                       fmt::format("exchange() takes a message for each of {} partners, as long as "
                                   "the rounds were opened with; found {} messages",
                                   partners(), messages.size()));
  }
  if (rounds_->is_captured()) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      write(stream, i, messages[i]);
    }
    send(stream);
    receive(stream);
    return;
  }
  rounds_->tell(stream);
  detail::exchange_in_one_launch(group_, *rounds_, stream, messages);
  count(1);
}
int Rounds::phase() const noexcept {
  return rounds_->phase();
}
void Rounds::begin_capture() const {
  rounds_->begin_capture();
}
void Rounds::end_capture() const {
  rounds_->end_capture();
}
void Rounds::replay(int rounds, const std::function<void()>& launch) const {
  rounds_->replay(rounds, launch);
  count(static_cast<std::size_t>(rounds));
}
std::vector<std::shared_ptr<const void>> Rounds::trade(std::shared_ptr<const void> own) const {
  return rounds_->trade(std::move(own));
}
runtime::BufferRef<const std::uint32_t> Rounds::given_up() const {
  return rounds_->given_up();
}
void Rounds::count(std::size_t rounds) const {
  group_.state().traffic.messages += rounds * rounds_->partners();
  group_.state().traffic.bytes += rounds * sent_bytes_;
}
void Rounds::tell(runtime::StreamRef stream) const {
  rounds_->tell(stream);
}

Waiting waiting_of(const Group& group) {
  Transport* const transport = group.state().transport.get();
  if (auto* const processes = dynamic_cast<detail::ProcessTransport*>(transport)) {
    return processes->waiting_of_kernels();
  }
  auto* const threads = dynamic_cast<detail::RoundsTransport*>(transport);
  return threads == nullptr ? Waiting::hosts : threads->waiting();
}

bool has_rounds(const Group& group) {
  auto* const transport = dynamic_cast<detail::RoundsTransport*>(group.state().transport.get());
  return transport != nullptr && transport->waiting() != Waiting::hosts;
}

std::optional<Rounds> open_rounds(const Group& group, std::span<const Partner> partners,
                                  std::string_view call) {
  std::size_t sent_bytes = 0;
  for (const Partner& each : partners) {
    group.check_rank(each.rank, call);
    sent_bytes += each.sent_bytes;
  }
  auto* const transport = dynamic_cast<detail::RoundsTransport*>(group.state().transport.get());
  std::shared_ptr<detail::PeerRounds> rounds =
      transport == nullptr ? nullptr : transport->open_rounds(call, partners);
  if (rounds == nullptr) {
    return std::nullopt;
  }
  return Rounds(group, std::move(rounds), sent_bytes);
}

}  // namespace rtcg::distributed
