#include "rtcg/arrays/lazy/reduction_loops.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/block_reduce.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::select;

class ReductionEmitter {
 public:
  ReductionEmitter(const ReductionShape& shape, KernelSignature& parameters, const Reducer& reducer)
      : shape_(shape),
        parameters_(parameters),
        reducer_(reducer),
        parts_(reducer.parts()),
        outputs_(parameters.add_index_parameter("outputs")),
        length_(parameters.add_index_parameter("length")),
        segment_length_(parameters.add_index_parameter("segment_length")),
        outputs_each_(parameters.add_index_parameter("outputs_each")) {}

  void run(cgen::BlockBuilder& body) {
    const cgen::Type& type = parameters_.index_type();
    const Expr segment = parameters_.declare_index("segment", cast(type, cgen::block_idx_y), body);
    const Expr begin = parameters_.declare_index("begin", segment * segment_length_, body);
    const Expr end = parameters_.declare_index(
        "end", select(length_ - begin < segment_length_, length_, begin + segment_length_), body);
    if (shape_.spread == ReductionSpread::threads) {
      emit_threads(segment, begin, end, body);
      return;
    }
    const Expr block = parameters_.declare_index("block", cast(type, cgen::block_idx_x), body);
    const Expr thread = parameters_.declare_index("thread", cast(type, cgen::thread_idx_x), body);
    if (shape_.spread == ReductionSpread::block) {
      emit_block(block, thread, segment, begin, end, body);
    } else {
      emit_columns(block, thread, segment, begin, end, body);
    }
  }

 private:
  /// Declares the variables of a state that has seen nothing.
  [[nodiscard]] ReductionState declare_state(const std::string& name,
                                             cgen::BlockBuilder& body) const {
    ReductionState state;
    for (const ReductionPart& part : parts_) {
      state.push_back(
          body.add(cgen::declare(part.type, parameters_.rename(name + part.suffix), part.neutral)));
    }
    return state;
  }

  /// Where the first element of `output` is in each operand.
  [[nodiscard]] std::vector<Expr> emit_bases(const Expr& output, cgen::BlockBuilder& body) const {
    const std::vector<Expr> index = parameters_.split_place(output, 0, shape_.kept_axes, "k", body);
    std::vector<Expr> bases(shape_.targets, Expr(0));
    for (std::size_t leaf = shape_.targets; leaf < parameters_.operands(); ++leaf) {
      bases.push_back(parameters_.declare_index(fmt::format("{}_base", parameters_.name(leaf)),
                                                parameters_.offset(leaf, index), body));
    }
    return bases;
  }

  /// Reduces the elements of `output` from `first` on in steps.
  ReductionState emit_loop(const Expr& output, const Expr& first, const Expr& step, const Expr& end,
                           cgen::BlockBuilder& body) const {
    const std::vector<Expr> bases = emit_bases(output, body);
    const auto take = [&](const ReductionState& state, const Expr& from, const Expr& to,
                          cgen::BlockBuilder& block) {
      block << cgen::for_(
          parameters_.index_type(), parameters_.rename("r"), from, to,
          [&](const Expr& r, cgen::BlockBuilder& loop) { take_element(state, bases, r, loop); },
          {.step = step});
    };
    if (shape_.is_pairwise) {
      return emit_pairwise(first, step, end, take, body);
    }
    const ReductionState state = declare_state("acc", body);
    if (shape_.dialect != cgen::Dialect::c || parameters_.lengths().size() != kept_axes() + 1) {
      take(state, first, end, body);
      return state;
    }
    const Expr begin =
        body.add(cgen::declare(parameters_.index_type(), parameters_.rename("next"), first));
    emit_lanes(state, bases, begin, end, body);
    take(state, begin, end, body);
    return state;
  }

  [[nodiscard]] std::size_t kept_axes() const { return static_cast<std::size_t>(shape_.kept_axes); }

