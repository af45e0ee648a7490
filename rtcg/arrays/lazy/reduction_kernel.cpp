#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_form.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::select;

bool finds_place(Op op) {
  return op == Op::argmin || op == Op::argmax;
}

/// What is carried from element to element: a value and, for argmin and argmax, its place.
struct State {
  Value value;
  std::optional<Expr> place{};
};


/// What leaves every value as it is.
Expr neutral(Op op, DType dtype) {
  const bool wants_least = op == Op::max || op == Op::argmax;
  switch (op) {
    case Op::product:
      return constant(1, real_of(dtype));
    case Op::all:
      return cgen::literal(true);
    case Op::min:
    case Op::max:
    case Op::argmin:
    case Op::argmax:
      break;
    default:
      return constant(0, real_of(dtype));
  }
  if (dtype == DType::boolean) {
    return cgen::literal(!wants_least);
  }
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return constant(wants_least ? -infinity : infinity, dtype);
  }
  const int bits = static_cast<int>(8 * size_bytes(dtype));
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  if (is_signed_integer(dtype)) {
    return Expr(cgen::IntLiteral{wants_least ? top : top - 1, wants_least, value_type(dtype)});
  }
  return Expr(cgen::IntLiteral{wants_least ? 0 : top - 1 + top, false, value_type(dtype)});
}

/// Code of one reduction: states and how they combine.
class Reducer {
 public:
  Reducer(const KernelForm& form, const KernelInterface& interface)
      : form_(form), reduction_(*form.reduction), interface_(interface) {}

  /// Declares the variables of a state that has seen nothing.
  State declare_state(const std::string& name, cgen::BlockBuilder& body) const {
    const cgen::Type type = value_type(reduction_.dtype);
    State state{{reduction_.dtype, body.add(cgen::declare(type, name, initial()))}, {}};
    if (is_complex(reduction_.dtype)) {
      state.value.im = body.add(cgen::declare(type, name + "_im", constant(0, reduction_.dtype)));
    }
    if (finds_place(reduction_.op)) {
      state.place = body.add(cgen::declare(cgen::i64, name + "_place", Expr(std::int64_t{-1})));
    }
    return state;
  }

  /// Takes another state into `state`.
  void combine(const State& state, const State& other, cgen::BlockBuilder& body) const {
    if (finds_place(reduction_.op)) {
      const Expr is_taken = body.add(
          cgen::declare(cgen::const_(cgen::boolean), "is_taken", comes_first(other, state)));
      body << if_(is_taken, {assign(state.value.re, other.value.re),
                             assign(*state.place, *other.place)});
      return;
    }
    const Value sum = combined(state.value, other.value);
    if (!sum.im) {
      body << assign(state.value.re, sum.re);
      return;
    }
    const cgen::Type type = cgen::const_(value_type(sum.dtype));
    const Expr re = body.add(cgen::declare(type, "next", sum.re));
    const Expr im = body.add(cgen::declare(type, "next_im", *sum.im));
    body << assign(state.value.re, re) << assign(*state.value.im, im);
  }

  /// The element at these indices as a state; `place` is where it is among those that go.
  State element(const std::vector<Expr>& leaf_offsets, const Expr& place,
                cgen::BlockBuilder& body) const {
    const LoweringPlace lowering{
        form_.dialect, body,
        [&](std::uint32_t leaf, int part) {
          return interface_.load(leaf, leaf_offsets[leaf], part);
        },
        [&](std::uint32_t number, int part) { return interface_.number(number, part); }};
    const std::vector<Value> values = lower_steps(form_.steps, lowering);
    State state{convert(values[form_.roots[0]], reduction_.dtype, form_.dialect), {}};
    if (finds_place(reduction_.op)) {
      state.place = reduction_.reads_places ? values[form_.roots[1]].re : cast(cgen::i64, place);
    }
    return state;
  }

  void store(const State& state, const Expr& offset, cgen::BlockBuilder& body) const {
    if (!finds_place(reduction_.op)) {
      interface_.store(0, offset, convert(state.value, form_.targets[0].dtype, form_.dialect),
                       body);
      return;
    }
    if (reduction_.is_partial) {
      interface_.store(1, offset, state.value, body);
    }
    interface_.store(0, offset, {DType::i64, *state.place}, body);
  }

 private:
  [[nodiscard]] Expr initial() const { return neutral(reduction_.op, reduction_.dtype); }

