#include "rtcg/distributed/arrays/distributed_array.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/array_messages.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::Extents;
using arrays::Slice;
using detail::bytes_of_places;

const Extents& checked(const Extents& shape, const DistributedArrayOptions& options) {
  if (shape.empty()) {
    throw InvalidInput("distributed.arrays.shape",
                       "an array without axes cannot be distributed: its first axis is cut");
  }
  if (options.halo < 0 || options.halo > shape[0]) {
    throw InvalidInput(
        "distributed.arrays.halo",
        fmt::format("a halo of {} places around blocks of an array of {}: give 0 to {}",
                    options.halo, shape[0], shape[0]));
  }
  return shape;
}

Extents with_length(Extents shape, std::int64_t length) {
  shape[0] = length;
  return shape;
}

runtime::StreamRef stream_of(const Group& group) {
  return arrays::current_stream(group.device().default_stream());
}

// A part of a rank's halo that another one has.
struct HaloPart {
  int owner;
  std::int64_t begin;      // in the whole
  std::int64_t end;        // the place after the last one
  std::int64_t in_memory;  // its begin in the memory of a block with halo
};

// In the order of the memory.
std::vector<HaloPart> halo_parts(const Blocks& blocks, int rank,
                                 const DistributedArrayOptions& options) {
  const std::int64_t length = blocks.length();
  const std::int64_t own = blocks.begin(rank);
  std::vector<HaloPart> parts;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t at = from; at < to;) {
      const std::int64_t turn = at < 0 ? -length : at >= length ? length : 0;
      const std::int64_t place = at - turn;
      if (turn != 0 && !options.is_periodic) {
        at = turn < 0 ? 0 : to;
        continue;
      }
      const int owner = blocks.rank_of(place);
      const std::int64_t end = std::min(blocks.end(owner), place + (to - at));
      parts.push_back({owner, place, end, at - own + options.halo});
      at += end - place;
    }
  };
  if (blocks.count(rank) > 0) {
    add(own - options.halo, own);
    add(blocks.end(rank), blocks.end(rank) + options.halo);
  }
  return parts;
}

}  // namespace

DistributedArray::DistributedArray(const Group& group, arrays::DType dtype, const Extents& shape,
                                   const DistributedArrayOptions& options)
    : group_(group),
      shape_(checked(shape, options)),
      options_(options),
      blocks_(shape[0], group.size()),
      with_halo_(dtype, with_length(shape, blocks_.count(group.rank()) + 2 * options.halo),
                 stream_of(group)),
      local_(with_halo_(Slice{options.halo, options.halo + blocks_.count(group.rank())})) {
  if (options.halo > 0) {
    with_halo_.assign(0);
  }
}

DistributedArray DistributedArray::scattered(const Group& group,
                                             const std::optional<AnyArray>& whole, int root,
                                             const DistributedArrayOptions& options) {
  group.check_rank(root, "scattered");
  std::vector<std::int64_t> form;
  if (group.rank() == root) {
    if (!whole) {
      throw InvalidInput("distributed.arrays.no_whole",
                         fmt::format("rank {} has no array to be distributed: the root has to give "
                                     "one",
                                     root));
    }
    form.push_back(static_cast<std::int64_t>(whole->dtype()));
    form.insert(form.end(), whole->shape().begin(), whole->shape().end());
  }
  form = values_of<std::int64_t>(group.broadcast(bytes_of(form), root));
  const Extents shape(std::span<const std::int64_t>(form).subspan(1));
  DistributedArray result(group, static_cast<arrays::DType>(form[0]), shape, options);
  const runtime::StreamRef stream = stream_of(group);
  detail::Messages messages;
  if (group.rank() == root) {
    const AnyArray in_order = whole->contiguous();
    for (int rank = 0; rank < group.size(); ++rank) {
      messages.send(rank, bytes_of_places(in_order, result.blocks_.begin(rank),
                                          result.blocks_.end(rank), stream));
    }
  }
  const std::int64_t count = result.blocks_.count(group.rank());
  messages.receive(root, bytes_of_places(result.local_, 0, count, stream));
  messages.exchange(group, stream, "scattered");
  return result;
}

AnyArray DistributedArray::places() const {
  return arrays::arange(arrays::DType::i64, begin(), blocks_.end(group_.rank()), 1,
                        stream_of(group_));
}

void DistributedArray::update_halo() const {
  const runtime::StreamRef stream = stream_of(group_);
  const int rank = group_.rank();
  detail::Messages messages;
  for (int other = 0; other < group_.size(); ++other) {
    for (const HaloPart& part : halo_parts(blocks_, other, options_)) {
      if (part.owner == rank) {
        messages.send(other,
                      bytes_of_places(local_, part.begin - begin(), part.end - begin(), stream));
      }
    }
  }
  for (const HaloPart& part : halo_parts(blocks_, rank, options_)) {
    messages.receive(part.owner, bytes_of_places(with_halo_, part.in_memory,
                                                 part.in_memory + part.end - part.begin, stream));
  }
  messages.exchange(group_, stream, "update_halo");
}

AnyArray DistributedArray::shifted(std::int64_t distance) const {
  if (std::abs(distance) > options_.halo) {
    throw InvalidInput("distributed.arrays.halo",
                       fmt::format("elements {} places further of an array whose halo is {} wide: "
                                   "make it with .halo = {}",
                                   distance, options_.halo, std::abs(distance)));
  }
  const std::int64_t first = options_.halo + distance;
  return with_halo_(Slice{first, first + blocks_.count(group_.rank())});
}

AnyArray DistributedArray::gathered(int root) const {
  group_.check_rank(root, "gathered");
  const runtime::StreamRef stream = stream_of(group_);
  const bool is_root = group_.rank() == root;
  AnyArray whole(dtype(), with_length(shape_, is_root ? shape_[0] : 0), stream);
  detail::Messages messages;
  for (int rank = 0; is_root && rank < group_.size(); ++rank) {
    messages.receive(rank, bytes_of_places(whole, blocks_.begin(rank), blocks_.end(rank), stream));
  }
  messages.send(root, bytes_of_places(local_, 0, blocks_.count(group_.rank()), stream));
  messages.exchange(group_, stream, "gathered");
  return whole;
}

}  // namespace rtcg::distributed