  /// An array of states that have seen nothing.
  [[nodiscard]] ReductionState declare_states(const std::string& name, int count,
                                              cgen::BlockBuilder& body) const {
    ReductionState states;
    ReductionState neutral;  // by an initialiser: a struct's may be in braces
    for (const ReductionPart& part : parts_) {
      states.push_back(body.add(
          cgen::declare(cgen::array_of(part.type, count), parameters_.rename(name + part.suffix))));
      neutral.push_back(body.add(cgen::declare(
          cgen::const_(part.type), parameters_.rename("none" + part.suffix), part.neutral)));
    }
    body << cgen::for_(parameters_.index_type(), parameters_.rename("k"), parameters_.index(0),
                       parameters_.index(count), [&](const Expr& k, cgen::BlockBuilder& loop) {
                         for (std::size_t part = 0; part < states.size(); ++part) {
                           loop << assign(states[part][k], neutral[part]);
                         }
                       });
    return states;
  }
  [[nodiscard]] static ReductionState state_at(const ReductionState& states, const Expr& k) {
    ReductionState state;
    for (const Expr& part : states) {
      state.push_back(part[k]);
    }
    return state;
  }

  /// On the host: reduces groups of lanes from `next` on, with a state for each lane, and leaves
  /// `next` at the first remaining element. With one state each addition would wait for the one
  /// before.
  void emit_lanes(const ReductionState& state, const std::vector<Expr>& bases, const Expr& next,
                  const Expr& end, cgen::BlockBuilder& body) const {
    constexpr int lanes = 32;
    constexpr int least_runs = 4;  // fewer are not worth making states and joining them
    const Expr zero = parameters_.index(0);
    const Expr count = parameters_.index(lanes);
    cgen::BlockBuilder inner;
    const ReductionState states = declare_states("lanes", lanes, inner);
    cgen::BlockBuilder run;
    run << cgen::for_(parameters_.index_type(), parameters_.rename("lane"), zero, count,
                      [&](const Expr& lane, cgen::BlockBuilder& loop) {
                        take_element(state_at(states, lane), bases, next + lane, loop);
                      });
    run << assign(next, next + count);
    inner << cgen::while_(end - next >= count, run);
    inner << cgen::for_(parameters_.index_type(), parameters_.rename("lane"), zero, count,
                        [&](const Expr& lane, cgen::BlockBuilder& loop) {
                          reducer_.combine(state, state_at(states, lane), loop);
                        });
    body << if_(end - next >= parameters_.index(lanes * least_runs), inner);
  }

  /// Whether adjacent outputs read adjacent elements, and the elements of one output are not
  /// adjacent.
  [[nodiscard]] bool has_rows_of_outputs() const {
    if (shape_.dialect != cgen::Dialect::c || shape_.kept_axes != 1 || shape_.is_pairwise) {
      return false;
    }
    const std::size_t last = parameters_.lengths().size() - 1;
    bool has_row = false;
    bool has_own = last == 0;
    for (std::size_t leaf = shape_.targets; leaf < parameters_.operands(); ++leaf) {
      const auto& strides = parameters_.form(leaf).strides;
      has_row = has_row || strides[0] == StrideClass::one;
      has_own = has_own || strides[last] == StrideClass::one;
    }
    cgen::BlockBuilder unused;
    return has_row && !has_own && !reducer_.bounds(parameters_.index(0), length_, unused);
  }

