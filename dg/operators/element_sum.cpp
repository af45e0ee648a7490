#include "rtcg/dg/operators/element_sum.h"

#include <algorithm>
#include <numeric>

#include "rtcg/arrays/create/indexing.h"
#include "rtcg/dg/operators/rank_exchange.h"
#include "rtcg/distributed/arrays/array_messages.h"
#include "rtcg/distributed/arrays/reductions.h"

namespace rtcg::dg::detail {
namespace {

using arrays::AnyArray;
using arrays::Extents;
using distributed::Blocks;
using distributed::Group;

std::vector<std::int64_t> own_places(const Discretization& on) {
  std::vector<std::int64_t> places(on.element_count());
  if (on.part) {
    std::copy_n(on.part->places.begin(), places.size(), places.begin());
  } else {
    std::iota(places.begin(), places.end(), 0);
  }
  return places;
}

// Whether the elements are the block of the rank, one after the other.
bool is_block(const std::vector<std::int64_t>& places, const Blocks& blocks, int rank) {
  bool result = static_cast<std::int64_t>(places.size()) == blocks.count(rank);
  for (std::size_t i = 0; result && i < places.size(); ++i) {
    result = places[i] == blocks.begin(rank) + static_cast<std::int64_t>(i);
  }
  return result;
}

}  // namespace

ElementSum::ElementSum(const Discretization& on, runtime::StreamRef stream, arrays::DType dtype)
    : stream_(stream),
      ordered_(group_of(on, stream.device()), dtype,
               Extents{static_cast<std::int64_t>(whole_element_count(on))}),
      terms_(ordered_.local()) {
  const Group& group = ordered_.group();
  const Blocks& blocks = ordered_.blocks();
  const std::vector<std::int64_t> places = own_places(on);
  is_in_order_ = group.all_reduce(std::int64_t{is_block(places, blocks, group.rank()) ? 1 : 0},
                                  distributed::Operation::min) == 1;
  if (is_in_order_) {
    return;
  }
  terms_ = AnyArray(dtype, Extents{static_cast<std::int64_t>(places.size())}, stream);
  // by the ranks that have the places
  std::vector<std::int64_t> of_sent(places.size());
  std::iota(of_sent.begin(), of_sent.end(), 0);
  const auto owner_of = [&](std::int64_t term) {
    return blocks.rank_of(places[static_cast<std::size_t>(term)]);
  };
  std::stable_sort(of_sent.begin(), of_sent.end(),
                   [&](std::int64_t a, std::int64_t b) { return owner_of(a) < owner_of(b); });
  std::vector<std::vector<std::int64_t>> places_to(static_cast<std::size_t>(group.size()));
  for (const std::int64_t term : of_sent) {
    places_to[static_cast<std::size_t>(owner_of(term))].push_back(
        places[static_cast<std::size_t>(term)]);
  }
  const auto add = [](std::vector<Section>& sections, int rank, std::size_t count) {
    const std::int64_t begin = sections.empty() ? 0 : sections.back().end;
    sections.push_back({rank, begin, begin + static_cast<std::int64_t>(count)});
  };
  for (int rank = 0; rank < group.size(); ++rank) {
    add(sent_, rank, places_to[static_cast<std::size_t>(rank)].size());
  }
  // what comes from where
  std::vector<std::int64_t> of_places(static_cast<std::size_t>(blocks.count(group.rank())));
  std::int64_t number = 0;
  for (int root = 0; root < group.size(); ++root) {
    std::vector<std::vector<std::byte>> parts;
    for (const std::vector<std::int64_t>& each : places_to) {
      const std::span<const std::byte> bytes = distributed::bytes_of(each);
      parts.emplace_back(bytes.begin(), bytes.end());
    }
    const std::vector<std::int64_t> theirs =
        distributed::values_of<std::int64_t>(group.scatter(parts, root));
    add(received_, root, theirs.size());
    for (const std::int64_t place : theirs) {
      of_places[static_cast<std::size_t>(place - blocks.begin(group.rank()))] = number++;
    }
  }
  of_sent_.emplace(arrays::Array<std::int64_t>(of_sent, stream).any());
  of_places_.emplace(arrays::Array<std::int64_t>(of_places, stream).any());
}

void ElementSum::put_in_order() const {
  const AnyArray sent(terms_.dtype(), of_sent_->shape(), stream_);
  const AnyArray received(terms_.dtype(), of_places_->shape(), stream_);
  if (sent.count() > 0) {
    sent.assign(arrays::take(terms_, *of_sent_, 0));
  }
  distributed::detail::Messages messages;
  for (const Section& each : sent_) {
    messages.send(each.rank,
                  distributed::detail::bytes_of_places(sent, each.begin, each.end, stream_));
  }
  for (const Section& each : received_) {
    messages.receive(each.rank,
                     distributed::detail::bytes_of_places(received, each.begin, each.end, stream_));
  }
  messages.exchange(ordered_.group(), stream_, "sum over elements");
  if (received.count() > 0) {
    ordered_.assign(arrays::take(received, *of_places_, 0));
  }
}

void ElementSum::sum_into(const AnyArray& result) const {
  if (!is_in_order_) {
    put_in_order();
  }
  distributed::sum_into(ordered_, result);
}

}  // namespace rtcg::dg::detail
