#include "rtcg/distributed/collectives/collectives.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/collectives/reduce_parts.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::distributed::detail {
namespace {

using runtime::BufferRef;
using runtime::StreamRef;
using Bytes = BufferRef<std::byte>;
using ConstBytes = BufferRef<const std::byte>;

// Longer arrays are reduced in parts: the bytes that all_gather moves grow with the number of
// ranks.
constexpr std::size_t longest_whole_bytes = 32768;

void check_parts(std::string_view call, const Group& group, std::size_t whole, std::size_t part) {
  if (whole != part * static_cast<std::size_t>(group.size())) {
    throw InvalidInput(
        "distributed.collectives.count",
        fmt::format("{}: {} bytes are not {} parts of {} bytes", call, whole, group.size(), part));
  }
}

Bytes part_of(const Bytes& whole, std::size_t part, int rank) {
  return whole.subrange(static_cast<std::size_t>(rank) * part, part);
}
ConstBytes part_of(const ConstBytes& whole, std::size_t part, int rank) {
  return whole.subrange(static_cast<std::size_t>(rank) * part, part);
}

// The part of `elements` that a rank combines.
struct Share {
  std::size_t first;
  std::size_t count;
};
Share share_of(std::size_t elements, int rank, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  const auto begin = [&](std::size_t each) { return elements * each / ranks; };
  const auto r = static_cast<std::size_t>(rank);
  return {begin(r), begin(r + 1) - begin(r)};
}

// Each rank combines its share of the elements.
void reduce_by_shares(const Group& group, StreamRef stream, const Bytes& values, NumberKind kind,
                      Operation operation) {
  const std::size_t number = size_bytes(kind);
  const std::size_t elements = values.count() / number;
  const auto share = [&](int rank) {
    const Share each = share_of(elements, rank, group.size());
    return values.subrange(each.first * number, each.count * number);
  };
  const Bytes mine = share(group.rank());
  Workspace& workspace = group.state().workspace;
  const Bytes parts = workspace.on(stream, mine.count() * static_cast<std::size_t>(group.size()));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int rank = 0; rank < group.size(); ++rank) {
    sends.push_back({rank, share(rank)});
    receives.push_back({rank, part_of(parts, mine.count(), rank)});
  }
  group.exchange(stream, sends, receives, "all_reduce");
  reduce_parts(group, stream, parts, mine, kind, operation);
  workspace.done(stream);
  sends.clear();
  receives.clear();
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != group.rank()) {
      sends.push_back({rank, mine});
      receives.push_back({rank, share(rank)});
    }
  }
  group.exchange(stream, sends, receives, "all_reduce");
}

// Those of short arrays; null: the ranks' devices do not wait for each other.
PeerRounds* reduction_rounds(const Group& group) {
  GroupState& state = group.state();
  if (!state.has_tried_rounds) {
    state.has_tried_rounds = true;
    if (auto* const transport = dynamic_cast<RoundsTransport*>(state.transport.get())) {
      std::vector<Partner> partners;
      for (int rank = 0; rank < group.size(); ++rank) {
        if (rank != group.rank()) {
          partners.push_back({rank, longest_whole_bytes, longest_whole_bytes});
        }
      }
      state.reduction_rounds = transport->open_rounds("all_reduce", partners);
    }
  }
  return state.reduction_rounds.get();
}

// Each rank writes its values into the memory of all others, and combines what it has got.
void reduce_by_rounds(const Group& group, PeerRounds& rounds, StreamRef stream, const Bytes& values,
                      NumberKind kind, Operation operation) {
  rounds.follow(stream);
  reduce_in_one_launch(group, rounds, stream, values, kind, operation);
  group.state().traffic.messages += rounds.partners();
  group.state().traffic.bytes += rounds.partners() * values.count();
}

}  // namespace

void all_reduce(const Group& group, StreamRef stream, Bytes values, NumberKind kind,
                Operation operation) {
  if (group.size() == 1 || values.count() == 0) {
    return;
  }
  if (values.count() > longest_whole_bytes) {
    reduce_by_shares(group, stream, values, kind, operation);
    return;
  }
  if (PeerRounds* const rounds = reduction_rounds(group)) {
    reduce_by_rounds(group, *rounds, stream, values, kind, operation);
    return;
  }
  Workspace& workspace = group.state().workspace;
  const Bytes parts = workspace.on(stream, values.count() * static_cast<std::size_t>(group.size()));
  all_gather(group, stream, values, parts);
  reduce_parts(group, stream, parts, values, kind, operation);
  workspace.done(stream);
}

void broadcast(const Group& group, StreamRef stream, Bytes values, int root) {
  group.check_rank(root, "broadcast");
  const int size = group.size();
  const int place = (group.rank() - root + size) % size;  // in a tree whose root has place 0
  int step = 1;
  while (step < size && place % (2 * step) == 0) {
    step *= 2;
  }
  if (place != 0) {
    group.exchange(stream, {}, std::vector<Receive>{{(place - step + root) % size, values}},
                   "broadcast");
  }
  std::vector<Send> sends;
  while (step > 1) {
    step /= 2;
    if (place + step < size) {
      sends.push_back({(place + step + root) % size, values});
    }
  }
  group.exchange(stream, sends, {}, "broadcast");
}

void gather(const Group& group, StreamRef stream, ConstBytes mine, Bytes all, int root) {
  group.check_rank(root, "gather");
  std::vector<Receive> receives;
  if (group.rank() == root) {
    check_parts("gather", group, all.count(), mine.count());
    for (int rank = 0; rank < group.size(); ++rank) {
      receives.push_back({rank, part_of(all, mine.count(), rank)});
    }
  }
  group.exchange(stream, std::vector<Send>{{root, mine}}, receives, "gather");
}

void scatter(const Group& group, StreamRef stream, ConstBytes all, Bytes mine, int root) {
  group.check_rank(root, "scatter");
  std::vector<Send> sends;
  if (group.rank() == root) {
    check_parts("scatter", group, all.count(), mine.count());
    for (int rank = 0; rank < group.size(); ++rank) {
      sends.push_back({rank, part_of(all, mine.count(), rank)});
    }
  }
  group.exchange(stream, sends, std::vector<Receive>{{root, mine}}, "scatter");
}

void all_gather(const Group& group, StreamRef stream, ConstBytes mine, Bytes all) {
  check_parts("all_gather", group, all.count(), mine.count());
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int rank = 0; rank < group.size(); ++rank) {
    sends.push_back({rank, mine});
    receives.push_back({rank, part_of(all, mine.count(), rank)});
  }
  group.exchange(stream, sends, receives, "all_gather");
}

void all_to_all(const Group& group, StreamRef stream, ConstBytes sent, Bytes received) {
  const std::size_t part = sent.count() / static_cast<std::size_t>(group.size());
  check_parts("all_to_all", group, sent.count(), part);
  check_parts("all_to_all", group, received.count(), part);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int rank = 0; rank < group.size(); ++rank) {
    sends.push_back({rank, part_of(sent, part, rank)});
    receives.push_back({rank, part_of(received, part, rank)});
  }
  group.exchange(stream, sends, receives, "all_to_all");
}

}  // namespace rtcg::distributed::detail
