#include "rtcg/distributed/arrays/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/array_messages.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;

/// Whole numbers in the order of keys.
template <class Key>
struct Codes {
  using Code = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Code sign = Code{1} << (8 * sizeof(Key) - 1);

  static Code of(Key key) {
    const Code bits = std::bit_cast<Code>(key);
    if constexpr (std::is_integral_v<Key>) {
      return bits ^ sign;
    } else {
      return (bits & sign) != 0 ? ~bits : bits | sign;
    }
  }
  static Key key_of(Code code) {
    if constexpr (std::is_integral_v<Key>) {
      return std::bit_cast<Key>(static_cast<Code>(code ^ sign));
    } else {
      return code > of(std::numeric_limits<Key>::infinity())
                 ? std::numeric_limits<Key>::quiet_NaN()
                 : std::bit_cast<Key>(static_cast<Code>((code & sign) != 0 ? code ^ sign : ~code));
    }
  }
  static Code least() {
    if constexpr (std::is_integral_v<Key>) {
      return 0;
    } else {
      return of(-std::numeric_limits<Key>::infinity());
    }
  }
  /// Of floating types, the one after infinity is that of all NaNs.
  static Code greatest() {
    if constexpr (std::is_integral_v<Key>) {
      return std::numeric_limits<Code>::max();
    } else {
      return static_cast<Code>(of(std::numeric_limits<Key>::infinity()) + 1);
    }
  }
};

/// By rank, for each of the values: how many keys of the rank's sorted block come before them, or
/// are not after them.
template <class Key>
std::vector<std::vector<std::int64_t>> counts_of_ranks(const Group& group, const AnyArray& sorted,
                                                       const std::vector<Key>& values,
                                                       arrays::SearchSide side) {
  const std::vector<std::int64_t> own =
      sorted.count() == 0
          ? std::vector<std::int64_t>(values.size(), 0)
          : arrays::searchsorted(sorted, arrays::Array<Key>(values), side).to_vector();
  std::vector<std::vector<std::int64_t>> result;
  for (const std::vector<std::byte>& each : group.all_gather(bytes_of(own))) {
    result.push_back(values_of<std::int64_t>(each));
  }
  return result;
}

/// By rank: where its sorted block is cut for the blocks of the result, one more than there are.
/// Equal keys go to earlier blocks from earlier ranks.
template <class Key>
std::vector<std::vector<std::int64_t>> cuts_of_ranks(const Group& group, const Blocks& blocks,
                                                     const AnyArray& sorted) {
  using Numbers = Codes<Key>;
  using Code = typename Numbers::Code;
  const auto ranks = static_cast<std::size_t>(group.size());
  // the code of the first key of each block: that which fewer keys are before than it has places
  std::vector<Code> low(ranks - 1, Numbers::least());
  std::vector<Code> high(ranks - 1, Numbers::greatest());
  std::vector<Key> keys(ranks - 1);
  const auto middle = [&](std::size_t cut) {
    return static_cast<Code>(low[cut] + (high[cut] - low[cut]) / 2);
  };
  while (low != high) {
    for (std::size_t cut = 0; cut + 1 < ranks; ++cut) {
      keys[cut] = Numbers::key_of(middle(cut));
    }
    const auto counts = counts_of_ranks(group, sorted, keys, arrays::SearchSide::right);
    for (std::size_t cut = 0; cut + 1 < ranks; ++cut) {
      std::int64_t below = 0;
      for (const std::vector<std::int64_t>& each : counts) {
        below += each[cut];
      }
      if (below > blocks.begin(static_cast<int>(cut) + 1)) {
        high[cut] = middle(cut);
      } else if (low[cut] != high[cut]) {
        low[cut] = static_cast<Code>(middle(cut) + 1);
      }
    }
  }
  for (std::size_t cut = 0; cut + 1 < ranks; ++cut) {
    keys[cut] = Numbers::key_of(low[cut]);
  }
  const auto before = counts_of_ranks(group, sorted, keys, arrays::SearchSide::left);
  const auto through = counts_of_ranks(group, sorted, keys, arrays::SearchSide::right);
  std::vector<std::vector<std::int64_t>> cuts(ranks, std::vector<std::int64_t>(ranks + 1, 0));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    cuts[rank][ranks] = blocks.count(static_cast<int>(rank));
  }
  for (std::size_t cut = 0; cut + 1 < ranks; ++cut) {
    std::int64_t rest = blocks.begin(static_cast<int>(cut) + 1);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      rest -= before[rank][cut];
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t equal =
          std::clamp<std::int64_t>(rest, 0, through[rank][cut] - before[rank][cut]);
      cuts[rank][cut + 1] = before[rank][cut] + equal;
      rest -= equal;
    }
  }
  return cuts;
}

