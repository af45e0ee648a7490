#include "rtcg/arrays/lazy/reduction_meeting.h"

#include <algorithm>

#include "rtcg/cgen/ast/compare.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

constexpr int warp_lanes = 32;

/// As memory holds a part.
cgen::Type kept_type(const ReductionPart& part) {
  return part.type == cgen::boolean ? cgen::u8 : part.type;
}

Expr to_kept(const Expr& value, const ReductionPart& part) {
  return part.type == cgen::boolean ? cast(cgen::u8, value) : value;
}

Expr from_kept(const Expr& value, const ReductionPart& part) {
  return part.type == cgen::boolean ? not_equal(value, 0) : value;
}

bool can_be_shuffled(const ReductionPart& part) {
  const auto kind = cgen::scalar_kind(part.type);
  return kind && *kind != cgen::ScalarKind::f16 && *kind != cgen::ScalarKind::bf16;
}

Expr shuffled(const Expr& value, int distance, const ReductionPart& part) {
  const bool is_small = cgen::size_bytes(*cgen::scalar_kind(part.type)) < 4;
  const Expr moved = call(cgen::Intrinsic::shuffle_down,
                          {is_small ? cast(cgen::i32, value) : value, Expr(distance)});
  if (part.type == cgen::boolean) {
    return not_equal(moved, 0);
  }
  return is_small ? cast(part.type, moved) : moved;
}

}  // namespace

SharedStates::SharedStates(const std::vector<ReductionPart>& parts, int count,
                           const KernelParameters& parameters, cgen::BlockBuilder& body) {
  for (const ReductionPart& part : parts) {
    is_boolean_.push_back(part.type == cgen::boolean);
    arrays_.push_back(body.add(
        cgen::shared_array(kept_type(part), parameters.rename("all" + part.suffix), {count})));
  }
}

void SharedStates::put(const Expr& at, const ReductionState& state,
                       cgen::BlockBuilder& body) const {
  for (std::size_t part = 0; part < arrays_.size(); ++part) {
    body << assign(arrays_[part][at],
                   is_boolean_[part] ? cast(cgen::u8, state[part]) : state[part]);
  }
}

ReductionState SharedStates::get(const Expr& at) const {
  ReductionState state;
  for (std::size_t part = 0; part < arrays_.size(); ++part) {
    const Expr value = arrays_[part][at];
    state.push_back(is_boolean_[part] ? not_equal(value, 0) : value);
  }
  return state;
}

BlockMeeting::BlockMeeting(cgen::Dialect dialect, const Reducer& reducer,
                           const KernelParameters& parameters, cgen::BlockBuilder& body)
    : reducer_(reducer),
      parameters_(parameters),
      parts_(reducer.parts()),
      threads_(block_threads(dialect)),
      has_shuffles_(dialect == cgen::Dialect::cuda &&
                    std::all_of(parts_.begin(), parts_.end(), can_be_shuffled)),
      shared_(parts_, has_shuffles_ ? threads_ / warp_lanes : threads_, parameters, body) {}

void BlockMeeting::emit_shuffles(const ReductionState& mine, int lanes,
                                 cgen::BlockBuilder& body) const {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    cgen::BlockBuilder step;
    ReductionState other;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      other.push_back(step.add(cgen::declare(cgen::const_(parts_[part].type),
                                             parameters_.rename("other" + parts_[part].suffix),
                                             shuffled(mine[part], distance, parts_[part]))));
    }
    reducer_.combine(mine, other, step);
    body << step.block();
  }
}