  [[nodiscard]] Value combined(const Value& a, const Value& b) const {
    const DType dtype = reduction_.dtype;
    const bool is_real = !is_complex(dtype);
    switch (reduction_.op) {
      case Op::any:
        return {dtype, a.re || b.re};
      case Op::all:
        return {dtype, a.re && b.re};
      case Op::min:
      case Op::max: {
        const Expr wins = reduction_.op == Op::min ? b.re < a.re : b.re > a.re;
        return {dtype, select(is_floating(dtype) ? wins || not_equal(b.re, b.re) : wins, b.re,
                              a.re)};
      }
      case Op::product:
        if (!is_real) {
          return {dtype, a.re * b.re - *a.im * *b.im, a.re * *b.im + *a.im * b.re};
        }
        return {dtype, dtype == DType::boolean ? a.re && b.re
                       : is_integer(dtype)
                           ? wrapping(cgen::BinaryOp::multiply, a.re, b.re, dtype)
                           : a.re * b.re};
      default:
        if (!is_real) {
          return {dtype, a.re + b.re, *a.im + *b.im};
        }
        return {dtype, dtype == DType::boolean ? a.re || b.re
                       : is_integer(dtype) ? wrapping(cgen::BinaryOp::add, a.re, b.re, dtype)
                                           : a.re + b.re};
    }
  }

  /// Whether `b` is to be preferred to `a`: better, or as good and before it. NaNs are the best.
  [[nodiscard]] Expr comes_first(const State& b, const State& a) const {
    const Expr& left = b.value.re;
    const Expr& right = a.value.re;
    const bool is_float = is_floating(reduction_.dtype);
    // booleans compare as numbers in C, but not in every checker's eyes
    const auto number = [&](const Expr& value) {
      return reduction_.dtype == DType::boolean ? cast(cgen::i32, value) : value;
    };
    Expr is_better = reduction_.op == Op::argmin ? number(left) < number(right)
                                                 : number(left) > number(right);
    Expr is_as_good = equal(left, right);
    if (is_float) {
      const Expr left_is_nan = not_equal(left, left);
      const Expr right_is_nan = not_equal(right, right);
      is_better = is_better || (left_is_nan && equal(right, right));
      is_as_good = is_as_good || (left_is_nan && right_is_nan);
    }
    const Expr is_before = *b.place < *a.place;
    return *b.place >= 0 && (*a.place < 0 || is_better || (is_as_good && is_before));
  }

  const KernelForm& form_;
  const ReductionForm& reduction_;
  const KernelInterface& interface_;
};

/// The parts of a reduction kernel.
class ReductionEmitter {
 public:
  explicit ReductionEmitter(const KernelForm& form)
      : form_(form),
        reduction_(*form.reduction),
        interface_(form),
        outputs_(interface_.add_index_parameter("outputs")),
        length_(interface_.add_index_parameter("length")),
        segment_length_(interface_.add_index_parameter("segment_length")),
        outputs_each_(interface_.add_index_parameter("outputs_each")),
        reducer_(form, interface_) {}

  cgen::Module run() {
    cgen::BlockBuilder body;
    const cgen::Type& type = interface_.index_type();
    const Expr segment =
        interface_.declare_index("segment", cast(type, cgen::block_idx_y), body);
    const Expr begin = interface_.declare_index("begin", segment * segment_length_, body);
    const Expr end = interface_.declare_index(
        "end", select(length_ - begin < segment_length_, length_, begin + segment_length_), body);
    if (reduction_.by_block) {
      const Expr output = interface_.declare_index("output", cast(type, cgen::block_idx_x), body);
      emit_block(output, segment, begin, end, body);
    } else {
      emit_threads(segment, begin, end, body);
    }
    return finish_module(form_, interface_, body);
  }

 private:
  /// Reduces the elements from `first` on in steps; the offsets of the leaves at `output` are known.
  State emit_loop(const Expr& output, const Expr& first, const Expr& step, const Expr& end,
                  cgen::BlockBuilder& body) {
    const int kept = reduction_.kept_axes;
    const std::vector<Expr> kept_index =
        interface_.split_place(output, 0, kept, "k", body);
    std::vector<Expr> bases;
    for (std::size_t leaf = 0; leaf < form_.leaves.size(); ++leaf) {
      bases.push_back(interface_.declare_index(fmt::format("in{}_base", leaf),
                                               interface_.leaf_offset(leaf, kept_index), body));
    }
    const State state = reducer_.declare_state("acc", body);
    body << cgen::for_(
        interface_.index_type(), "r", first, end,
        [&](const Expr& r, cgen::BlockBuilder& loop) {
          const std::vector<Expr> index =
              interface_.split_place(r, kept, form_.axes - kept, "r", loop);
          std::vector<Expr> offsets;
          for (std::size_t leaf = 0; leaf < form_.leaves.size(); ++leaf) {
            offsets.push_back(interface_.declare_index(
                fmt::format("in{}_at", leaf),
                bases[leaf] + interface_.leaf_offset(leaf, index, kept), loop));
          }
          reducer_.combine(state, reducer_.element(offsets, r, loop), loop);
        },
        {.step = step});
    return state;
  }