std::vector<std::vector<std::int64_t>> cuts_of_ranks(const Group& group, const Blocks& blocks,
                                                     const AnyArray& sorted) {
  switch (sorted.dtype()) {
    case DType::f32:
      return cuts_of_ranks<float>(group, blocks, sorted);
    case DType::f64:
      return cuts_of_ranks<double>(group, blocks, sorted);
    case DType::i32:
      return cuts_of_ranks<std::int32_t>(group, blocks, sorted);
    default:
      return cuts_of_ranks<std::int64_t>(group, blocks, sorted);
  }
}

void check_keys(const DistributedArray& keys, const std::vector<DistributedArray>& values) {
  const DType dtype = keys.dtype();
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64) {
    throw InvalidInput("distributed.arrays.dtype",
                       fmt::format("a sort over ranks by keys of {}: they are of f32, f64, i32 or "
                                   "i64, convert them before",
                                   name(dtype)));
  }
  const auto refuse = [](const std::string& found) {
    throw InvalidInput("distributed.arrays.shape", "a sort over ranks by " + found);
  };
  if (keys.shape().size() != 1) {
    refuse(fmt::format("keys of shape {}: they have one axis", to_string(keys.shape())));
  }
  for (const DistributedArray& each : values) {
    if (each.shape()[0] != keys.shape()[0]) {
      refuse(fmt::format("{} keys of values of shape {}: there is a key for each", keys.shape()[0],
                         to_string(each.shape())));
    }
  }
}

arrays::SortedPairs sorted_block(const AnyArray& keys, const std::vector<AnyArray>& values) {
  return keys.count() == 0 ? arrays::SortedPairs{keys, values} : arrays::sort_by_key(keys, values);
}

}  // namespace

SortedBlocks sort_by_key(const DistributedArray& keys,
                         const std::vector<DistributedArray>& values) {
  check_keys(keys, values);
  const Group& group = keys.group();
  const Blocks& blocks = keys.blocks();
  const auto rank = static_cast<std::size_t>(group.rank());
  const runtime::StreamRef stream = arrays::current_stream(keys.local().stream());
  const arrays::StreamScope scope(stream);
  std::vector<AnyArray> own;
  std::vector<AnyArray> received = {AnyArray(keys.dtype(), keys.local().shape(), stream)};
  SortedBlocks result{DistributedArray(group, keys.dtype(), keys.shape()), {}};
  for (const DistributedArray& each : values) {
    own.push_back(each.local());
    received.emplace_back(each.dtype(), each.local().shape(), stream);
    result.values.emplace_back(group, each.dtype(), each.shape());
  }
  arrays::SortedPairs sorted = sorted_block(keys.local(), own);
  const auto cuts = cuts_of_ranks(group, blocks, sorted.keys);
  sorted.values.insert(sorted.values.begin(), sorted.keys);
  for (AnyArray& each : sorted.values) {
    each = each.contiguous();
  }
  detail::Messages messages;
  for (std::size_t array = 0; array < received.size(); ++array) {
    std::int64_t at = 0;
    for (std::size_t other = 0; other < cuts.size(); ++other) {
      messages.send(static_cast<int>(other),
                    detail::bytes_of_places(sorted.values[array], cuts[rank][other],
                                            cuts[rank][other + 1], stream));
      const std::int64_t count = cuts[other][rank + 1] - cuts[other][rank];
      messages.receive(static_cast<int>(other),
                       detail::bytes_of_places(received[array], at, at + count, stream));
      at += count;
    }
  }
  messages.exchange(group, stream, "sort");
  // runs of the ranks, in their order, so a stable sort keeps the order of equal keys
  const arrays::SortedPairs merged =
      sorted_block(received.front(), {received.begin() + 1, received.end()});
  result.keys.assign(merged.keys);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.values[i].assign(merged.values[i]);
  }
  return result;
}

DistributedArray sort(const DistributedArray& keys) {
  return sort_by_key(keys, {}).keys;
}

}  // namespace rtcg::distributed