  /// On the host: some neighbouring outputs at a time, so that memory is read row by row.
  void emit_rows(const Expr& segment, const Expr& first, const Expr& after, const Expr& begin,
                 const Expr& end, cgen::BlockBuilder& body) const {
    constexpr int most = 256;
    const cgen::Type& type = parameters_.index_type();
    const Expr zero = parameters_.index(0);
    const auto tile_loop = [&](const Expr& tile, cgen::BlockBuilder& outer) {
      const Expr rest = after - tile;
      const Expr width = parameters_.declare_index(
          "width", select(rest < parameters_.index(most), rest, parameters_.index(most)), outer);
      const ReductionState states = declare_states("accs", most, outer);
      const auto row_loop = [&](const Expr& r, cgen::BlockBuilder& row) {
        const std::vector<Expr> rows =
            offsets_at(std::vector<Expr>(parameters_.operands(), zero), r, row);
        const auto column_loop = [&](const Expr& k, cgen::BlockBuilder& loop) {
          std::vector<Expr> offsets = rows;
          for (std::size_t leaf = shape_.targets; leaf < offsets.size(); ++leaf) {
            offsets[leaf] =
                parameters_.declare_index(fmt::format("{}_of", parameters_.name(leaf)),
                                          rows[leaf] + parameters_.offset(leaf, {tile + k}), loop);
          }
          reducer_.combine_next(state_at(states, k), reducer_.element(offsets, r, loop), loop);
        };
        row << cgen::for_(type, parameters_.rename("k"), zero, width, column_loop);
      };
      outer << cgen::for_(type, parameters_.rename("r"), begin, end, row_loop);
      outer << cgen::for_(
          type, parameters_.rename("k"), zero, width, [&](const Expr& k, cgen::BlockBuilder& loop) {
            emit_store(state_at(states, k), parameters_.declare_index("output", tile + k, loop),
                       segment, loop);
          });
    };
    body << cgen::for_(type, parameters_.rename("tile"), first, after, tile_loop,
                       {.step = parameters_.index(most)});
  }

  [[nodiscard]] std::vector<Expr> offsets_at(const std::vector<Expr>& bases, const Expr& r,
                                             cgen::BlockBuilder& loop) const {
    const int kept = shape_.kept_axes;
    const int axes = static_cast<int>(parameters_.lengths().size());
    const std::vector<Expr> index = parameters_.split_place(r, kept, axes - kept, "r", loop);
    std::vector<Expr> offsets(shape_.targets, Expr(0));
    for (std::size_t leaf = shape_.targets; leaf < parameters_.operands(); ++leaf) {
      offsets.push_back(
          parameters_.declare_index(fmt::format("{}_at", parameters_.name(leaf)),
                                    bases[leaf] + parameters_.offset(leaf, index, kept), loop));
    }
    return offsets;
  }

  void take_element(const ReductionState& state, const std::vector<Expr>& bases, const Expr& r,
                    cgen::BlockBuilder& loop) const {
    reducer_.combine_next(state, reducer_.element(offsets_at(bases, r, loop), r, loop), loop);
  }

  /// Reduces packs of adjacent elements from the variable `r` on, with a state for each element of
  /// a pack; the next pack is `step` further. Leaves `r` where less than a pack remains. If the
  /// loop `is_short`, the latency after its last four packs matters.
  std::vector<ReductionState> emit_packs(const std::vector<Expr>& bases, const Expr& r,
                                         const Expr& step, const Expr& end, bool is_short,
                                         cgen::BlockBuilder& body) const {
    std::vector<ReductionState> states;
    for (int lane = 0; lane < shape_.lanes; ++lane) {
      states.push_back(declare_state(fmt::format("acc{}", lane), body));
    }
    const auto take_pack = [&](const Expr& at, cgen::BlockBuilder& loop) {
      cgen::BlockBuilder inner;
      const Expr place = parameters_.declare_index("place", at, inner);
      const auto elements = reducer_.elements(offsets_at(bases, place, inner), place, inner);
      for (std::size_t lane = 0; lane < states.size(); ++lane) {
        emit_combine(reducer_, states[lane], elements[lane], true, inner);
      }
      loop << inner.block();
    };
    constexpr int packs = 4;  // whose reads are under way at the same time
    const Expr last_lane = parameters_.index(shape_.lanes - 1);
    const auto ahead = [&](int n) { return n == 0 ? r : r + parameters_.index(n) * step; };
    const auto take = [&](int count) {
      cgen::BlockBuilder several;
      for (int pack = 0; pack < count; ++pack) {
        take_pack(ahead(pack), several);
      }
      several << assign(r, ahead(count));
      return several;
    };
    const auto has = [&](int count) { return ahead(count - 1) + last_lane < end; };
    body << cgen::while_(has(packs), take(packs));
    if (!is_short) {
      body << cgen::while_(has(1), take(1));
    }
    for (int count = is_short ? packs - 1 : 0; count > 0; --count) {
      body << if_(has(count), take(count));  // all remaining reads at once
    }
    return states;
  }