  void emit_store(const State& state, const Expr& output, const Expr& segment,
                  cgen::BlockBuilder& body) {
    if (reduction_.is_partial) {
      reducer_.store(state, segment * outputs_ + output, body);
      return;
    }
    const std::vector<Expr> index =
        interface_.split_place(output, 0, reduction_.kept_axes, "o", body);
    reducer_.store(state, interface_.target_offset(0, index), body);
  }

  /// A thread for each output.
  void emit_threads(const Expr& segment, const Expr& begin, const Expr& end,
                    cgen::BlockBuilder& body) {
    const cgen::Type& type = interface_.index_type();
    const bool is_host = form_.dialect == cgen::Dialect::c;
    const Expr threads = interface_.index(block_threads(form_.dialect));
    const Expr block = cast(type, cgen::block_idx_x);
    const Expr first = is_host ? block * outputs_each_
                               : block * threads + cast(type, cgen::thread_idx_x);
    const Expr after = is_host ? select(outputs_ - first < outputs_each_, outputs_,
                                        first + outputs_each_)
                               : outputs_;
    const Expr step = is_host ? interface_.index(1) : cast(type, cgen::grid_dim_x) * threads;
    body << cgen::for_(type, "output", first, after,
                       [&](const Expr& output, cgen::BlockBuilder& loop) {
                         const State state =
                             emit_loop(output, begin, interface_.index(1), end, loop);
                         emit_store(state, output, segment, loop);
                       },
                       {.step = step});
  }

  /// A block for each output: its threads' results meet in a tree.
  void emit_block(const Expr& output, const Expr& segment, const Expr& begin, const Expr& end,
                  cgen::BlockBuilder& body) {
    const cgen::Type& type = interface_.index_type();
    const int threads = block_threads(form_.dialect);
    const Expr thread = interface_.declare_index("thread", cast(type, cgen::thread_idx_x), body);
    const State mine =
        emit_loop(output, begin + thread, interface_.index(threads), end, body);
    const Shared shared(mine, threads, body);
    shared.put(thread, mine, body);
    for (int half = threads / 2; half > 0; half /= 2) {
      body << cgen::barrier();
      cgen::BlockBuilder step;
      reducer_.combine(mine, shared.get(thread + interface_.index(half)), step);
      shared.put(thread, mine, step);
      body << if_(thread < interface_.index(half), step);
    }
    cgen::BlockBuilder last;
    emit_store(mine, output, segment, last);
    body << if_(equal(thread, interface_.index(0)), last);
  }

  /// The states of all threads of a block.
  class Shared {
   public:
    Shared(const State& like, int threads, cgen::BlockBuilder& body)
        : dtype_(like.value.dtype),
          re_(add("all", shared_type(dtype_), threads, body)),
          im_(like.value.im ? std::optional(add("all_im", value_type(dtype_), threads, body))
                            : std::nullopt),
          place_(like.place ? std::optional(add("all_place", cgen::i64, threads, body))
                            : std::nullopt) {}

    void put(const Expr& at, const State& state, cgen::BlockBuilder& body) const {
      body << assign(re_[at], dtype_ == DType::boolean ? to_memory(state.value.re, dtype_)
                                                       : state.value.re);
      if (im_) {
        body << assign((*im_)[at], *state.value.im);
      }
      if (place_) {
        body << assign((*place_)[at], *state.place);
      }
    }
    [[nodiscard]] State get(const Expr& at) const {
      State state{{dtype_, dtype_ == DType::boolean ? from_memory(re_[at], dtype_) : re_[at]}, {}};
      if (im_) {
        state.value.im = (*im_)[at];
      }
      if (place_) {
        state.place = (*place_)[at];
      }
      return state;
    }

   private:
    static cgen::Type shared_type(DType dtype) {
      return dtype == DType::boolean ? cgen::u8 : value_type(dtype);
    }
    static Expr add(const char* name, const cgen::Type& type, int count, cgen::BlockBuilder& body) {
      return body.add(cgen::shared_array(type, name, {count}));
    }
    DType dtype_;
    Expr re_;
    std::optional<Expr> im_;
    std::optional<Expr> place_;
  };

  const KernelForm& form_;
  const ReductionForm& reduction_;
  KernelInterface interface_;
  Expr outputs_;
  Expr length_;
  Expr segment_length_;
  Expr outputs_each_;
  Reducer reducer_;
};

}  // namespace

cgen::Module make_reduction_module(const KernelForm& form) {
  return ReductionEmitter(form).run();
}

}  // namespace rtcg::arrays::detail
