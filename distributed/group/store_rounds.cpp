#include "rtcg/distributed/group/store_rounds.h"

#include <map>
#include <utility>

#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/rounds.h"

namespace rtcg::distributed {
namespace {

constexpr std::size_t word = sizeof(std::uint32_t);

/// All ranks have one space of addresses.
class StoresOfThreads final : public StoreRounds {
 public:
  StoresOfThreads(Rounds rounds, int rank, std::span<const int> partners)
      : rank_(rank), partners_(partners.begin(), partners.end()), rounds_(std::move(rounds)) {}

  [[nodiscard]] std::optional<std::vector<Given>> trade(
      std::span<const std::vector<std::byte>> texts,
      std::span<const runtime::BufferRef<std::byte>> memory,
      std::shared_ptr<const void> owner) override {
    auto own = std::make_shared<Shared>();
    own->memory.assign(memory.begin(), memory.end());
    own->owner = std::move(owner);
    for (std::size_t i = 0; i < partners_.size(); ++i) {
      own->texts[partners_[i]] = texts[i];
    }
    std::vector<Given> result;
    for (const std::shared_ptr<const void>& each : rounds_.trade(std::move(own))) {
      const auto theirs = std::static_pointer_cast<const Shared>(each);
      result.push_back({theirs->texts.at(rank_), theirs->memory});
      theirs_.push_back(theirs);
    }
    return result;
  }
  [[nodiscard]] runtime::BufferRef<const std::uint32_t> given_up() const override {
    return rounds_.given_up();
  }
  void tell(runtime::StreamRef stream) override { rounds_.tell(stream); }
  void begin_capture() override { rounds_.begin_capture(); }
  void end_capture() override { rounds_.end_capture(); }
  void replay(int rounds, const std::function<void()>& launch) override {
    rounds_.replay(rounds, launch);
  }

 private:
  struct Shared {
    std::map<int, std::vector<std::byte>> texts;  ///< by partner
    std::vector<runtime::BufferRef<std::byte>> memory;
    std::shared_ptr<const void> owner;
  };

  int rank_;
  std::vector<int> partners_;
  std::vector<std::shared_ptr<const Shared>> theirs_;
  Rounds rounds_;  ///< ends first: its work uses what is above
};

class StoresOfProcesses final : public StoreRounds {
 public:
  StoresOfProcesses(Group group, std::shared_ptr<detail::ProcessRounds> rounds)
      : group_(std::move(group)), rounds_(std::move(rounds)) {}

  [[nodiscard]] std::optional<std::vector<Given>> trade(
      std::span<const std::vector<std::byte>> texts,
      std::span<const runtime::BufferRef<std::byte>> memory,
      std::shared_ptr<const void> owner) override {
    auto theirs = rounds_->trade(*group_.state().transport, texts, memory, std::move(owner));
    if (!theirs) {
      return std::nullopt;
    }
    std::vector<Given> result;
    for (detail::ProcessRounds::Given& each : *theirs) {
      result.push_back({std::move(each.text), std::move(each.memory)});
    }
    return result;
  }
  [[nodiscard]] runtime::BufferRef<const std::uint32_t> given_up() const override {
    return rounds_->given_up();
  }
  void tell(runtime::StreamRef stream) override { rounds_->tell(stream); }
  // Captured work is counted when it is launched: nothing else depends on the number of a round.
  void begin_capture() override {}
  void end_capture() override {}
  void replay(int rounds, const std::function<void()>& launch) override {
    rounds_->replay(rounds, launch);
    const std::size_t messages = static_cast<std::size_t>(rounds) * rounds_->partners();
    group_.state().traffic.messages += messages;
    group_.state().traffic.bytes += messages * word;
  }

 private:
  Group group_;
  std::shared_ptr<detail::ProcessRounds> rounds_;
};

detail::ProcessTransport* processes_of(const Group& group) {
  return dynamic_cast<detail::ProcessTransport*>(group.state().transport.get());
}

}  // namespace

std::unique_ptr<StoreRounds> open_store_rounds(const Group& group, std::span<const int> partners,
                                               std::string_view call) {
  for (const int each : partners) {
    group.check_rank(each, call);
  }
  if (stores_between_processes(group)) {
    return std::make_unique<StoresOfProcesses>(
        group, processes_of(group)->open_process_rounds(call, partners));
  }
  std::vector<Partner> ends;
  for (const int each : partners) {
    ends.push_back({each, word, word});
  }
  std::optional<Rounds> rounds = open_rounds(group, ends, call);
  return rounds ? std::make_unique<StoresOfThreads>(*std::move(rounds), group.rank(), partners)
                : nullptr;
}

bool stores_between_processes(const Group& group) {
  detail::ProcessTransport* const transport = processes_of(group);
  return transport != nullptr && transport->waiting_of_kernels() != Waiting::hosts;
}

}  // namespace rtcg::distributed
