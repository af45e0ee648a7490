#include "rtcg/distributed/group/group.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::distributed {

namespace detail {

runtime::BufferRef<std::byte> Workspace::on(runtime::StreamRef stream, std::size_t bytes) {
  if (free_) {
    stream.wait(*free_);
  }
  if (!memory_ || memory_->count() < bytes) {
    if (free_) {
      free_->synchronize();
    }
    memory_.reset();
    memory_.emplace(stream.device(), bytes);
  }
  return memory_->subrange(0, bytes);
}

void Workspace::done(runtime::StreamRef stream) {
  if (!free_) {
    free_.emplace(stream.device(), runtime::EventOptions{.with_timing = false});
  }
  stream.record(*free_);
}

}  // namespace detail

namespace {

// Messages of this rank to itself, which are matched in their order.
template <class Sent, class Received, class Copy>
void copy_own(int rank, std::span<const Sent> sends, std::span<const Received> receives,
              std::vector<Sent>& others_sends, std::vector<Received>& others_receives,
              const Copy& copy) {
  std::deque<Sent> own;
  for (const Sent& each : sends) {
    each.to == rank ? own.push_back(each) : others_sends.push_back(each);
  }
  for (const Received& each : receives) {
    if (each.from != rank) {
      others_receives.push_back(each);
      continue;
    }
    if (own.empty() || own.front().values.size_bytes() != each.values.size_bytes()) {
      throw InvalidInput(
          "distributed.exchange.size_mismatch",
          fmt::format("rank {} receives {} bytes of itself, but sends {}", rank,
                      each.values.size_bytes(), own.empty() ? 0 : own.front().values.size_bytes()));
    }
    copy(own.front(), each);
    own.pop_front();
  }
  if (!own.empty()) {
    throw InvalidInput("distributed.exchange.size_mismatch",
                       fmt::format("rank {} sends {} bytes to itself that it does not receive",
                                   rank, own.front().values.size_bytes()));
  }
}

std::vector<runtime::BufferRef<const std::byte>> received_in(std::span<const Receive> receives) {
  std::vector<runtime::BufferRef<const std::byte>> result;
  for (const Receive& each : receives) {
    result.emplace_back(each.values);
  }
  return result;
}

template <class Sent>
void count(Traffic& traffic, const std::vector<Sent>& sends) {
  for (const Sent& each : sends) {
    ++traffic.messages;
    traffic.bytes += each.values.size_bytes();
  }
}

std::span<const std::byte> as_bytes(const std::uint64_t& number) {
  return std::as_bytes(std::span<const std::uint64_t, 1>(&number, 1));
}
std::span<std::byte> as_writable_bytes(std::uint64_t& number) {
  return std::as_writable_bytes(std::span<std::uint64_t, 1>(&number, 1));
}

// Values move along a tree of ranks: those at odd multiples of 1, then of 2, of 4, ... are combined
// with their left neighbours, until rank 0 has the result, which goes back the same way.
template <class T>
T reduced(const Group& group, T value, Operation operation) {
  const int rank = group.rank();
  const int size = group.size();
  const auto bytes = std::as_writable_bytes(std::span<T, 1>(&value, 1));
  int step = 1;
  for (; step < size; step *= 2) {
    if (rank % (2 * step) != 0) {
      group.exchange(std::vector<HostSend>{{rank - step, bytes}}, {}, "all_reduce");
      group.exchange({}, std::vector<HostReceive>{{rank - step, bytes}}, "all_reduce");
      break;
    }
    if (rank + step < size) {
      T other = 0;
      const auto others = std::as_writable_bytes(std::span<T, 1>(&other, 1));
      group.exchange({}, std::vector<HostReceive>{{rank + step, others}}, "all_reduce");
      value = detail::combined(value, other, operation);
    }
  }
  while (step > 1) {
    step /= 2;
    if (rank + step < size) {
      group.exchange(std::vector<HostSend>{{rank + step, bytes}}, {}, "all_reduce");
    }
  }
  return value;
}

}  // namespace

