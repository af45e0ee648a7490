#include "rtcg/arrays/lazy/block_reduce.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/device/finish_in_last_block.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

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
  return cgen::scalar_kind(part.type) || is<cgen::Complex>(part.type);
}

}  // namespace

SharedStates::SharedStates(const std::vector<ReductionPart>& parts, int count,
                           const KernelSignature& parameters, cgen::BlockBuilder& body) {
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

BlockReduce::BlockReduce(cgen::Dialect dialect, int threads, const Reducer& reducer,
                         const KernelSignature& parameters, cgen::BlockBuilder& body)
    : reducer_(reducer),
      parameters_(parameters),
      parts_(reducer.parts()),
      threads_(threads),
      has_shuffles_(dialect == cgen::Dialect::cuda &&
                    std::all_of(parts_.begin(), parts_.end(), can_be_shuffled)),
      shared_(parts_, has_shuffles_ ? threads_ / warp_size : threads_, parameters, body) {}

void BlockReduce::emit_shuffles(const ReductionState& mine, int lanes,
                                cgen::BlockBuilder& body) const {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    cgen::BlockBuilder step;
    ReductionState other;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      other.push_back(step.add(cgen::declare(
          cgen::const_(parts_[part].type), parameters_.rename("other" + parts_[part].suffix),
          call(cgen::Intrinsic::shuffle_down, {mine[part], Expr(distance)}))));
    }
    reducer_.combine(mine, other, step);
    body << step.block();
  }
}

void BlockReduce::emit(const ReductionState& mine, const Expr& thread,
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
  emit_shuffles(mine, warp_size, body);
  const Expr lanes = parameters_.index(warp_size);
  cgen::BlockBuilder put;
  shared_.put(thread / lanes, mine, put);
  body << if_(equal(thread % lanes, parameters_.index(0)), put) << cgen::barrier();
  const int warps = threads_ / warp_size;
  cgen::BlockBuilder first_warp;
  // all lanes take part in the shuffles; lanes after the warps' states hold values that are not
  // used
  const ReductionState of_warp = shared_.get(thread % parameters_.index(warps));
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    first_warp << assign(mine[part], of_warp[part]);
  }
  emit_shuffles(mine, warps, first_warp);
  body << if_(thread < lanes, first_warp);
}

ColumnReduce::ColumnReduce(const Reducer& reducer, const ColumnGrid& grid, int threads, int lanes,
                           const KernelSignature& parameters, cgen::BlockBuilder& body)
    : reducer_(reducer),
      parameters_(parameters),
      grid_(grid),
      shared_(reducer.parts(), threads * lanes, parameters, body) {}

void ColumnReduce::deal(const std::vector<ReductionState>& lanes, const Expr& readers,
                        const ReductionState& mine, cgen::BlockBuilder& body) const {
  const Expr count = parameters_.index(static_cast<std::int64_t>(lanes.size()));
  cgen::BlockBuilder put;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    shared_.put(grid_.thread * count + parameters_.index(static_cast<std::int64_t>(lane)),
                lanes[lane], put);
  }
  body << if_(grid_.thread < readers, put) << cgen::barrier();
  const Expr dealt = parameters_.declare_index("dealt", readers * count / grid_.columns, body);
  body << cgen::for_(parameters_.index_type(), parameters_.rename("q"),
                     select(grid_.is_busy, grid_.row, dealt), dealt,
                     [&](const Expr& q, cgen::BlockBuilder& loop) {
                       reducer_.combine(mine, shared_.get(q * grid_.columns + grid_.column), loop);
                     },
                     {.step = grid_.rows});
  body << cgen::barrier();
}