void BlockMeeting::emit(const ReductionState& mine, const Expr& thread,
                        cgen::BlockBuilder& body) const {
  if (!has_shuffles_) {
    shared_.put(thread, mine, body);
    for (int half = threads_ / 2; half > 0; half /= 2) {
      body << cgen::barrier();
      cgen::BlockBuilder step;
      reducer_.combine(mine, shared_.get(thread + parameters_.index(half)), step);
      shared_.put(thread, mine, step);
      body << if_(thread < parameters_.index(half), step);
    }
    return;
  }
  emit_shuffles(mine, warp_lanes, body);
  const Expr lanes = parameters_.index(warp_lanes);
  cgen::BlockBuilder put;
  shared_.put(thread / lanes, mine, put);
  body << if_(equal(thread % lanes, parameters_.index(0)), put) << cgen::barrier();
  const int warps = threads_ / warp_lanes;
  cgen::BlockBuilder first_warp;
  // all lanes take part in the shuffles; what those behind the warps' states hold counts for nobody
  const ReductionState of_warp = shared_.get(thread % parameters_.index(warps));
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    first_warp << assign(mine[part], of_warp[part]);
  }
  emit_shuffles(mine, warps, first_warp);
  body << if_(thread < lanes, first_warp);
}

SegmentMeeting::SegmentMeeting(const std::vector<ReductionPart>& parts,
                               KernelParameters& parameters)
    : parameters_(parameters), parts_(parts), tickets_(0) {
  const auto add_pointer = [&](const cgen::Type& type, const std::string& name) {
    return parameters.add(cgen::pointer_to(cgen::in_space(cgen::AddressSpace::global, type)),
                          parameters.rename(name));
  };
  for (const ReductionPart& part : parts_) {
    // volatile: other blocks write them, and what this one may have cached is old
    segments_.push_back(
        add_pointer(cgen::volatile_(kept_type(part)), "segment_results" + part.suffix));
  }
  tickets_ = add_pointer(cgen::u32, "tickets");
}

void SegmentMeeting::emit(
    const ReductionState& mine, const Expr& output, const Expr& outputs, const Expr& thread,
    const BlockMeeting& meeting,
    const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
    cgen::BlockBuilder& body) const {
  const cgen::Type& type = parameters_.index_type();
  const Expr is_first_thread = equal(thread, parameters_.index(0));
  const Expr is_last =
      body.add(cgen::shared_array(cgen::u32, parameters_.rename("is_last"), {Expr(1)}));
  const Expr segments = parameters_.declare_index("segments", cast(type, cgen::grid_dim_y), body);
  cgen::BlockBuilder hand_in;
  const Expr at = cast(type, cgen::block_idx_y) * outputs + output;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    hand_in << assign(segments_[part][at], to_kept(mine[part], parts_[part]));
  }
  const Expr ticket =
      call(cgen::Intrinsic::atomic_add, {address_of(tickets_[output]), literal(1, cgen::u32)});
  hand_in << cgen::Statement(cgen::MemoryFence{cgen::FenceScope::device})
          << assign(is_last[Expr(0)],
                    cast(cgen::u32, equal(ticket, cgen::grid_dim_y - literal(1, cgen::u32))));
  body << if_(is_first_thread, hand_in) << cgen::barrier();

  cgen::BlockBuilder finish;
  finish << cgen::Statement(cgen::MemoryFence{cgen::FenceScope::device});
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    finish << assign(mine[part], parts_[part].neutral);
  }
  finish << cgen::for_(
      type, parameters_.rename("s"), thread, segments,
      [&](const Expr& s, cgen::BlockBuilder& loop) {
        ReductionState other;
        for (std::size_t part = 0; part < parts_.size(); ++part) {
          other.push_back(loop.add(cgen::declare(
              cgen::const_(parts_[part].type), parameters_.rename("other" + parts_[part].suffix),
              from_kept(segments_[part][s * outputs + output], parts_[part]))));
        }
        meeting.combine(mine, other, loop);
      },
      {.step = parameters_.index(block_threads(cgen::Dialect::cuda))});
  meeting.emit(mine, thread, finish);
  cgen::BlockBuilder last;
  store(mine, last);
  last << assign(tickets_[output], literal(0, cgen::u32));
  finish << if_(is_first_thread, last);
  body << if_(not_equal(is_last[Expr(0)], literal(0, cgen::u32)), finish);
}

}  // namespace rtcg::arrays::detail