void Transport::exchange_and_use(std::string_view call, runtime::StreamRef stream,
                                 std::span<const Send> sends, std::span<const Receive> receives,
                                 const UseOfMessages& use) {
  exchange(call, stream, sends, receives);
  use(received_in(receives));
}

Group::Group(runtime::Device device)
    : state_(std::make_shared<detail::GroupState>(detail::GroupState{nullptr, device})) {}

Group::Group(std::shared_ptr<Transport> transport)
    : state_(
          std::make_shared<detail::GroupState>(detail::GroupState{transport, transport->device()})),
      rank_(transport->rank()),
      size_(transport->size()) {}

int Group::node_rank() const {
  return state_->transport ? state_->transport->node_rank() : 0;
}
runtime::Device Group::device() const {
  return state_->device;
}
std::string Group::transport() const {
  return state_->transport ? state_->transport->name() : "one rank";
}
const Traffic& Group::traffic() const noexcept {
  return state_->traffic;
}

void Group::check_rank(int rank, std::string_view call) const {
  if (rank < 0 || rank >= size_) {
    throw InvalidInput(
        "distributed.group.bad_rank",
        fmt::format("{} names rank {}: the group has {}, counted from 0", call, rank, size_));
  }
}

void Group::exchange(runtime::StreamRef stream, std::span<const Send> sends,
                     std::span<const Receive> receives, std::string_view call) const {
  for (const Send& each : sends) {
    check_rank(each.to, call);
  }
  for (const Receive& each : receives) {
    check_rank(each.from, call);
  }
  std::vector<Send> to_others;
  std::vector<Receive> from_others;
  copy_own(rank_, sends, receives, to_others, from_others,
           [&](const Send& from, const Receive& to) {
             runtime::copy_on_device(stream, from.values, to.values);
           });
  count(state_->traffic, to_others);
  if (!to_others.empty() || !from_others.empty()) {
    state_->transport->exchange(call, stream, to_others, from_others);
  }
}

void Group::exchange_and_use(runtime::StreamRef stream, std::span<const Send> sends,
                             std::span<const Receive> receives, const UseOfMessages& use,
                             std::string_view call) const {
  const auto is_own = [&](const Receive& each) { return each.from == rank_; };
  if (size_ == 1 || std::any_of(receives.begin(), receives.end(), is_own)) {
    exchange(stream, sends, receives, call);
    use(received_in(receives));
    return;
  }
  for (const Send& each : sends) {
    check_rank(each.to, call);
  }
  for (const Receive& each : receives) {
    check_rank(each.from, call);
  }
  count(state_->traffic, std::vector<Send>(sends.begin(), sends.end()));
  state_->transport->exchange_and_use(call, stream, sends, receives, use);
}

void Group::exchange(std::span<const HostSend> sends, std::span<const HostReceive> receives,
                     std::string_view call) const {
  for (const HostSend& each : sends) {
    check_rank(each.to, call);
  }
  for (const HostReceive& each : receives) {
    check_rank(each.from, call);
  }
  std::vector<HostSend> to_others;
  std::vector<HostReceive> from_others;
  copy_own(rank_, sends, receives, to_others, from_others,
           [](const HostSend& from, const HostReceive& to) {
             std::copy(from.values.begin(), from.values.end(), to.values.begin());
           });
  count(state_->traffic, to_others);
  if (!to_others.empty() || !from_others.empty()) {
    state_->transport->exchange_on_host(call, to_others, from_others);
  }
}

void Group::barrier() const {
  static_cast<void>(reduced(*this, std::int64_t{0}, Operation::max));
}

double Group::all_reduce(double value, Operation operation) const {
  return reduced(*this, value, operation);
}
std::int64_t Group::all_reduce(std::int64_t value, Operation operation) const {
  return reduced(*this, value, operation);
}