  /// Reduces the elements of `output` from `first` on, some neighbours at once; the next are
  /// `step` further.
  ReductionState emit_packed_loop(const Expr& output, const Expr& first, const Expr& step,
                                  const Expr& end, cgen::BlockBuilder& body) const {
    const cgen::Type& type = parameters_.index_type();
    const std::vector<Expr> bases = emit_bases(output, body);
    const Expr r = body.add(cgen::declare(type, parameters_.rename("r"), first));
    const std::vector<ReductionState> states = emit_packs(bases, r, step, end, false, body);
    body << cgen::for_(type, parameters_.rename("rest"), r, end,
                       [&](const Expr& rest, cgen::BlockBuilder& loop) {
                         take_element(states[0], bases, rest, loop);
                       },
                       {.step = 1, .unroll = 1});
    for (int lane = 1; lane < shape_.lanes; ++lane) {
      emit_combine(reducer_, states[0], states[static_cast<std::size_t>(lane)], false, body);
    }
    return states[0];
  }

  /// Runs of 64 elements, whose results meet as in a tree: level k holds what
  /// 2^k runs gave.
  template <class Take>
  ReductionState emit_pairwise(const Expr& first, const Expr& step, const Expr& end,
                               const Take& take, cgen::BlockBuilder& body) const {
    const cgen::Type& type = parameters_.index_type();
    ReductionState levels;
    for (const ReductionPart& part : parts_) {
      levels.push_back(body.add(cgen::declare(cgen::array_of(part.type, 64),
                                              parameters_.rename("levels" + part.suffix))));
    }
    const auto at = [&](const Expr& level) {
      ReductionState state;
      for (const Expr& part : levels) {
        state.push_back(part[level]);
      }
      return state;
    };
    const auto next_level = [&](const Expr& level, const Expr& bits, cgen::BlockBuilder& loop) {
      loop << assign(level, level + 1) << assign(bits, bits >> parameters_.index(1));
    };
    const Expr runs =
        body.add(cgen::declare(type, parameters_.rename("runs"), parameters_.index(0)));
    const Expr stride = parameters_.declare_index("stride", step * parameters_.index(64), body);
    body << cgen::for_(
        type, parameters_.rename("run"), first, end,
        [&](const Expr& run, cgen::BlockBuilder& loop) {
          const ReductionState state = declare_state("part", loop);
          take(state, run,
               parameters_.declare_index("run_end", select(end - run < stride, end, run + stride),
                                         loop),
               loop);
          const Expr level = loop.add(cgen::declare(cgen::i32, parameters_.rename("level"), 0));
          const Expr bits = loop.add(cgen::declare(type, parameters_.rename("bits"), runs));
          cgen::BlockBuilder carry;
          reducer_.combine(state, at(level), carry);
          next_level(level, bits, carry);
          loop << cgen::while_(not_equal(bits & parameters_.index(1), parameters_.index(0)), carry);
          const ReductionState slot = at(level);
          for (std::size_t part = 0; part < slot.size(); ++part) {
            loop << assign(slot[part], state[part]);
          }
          loop << assign(runs, runs + parameters_.index(1));
        },
        {.step = stride});
    const ReductionState total = declare_state("acc", body);
    const Expr level = body.add(cgen::declare(cgen::i32, parameters_.rename("level"), 0));
    cgen::BlockBuilder collect;
    cgen::BlockBuilder add;
    reducer_.combine(total, at(level), add);
    collect << if_(not_equal(runs & parameters_.index(1), parameters_.index(0)), add);
    next_level(level, runs, collect);
    body << cgen::while_(not_equal(runs, parameters_.index(0)), collect);
    return total;
  }