void ColumnReduce::emit(const ReductionState& mine, cgen::BlockBuilder& body) const {
  shared_.put(grid_.thread, mine, body);
  cgen::BlockBuilder tree;
  const Expr two = parameters_.index(2);
  const Expr distance = tree.add(cgen::declare(
      parameters_.index_type(), parameters_.rename("distance"), parameters_.index(1)));
  tree << cgen::while_(two * distance < grid_.rows, assign(distance, two * distance));
  cgen::BlockBuilder round;
  cgen::BlockBuilder step;
  reducer_.combine(mine, shared_.get(grid_.thread + distance * grid_.columns), step);
  shared_.put(grid_.thread, mine, step);
  round << cgen::barrier() << if_(grid_.row < distance && grid_.row + distance < grid_.rows, step)
        << assign(distance, distance / two);
  tree << cgen::while_(distance > parameters_.index(0), round);
  body << tree.block();
}

LastBlockReduce::LastBlockReduce(const Reducer& reducer, KernelSignature& parameters)
    : reducer_(reducer), parameters_(parameters), parts_(reducer.parts()), counters_(0) {
  const auto add_pointer = [&](const cgen::Type& type, const std::string& name) {
    return parameters.add(cgen::pointer_to(cgen::in_space(cgen::AddressSpace::global, type)),
                          parameters.rename(name));
  };
  for (const ReductionPart& part : parts_) {
    // volatile: other blocks write them, and what this one may have cached is old
    segments_.push_back(
        add_pointer(cgen::volatile_(kept_type(part)), "segment_results" + part.suffix));
  }
  counters_ = add_pointer(cgen::u32, "last_block_counters");
}

void LastBlockReduce::emit(
    const ReductionState& mine, const Block& block,
    const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
    cgen::BlockBuilder& body) const {
  const Expr at = cast(parameters_.index_type(), cgen::block_idx_y) * block.outputs + block.output;
  cgen::BlockBuilder hand_in;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    hand_in << assign(segments_[part][at], to_kept(mine[part], parts_[part]));
  }
  loopy::LastBlock last{counters_[block.counter], cgen::grid_dim_y, block.has_one};
  last.is_last_name = parameters_.rename(last.is_last_name);
  if (block.has_more) {
    body << if_(block.has_one, hand_in);
    last.is_counting = equal(block.thread, parameters_.index(0));
  } else {
    last.writes = hand_in.statements();
  }
  cgen::BlockBuilder finish;
  emit_finish(mine, block, store, finish);
  loopy::finish_in_last_block(last, finish.statements(), body, body);
}

void LastBlockReduce::emit_finish(
    const ReductionState& mine, const Block& block,
    const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
    cgen::BlockBuilder& finish) const {
  const cgen::Type& type = parameters_.index_type();
  const Expr segments = parameters_.declare_index("segments", cast(type, cgen::grid_dim_y), finish);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    finish << assign(mine[part], parts_[part].neutral);
  }
  constexpr int reads = 8;  // in flight at the same time; none after the last segment
  const auto take = [&](const Expr& s, cgen::BlockBuilder& loop) {
    std::vector<ReductionState> others(reads);
    for (int read = 0; read < reads; ++read) {
      const Expr at = read == 0 ? s : s + parameters_.index(read) * block.step;
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        const Expr kept =
            from_kept(segments_[part][at * block.outputs + block.output], parts_[part]);
        others[static_cast<std::size_t>(read)].push_back(loop.add(cgen::declare(
            cgen::const_(parts_[part].type),
            parameters_.rename(fmt::format("other{}{}", read, parts_[part].suffix)),
            read == 0 ? kept : cgen::select(at < segments, kept, parts_[part].neutral))));
      }
    }
    for (const ReductionState& other : others) {
      emit_combine(reducer_, mine, other, false, loop);
    }
  };
  finish << cgen::for_(type, parameters_.rename("s"), block.first, segments, take,
                       {.step = parameters_.index(reads) * block.step, .unroll = 1});
  block.reduce(finish);
  cgen::BlockBuilder last;
  store(mine, last);
  finish << if_(block.has_one, last);
}

}  // namespace rtcg::arrays::detail