std::vector<std::vector<std::byte>> Group::gather(std::span<const std::byte> mine, int root) const {
  check_rank(root, "gather");
  const std::uint64_t length = mine.size();
  if (rank_ != root) {
    exchange(std::vector<HostSend>{{root, as_bytes(length)}, {root, mine}}, {}, "gather");
    return {};
  }
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size_), 0);
  std::vector<std::vector<std::byte>> result(lengths.size());
  std::vector<HostReceive> receives;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    if (static_cast<int>(rank) != root) {
      receives.push_back({static_cast<int>(rank), as_writable_bytes(lengths[rank])});
    }
  }
  exchange({}, receives, "gather");
  for (HostReceive& each : receives) {
    const auto rank = static_cast<std::size_t>(each.from);
    result[rank].resize(lengths[rank]);
    each.values = result[rank];
  }
  exchange({}, receives, "gather");
  result[static_cast<std::size_t>(root)].assign(mine.begin(), mine.end());
  return result;
}

std::vector<std::vector<std::byte>> Group::all_gather(std::span<const std::byte> mine) const {
  const std::vector<std::vector<std::byte>> gathered = gather(mine, 0);
  std::vector<std::byte> all;
  std::vector<std::uint64_t> lengths;
  for (const std::vector<std::byte>& each : gathered) {
    lengths.push_back(each.size());
    all.insert(all.end(), each.begin(), each.end());
  }
  lengths = values_of<std::uint64_t>(broadcast(bytes_of(lengths), 0));
  all = broadcast(all, 0);
  std::vector<std::vector<std::byte>> result;
  auto next = all.begin();
  for (const std::uint64_t length : lengths) {
    const auto end = next + static_cast<std::ptrdiff_t>(length);
    result.emplace_back(next, end);
    next = end;
  }
  return result;
}

std::vector<std::byte> Group::broadcast(std::span<const std::byte> bytes, int root) const {
  check_rank(root, "broadcast");
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  std::uint64_t length = result.size();
  const int place = (rank_ - root + size_) % size_;  // in a tree whose root has place 0
  const auto rank_of = [&](int each) { return (each + root) % size_; };
  int step = 1;
  while (step < size_ && place % (2 * step) == 0) {
    step *= 2;
  }
  if (place != 0) {
    const int parent = rank_of(place - step);
    exchange({}, std::vector<HostReceive>{{parent, as_writable_bytes(length)}}, "broadcast");
    result.assign(length, std::byte{0});
    exchange({}, std::vector<HostReceive>{{parent, result}}, "broadcast");
  }
  std::vector<HostSend> sends;
  while (step > 1) {
    step /= 2;
    if (place + step < size_) {
      sends.push_back({rank_of(place + step), as_bytes(length)});
      sends.push_back({rank_of(place + step), result});
    }
  }
  exchange(sends, {}, "broadcast");
  return result;
}

std::string Group::broadcast(const std::string& text, int root) const {
  const std::vector<std::byte> bytes =
      broadcast(std::as_bytes(std::span<const char>(text.data(), text.size())), root);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> Group::scatter(const std::vector<std::vector<std::byte>>& parts,
                                      int root) const {
  check_rank(root, "scatter");
  if (rank_ != root) {
    std::uint64_t length = 0;
    exchange({}, std::vector<HostReceive>{{root, as_writable_bytes(length)}}, "scatter");
    std::vector<std::byte> result(length);
    exchange({}, std::vector<HostReceive>{{root, result}}, "scatter");
    return result;
  }
  if (parts.size() != static_cast<std::size_t>(size_)) {
    throw InvalidInput(
        "distributed.group.part_count",
        fmt::format("scatter has {} parts for {} ranks: give one to each", parts.size(), size_));
  }
  std::vector<std::uint64_t> lengths;
  for (const std::vector<std::byte>& each : parts) {
    lengths.push_back(each.size());
  }
  std::vector<HostSend> sends;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != root) {
      sends.push_back({rank, as_bytes(lengths[static_cast<std::size_t>(rank)])});
      sends.push_back({rank, parts[static_cast<std::size_t>(rank)]});
    }
  }
  exchange(sends, {}, "scatter");
  return parts[static_cast<std::size_t>(root)];
}

void Group::fail(const std::string& reason) const noexcept {
  if (state_->transport) {
    state_->transport->fail(reason);
  }
}

}  // namespace rtcg::distributed