  void emit_store(const ReductionState& state, const Expr& output, const Expr& segment,
                  cgen::BlockBuilder& body) const {
    if (shape_.is_partial) {
      reducer_.store(
          state, [&](std::size_t) { return segment * outputs_ + output; }, body);
      return;
    }
    const std::vector<Expr> index = parameters_.split_place(output, 0, shape_.kept_axes, "o", body);
    reducer_.store(
        state, [&](std::size_t target) { return parameters_.offset(target, index); }, body);
  }

  /// A thread for each output.
  void emit_threads(const Expr& segment, const Expr& begin, const Expr& end,
                    cgen::BlockBuilder& body) const {
    const cgen::Type& type = parameters_.index_type();
    const bool is_host = shape_.dialect == cgen::Dialect::c;
    const Expr threads = parameters_.index(block_threads(shape_.dialect));
    const Expr block = cast(type, cgen::block_idx_x);
    const Expr first =
        is_host ? block * outputs_each_ : block * threads + cast(type, cgen::thread_idx_x);
    const Expr after =
        is_host ? select(outputs_ - first < outputs_each_, outputs_, first + outputs_each_)
                : outputs_;
    if (has_rows_of_outputs()) {
      emit_rows(segment, first, after, begin, end, body);
      return;
    }
    const Expr step = is_host ? parameters_.index(1) : cast(type, cgen::grid_dim_x) * threads;
    body << cgen::for_(type, parameters_.rename("output"), first, after,
                       [&](const Expr& output, cgen::BlockBuilder& loop) {
                         const auto own = reducer_.bounds(output, length_, loop);
                         const ReductionState state =
                             emit_loop(output, own ? own->first : begin, parameters_.index(1),
                                       own ? own->second : end, loop);
                         emit_store(state, output, segment, loop);
                       },
                       {.step = step});
  }

  /// A block for each output.
  void emit_block(const Expr& output, const Expr& thread, const Expr& segment, const Expr& begin,
                  const Expr& end, cgen::BlockBuilder& body) const {
    const int threads = shape_.threads;
    const auto own = reducer_.bounds(output, length_, body);
    const Expr from = own ? own->first : begin;
    const Expr to = own ? own->second : end;
    const ReductionState mine =
        shape_.lanes > 1 ? emit_packed_loop(output, from + thread * parameters_.index(shape_.lanes),
                                            parameters_.index(threads * shape_.lanes), to, body)
                         : emit_loop(output, from + thread, parameters_.index(threads), to, body);
    const BlockReduce reduce(shape_.dialect, threads, reducer_, parameters_, body);
    reduce.emit(mine, thread, body);
    const auto store = [&](const ReductionState& state, cgen::BlockBuilder& last) {
      emit_store(state, output, segment, last);
    };
    if (shape_.has_last_block_reduce) {
      const LastBlockReduce segments(reducer_, parameters_);
      const Expr is_first = equal(thread, parameters_.index(0));
      segments.emit(
          mine,
          {thread, output, outputs_, output, is_first, false, thread, parameters_.index(threads),
           [&](cgen::BlockBuilder& block) { reduce.emit(mine, thread, block); }},
          store, body);
    } else {
      body << if_(equal(thread, parameters_.index(0)),
                  [&](cgen::BlockBuilder& last) { store(mine, last); });
    }
  }

