#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/reduction_loops.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::select;

/// What is carried from element to element: a value and, for argmin and argmax,
/// its place.
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
  if (is_floating(dtype) && finds_place(op)) {
    return constant(std::numeric_limits<double>::quiet_NaN(), dtype);
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

/// Reduces the root of a tape by an operation of arrays.
class TapeReducer : public Reducer {
 public:
  TapeReducer(const KernelForm& form, const KernelInterface& interface)
      : form_(form), reduction_(*form.reduction), interface_(interface) {}

  [[nodiscard]] std::vector<ReductionPart> parts() const override {
    const cgen::Type type = value_type(reduction_.dtype);
    std::vector<ReductionPart> result = {{"", type, neutral(reduction_.op, reduction_.dtype)}};
    if (is_complex(reduction_.dtype)) {
      result.push_back({"_im", type, constant(0, reduction_.dtype)});
    }
    if (finds_place(reduction_.op)) {
      result.push_back({"_place", place_type(), literal(-1, place_type())});
    }
    return result;
  }

  void combine(const ReductionState& variables, const ReductionState& values,
               cgen::BlockBuilder& body) const override {
    combine(variables, values, false, body);
  }
  void combine_next(const ReductionState& variables, const ReductionState& values,
                    cgen::BlockBuilder& body) const override {
    combine(variables, values, !reduction_.reads_places, body);
  }

  ReductionState element(const std::vector<Expr>& offsets, const Expr& place,
                         cgen::BlockBuilder& body) const override {
    return state_of_element(lower_element(form_, interface_, leaf_offset(offsets), place, body),
                            place);
  }

  std::vector<ReductionState> elements(const std::vector<Expr>& offsets, const Expr& place,
                                       cgen::BlockBuilder& body) const override {
    std::vector<ReductionState> result;
    for (const std::vector<Value>& values :
         lower_pack(form_, interface_, leaf_offset(offsets), place, body)) {
      const auto lane = static_cast<std::int64_t>(result.size());
      result.push_back(state_of_element(values, place + interface_.index(lane)));
    }
    return result;
  }

  void store(const ReductionState& values, const std::function<Expr(std::size_t)>& offset,
             cgen::BlockBuilder& body) const override {
    const State state = state_of(values);
    if (!finds_place(reduction_.op)) {
      interface_.store(0, offset(0), convert(state.value, form_.targets[0].dtype, form_.dialect),
                       body);
      return;
    }
    if (reduction_.is_partial) {
      interface_.store(1, offset(1), state.value, body);
    }
    interface_.store(0, offset(0), {DType::i64, cast(cgen::i64, *state.place)}, body);
  }

 private:
  [[nodiscard]] LeafOffset leaf_offset(const std::vector<Expr>& offsets) const {
    return [&](std::size_t leaf) { return offsets[interface_.operand_of_leaf(leaf)]; };
  }

  /// @param values  of the steps
  [[nodiscard]] ReductionState state_of_element(const std::vector<Value>& values,
                                                const Expr& place) const {
    const Value value = convert(values[form_.roots[0]], reduction_.dtype, form_.dialect);
    ReductionState state = {value.re};
    if (value.im) {
      state.push_back(*value.im);
    }
    if (finds_place(reduction_.op)) {
      state.push_back(reduction_.reads_places ? values[form_.roots[1]].re : place);
    }
    return state;
  }

  /// @param is_behind  `values` come after all elements that `variables` hold
  void combine(const ReductionState& variables, const ReductionState& values, bool is_behind,
               cgen::BlockBuilder& body) const {
    const State state = state_of(variables);
    const State other = state_of(values);
    if (finds_place(reduction_.op)) {
      const Expr wins = is_behind ? beats(other, state) : comes_first(other, state);
      const Expr is_taken = body.add(cgen::declare(cgen::const_(cgen::boolean), "is_taken", wins));
      body << if_(is_taken,
                  {assign(state.value.re, other.value.re), assign(*state.place, *other.place)});
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

  [[nodiscard]] const cgen::Type& place_type() const {
    return reduction_.reads_places ? cgen::i64 : interface_.index_type();
  }

  [[nodiscard]] State state_of(const ReductionState& parts) const {
    State state{{reduction_.dtype, parts[0]}, {}};
    if (is_complex(reduction_.dtype)) {
      state.value.im = parts[1];
    }
    if (finds_place(reduction_.op)) {
      state.place = parts.back();
    }
    return state;
  }

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
        return {dtype,
                select(is_floating(dtype) ? wins || not_equal(b.re, b.re) : wins, b.re, a.re)};
      }
      case Op::product:
        if (!is_real) {
          return {dtype, a.re * b.re - *a.im * *b.im, a.re * *b.im + *a.im * b.re};
        }
        return {dtype, dtype == DType::boolean ? a.re && b.re
                       : is_integer(dtype) ? wrapping(cgen::BinaryOp::multiply, a.re, b.re, dtype)
                                           : a.re * b.re};
      default:
        if (!is_real) {
          return {dtype, a.re + b.re, *a.im + *b.im};
        }
        return {dtype, dtype == DType::boolean ? a.re || b.re
                       : is_integer(dtype)     ? wrapping(cgen::BinaryOp::add, a.re, b.re, dtype)
                                               : a.re + b.re};
    }
  }

  /// Whether the value of `b` is to be preferred to that of `a`. NaNs are the best.
  [[nodiscard]] Expr is_better(const State& b, const State& a) const {
    const Expr& left = b.value.re;
    const Expr& right = a.value.re;
    // booleans compare as numbers in C, but not in every checker's eyes
    const auto number = [&](const Expr& value) {
      return reduction_.dtype == DType::boolean ? cast(cgen::i32, value) : value;
    };
    const Expr result =
        reduction_.op == Op::argmin ? number(left) < number(right) : number(left) > number(right);
    return is_floating(reduction_.dtype) ? result || (not_equal(left, left) && equal(right, right))
                                         : result;
  }

  /// Whether `b`, which comes after all elements that `a` holds, replaces it.
  [[nodiscard]] Expr beats(const State& b, const State& a) const {
    if (!is_floating(reduction_.dtype)) {
      return *a.place < 0 || is_better(b, a);
    }
    // two comparisons less than that for each element: who has seen nothing has a NaN
    const Expr& left = b.value.re;
    const Expr& right = a.value.re;
    const Expr is_less = reduction_.op == Op::argmin ? left >= right : left <= right;
    return !is_less && (equal(right, right) || *a.place < 0);
  }

  /// Whether `b` is better than `a`, or as good and before it.
  [[nodiscard]] Expr comes_first(const State& b, const State& a) const {
    const Expr& left = b.value.re;
    const Expr& right = a.value.re;
    Expr is_as_good = equal(left, right);
    if (is_floating(reduction_.dtype)) {
      is_as_good = is_as_good || (not_equal(left, left) && not_equal(right, right));
    }
    const Expr is_before = *b.place < *a.place;
    return *b.place >= 0 && (*a.place < 0 || is_better(b, a) || (is_as_good && is_before));
  }

  const KernelForm& form_;
  const ReductionForm& reduction_;
  const KernelInterface& interface_;
};

}  // namespace

int reduction_threads(cgen::Dialect dialect, ReductionSpread spread) {
  // fewer and larger blocks read as fast, and leave fewer results to the last one
  return dialect == cgen::Dialect::cuda && spread != ReductionSpread::threads
             ? 512
             : block_threads(dialect);
}

cgen::Module make_reduction_module(const KernelForm& form) {
  KernelInterface interface(form);
  const ReductionForm& reduction = *form.reduction;
  ReductionShape shape;
  shape.dialect = form.dialect;
  shape.kept_axes = reduction.kept_axes;
  shape.targets = form.targets.size();
  shape.spread = reduction.spread;
  shape.threads = reduction_threads(form.dialect, reduction.spread);
  shape.is_partial = reduction.is_partial;
  shape.lanes = form.lanes;
  shape.has_last_block_reduce = reduction.has_last_block_reduce;
  cgen::BlockBuilder body;
  emit_reduction(shape, interface, TapeReducer(form, interface), body);
  return finish_module(form, interface, body);
}

}  // namespace rtcg::arrays::detail