  /// A block reduces all columns, an output each; the threads of a column take turns. If the rows
  /// are contiguous in memory, some threads read all of them as one stream.
  void emit_columns(const Expr& block, const Expr& thread, const Expr& segment, const Expr& begin,
                    const Expr& end, cgen::BlockBuilder& body) const {
    const int threads = shape_.threads;
    const bool has_stream = shape_.lanes > 1;
    const Expr& columns = has_stream ? outputs_ : outputs_each_;
    const Expr rows = parameters_.declare_index("rows", parameters_.index(threads) / columns, body);
    const Expr row = parameters_.declare_index("row", thread / columns, body);
    const Expr own = parameters_.declare_index("own", thread % columns, body);
    const Expr column = parameters_.declare_index("output", block * columns + own, body);
    // a thread without a column or a row takes the last output, and adds no element to it
    const Expr is_busy = body.add(
        cgen::declare(cgen::const_(cgen::boolean), "is_busy", row < rows && column < outputs_));
    const ColumnReduce reduce(reducer_, {thread, row, own, rows, columns, is_busy}, threads,
                              shape_.lanes, parameters_, body);
    ReductionState mine;
    if (has_stream) {
      const std::vector<ReductionState> seen = emit_stream(thread, begin, end, body);
      mine = declare_state("acc", body);
      reduce.deal(seen, outputs_each_, mine, body);
    } else {
      const Expr output = parameters_.declare_index(
          "known_output", select(column < outputs_, column, outputs_ - parameters_.index(1)), body);
      mine = emit_loop(output, select(is_busy, begin + row, end), rows, end, body);
    }
    reduce.emit(mine, body);
    const auto store = [&](const ReductionState& state, cgen::BlockBuilder& last) {
      emit_store(state, column, segment, last);
    };
    const Expr has_one = is_busy && equal(row, parameters_.index(0));
    if (shape_.has_last_block_reduce) {
      const LastBlockReduce segments(reducer_, parameters_);
      const Expr first = select(is_busy, row, cast(parameters_.index_type(), cgen::grid_dim_y));
      segments.emit(mine,
                    {thread, column, outputs_, block, has_one, true, first, rows,
                     [&](cgen::BlockBuilder& inner) { reduce.emit(mine, inner); }},
                    store, body);
    } else {
      body << if_(has_one, [&](cgen::BlockBuilder& last) { store(mine, last); });
    }
  }

  /// Reduces contiguous rows, which `outputs_each_` threads read. Together they advance by whole
  /// rows, so each thread reads the same columns again.
  std::vector<ReductionState> emit_stream(const Expr& thread, const Expr& begin, const Expr& end,
                                          cgen::BlockBuilder& body) const {
    const cgen::Type& type = parameters_.index_type();
    const Expr lanes = parameters_.index(shape_.lanes);
    const std::vector<Expr> bases = emit_bases(parameters_.index(0), body);
    const Expr stream_end = parameters_.declare_index("stream_end", end * outputs_, body);
    const Expr first =
        select(thread < outputs_each_, begin * outputs_ + thread * lanes, stream_end);
    const Expr step = parameters_.declare_index("step", outputs_each_ * lanes, body);
    const Expr r = body.add(cgen::declare(type, parameters_.rename("r"), first));
    const std::vector<ReductionState> states = emit_packs(bases, r, step, stream_end, true, body);
    for (int lane = 0; lane + 1 < shape_.lanes; ++lane) {
      cgen::BlockBuilder one;
      take_element(states[static_cast<std::size_t>(lane)], bases, r + parameters_.index(lane), one);
      body << if_(r + parameters_.index(lane) < stream_end, one);
    }
    return states;
  }

  const ReductionShape& shape_;
  KernelSignature& parameters_;
  const Reducer& reducer_;
  std::vector<ReductionPart> parts_;
  Expr outputs_;
  Expr length_;
  Expr segment_length_;
  Expr outputs_each_;
};

}  // namespace

void emit_combine(const Reducer& reducer, const ReductionState& state, const ReductionState& other,
                  bool is_next, cgen::BlockBuilder& body) {
  cgen::BlockBuilder one;
  if (is_next) {
    reducer.combine_next(state, other, one);
  } else {
    reducer.combine(state, other, one);
  }
  body << (one.statements().size() == 1 ? one.statements()[0] : one.block());
}

void emit_reduction(const ReductionShape& shape, KernelSignature& parameters,
                    const Reducer& reducer, cgen::BlockBuilder& body) {
  ReductionEmitter(shape, parameters, reducer).run(body);
}

}  // namespace rtcg::arrays::detail
