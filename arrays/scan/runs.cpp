#include "rtcg/arrays/scan/runs.h"

#include <string>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/operand.h"
#include "rtcg/arrays/scan/scan_by_key.h"
#include "rtcg/arrays/scan/selecting_call.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

void check_runs(const AnyArray& keys, const Extents& of_values) {
  if (keys.axes() != 1 || !(keys.shape() == of_values)) {
    throw InvalidInput("arrays.runs.shape",
                       fmt::format("runs are found along one axis: the keys have shape {} and the "
                                   "values {}",
                                   to_string(keys.shape()), to_string(of_values)));
  }
  if (is_vector(keys.dtype())) {
    detail::refuse_vector("runs of equal elements", keys.dtype());
  }
}

/// Whether an element differs from the one that is `distance` after it, -1 or 1; that at the end
/// does.
Expression differs_from(const AnyArray& keys, int distance) {
  const Expression i = indices(keys.shape());
  const std::int64_t rim = distance < 0 ? 0 : keys.count() - 1;
  const std::int64_t step = distance * (keys.axes() == 0 ? 1 : keys.strides()[0]);
  const Expression other = gather(keys, where(i == rim, 0, step));
  Expression differs = keys != other;
  if (is_floating(keys.dtype())) {
    differs = differs && !(isnan(keys) && isnan(other));
  }
  return i == rim || differs;
}

/// What selections know: numbers that C compares. Booleans are bytes.
AnyArray comparable(const AnyArray& array) {
  return array.dtype() == DType::boolean ? array.contiguous().reinterpret(DType::u8)
                                         : array.contiguous();
}

bool is_comparable(DType dtype) {
  return dtype == DType::boolean || is_integer(dtype) || (is_floating(dtype) && !is_half(dtype));
}

/// Whether an element `s` differs from the next one, `t`, in the words of the loop engine.
std::string ends_run(DType dtype) {
  return is_floating(dtype) ? "cast(i32, s != t and (s == s or t == t))" : "cast(i32, s != t)";
}

enum class OfRuns { keys, lengths, totals };

/// What is combined along runs.
struct Combined {
  ScanOp op = ScanOp::sum;
  DType dtype = DType::i32;
  friend auto operator<=>(const Combined&, const Combined&) = default;
};

std::string joined_in_run(const Combined& combined) {
  switch (combined.op) {
    case ScanOp::sum:
      return "s + t";
    case ScanOp::product:
      return "s*t";
    case ScanOp::min:
      return "if(s < t or s != s, s, t)";  // a NaN wins
    case ScanOp::max:
      break;
  }
  return "if(s > t or s != s, s, t)";
}

/// The number that joined with any other gives the other.
std::string neutral_of_runs(const Combined& combined) {
  if (combined.op == ScanOp::sum || combined.op == ScanOp::product) {
    return combined.op == ScanOp::sum ? "0" : "1";
  }
  const bool is_max = combined.op == ScanOp::max;
  const std::string type(name(combined.dtype));
  if (is_floating(combined.dtype)) {
    return fmt::format("cast({}, {}inf)", type, is_max ? "-" : "");
  }
  if (is_unsigned_integer(combined.dtype)) {
    return is_max ? "0" : fmt::format("cast({}, -1)", type);
  }
  const auto bits = 8 * static_cast<int>(size_bytes(combined.dtype));
  const std::uint64_t most = ~std::uint64_t{0} >> (65 - bits);
  return is_max ? fmt::format("cast({}, -{} - 1)", type, most)
                : fmt::format("cast({}, {})", type, most);
}

detail::SelectionForm form_of_runs(OfRuns what, DType key, const Combined& combined, bool is_long) {
  detail::SelectionForm form{.name = what == OfRuns::keys      ? "unique"
                                     : what == OfRuns::lengths ? "run_length_encode"
                                                               : "reduce_by_key",
                             .arguments = fmt::format("key: {0}[n]; later: {0}[n - 1]", name(key)),
                             .ends_run = ends_run(key),
                             .outputs = {{"keys", key, key, "key[@]"}},
                             .is_long = is_long};
  if (what == OfRuns::keys) {
    return form;
  }
  const bool has_values = what == OfRuns::totals;
  const DType length = is_long ? DType::i64 : DType::i32;
  const DType dtype = has_values ? combined.dtype : length;
  const std::string one = fmt::format("cast({}, 1)", name(dtype));
  form.totals = {dtype, has_values ? "value[@]" : one, joined_in_run(combined),
                 neutral_of_runs(combined)};
  if (has_values) {
    form.arguments += fmt::format("; value: {}[n]", name(dtype));
  }
  form.outputs.push_back({"results", has_values ? dtype : DType::i64, dtype, "total"});
  return form;
}

const detail::SelectingCall& call_for_runs(OfRuns what, DType key, const Combined& combined,
                                           bool is_long) {
  using Key = std::tuple<OfRuns, DType, Combined, bool>;
  static auto& made = *new detail::MadeOnce<Key, detail::SelectingCall>;
  return made.of({what, key, combined, is_long},
                 [&] { return form_of_runs(what, key, combined, is_long); });
}

/// @param values  null but for totals; numbers of `combined.dtype`
CountedPairs runs_of(OfRuns what, const AnyArray& keys, const AnyArray* values,
                     const Combined& combined) {
  const runtime::StreamRef stream = current_stream(keys.stream());
  const AnyArray compared = comparable(keys);
  const AnyArray chosen(keys.dtype(), keys.shape(), stream);
  const DType dtype = what == OfRuns::totals ? combined.dtype : DType::i64;
  const AnyArray results(dtype, what == OfRuns::keys ? Extents{0} : keys.shape(), stream);
  const Array<std::int64_t> found(AnyArray(DType::i64, {}, stream));
  if (keys.count() == 0) {
    found.assign(0);
    return {chosen, results, found};
  }
  // of one element there is no later one: any memory
  const auto later = [](const AnyArray& array) {
    return array.count() > 1 ? array(Slice{1, array.count()}) : array;
  };
  std::vector<std::pair<std::string, AnyArray>> arrays = {{"key", compared},
                                                          {"later", later(compared)},
                                                          {"keys", comparable(chosen)},
                                                          {"count", found.any().reshape(1)}};
  if (what != OfRuns::keys) {
    arrays.emplace_back("results", results);
  }
  if (values != nullptr) {
    arrays.emplace_back("value", *values);
  }
  call_for_runs(what, compared.dtype(), combined, keys.count() > INT32_MAX)
      .run(stream, arrays, keys.count());
  return {chosen, results, found};
}

}  // namespace

CountedElements unique(const AnyArray& array) {
  check_runs(array, array.shape());
  if (!is_comparable(array.dtype())) {
    return copy_if(array, differs_from(array, -1));
  }
  const CountedPairs found = runs_of(OfRuns::keys, array, nullptr, {});
  return {found.keys, found.count};
}

CountedPairs unique_by_key(const AnyArray& keys, const AnyArray& values) {
  check_runs(keys, values.shape());
  const AnyArray begins = evaluate(differs_from(keys, -1));
  const CountedElements firsts = copy_if(keys, begins);
  return {firsts.elements, copy_if(values, begins).elements, firsts.count};
}

CountedPairs run_length_encode(const AnyArray& array) {
  check_runs(array, array.shape());
  if (!is_comparable(array.dtype())) {
    const Expression one = 0 * indices(array.shape()) + 1;
    return reduce_by_key(ScanOp::sum, array, one, {.dtype = DType::i64});
  }
  return runs_of(OfRuns::lengths, array, nullptr, {});
}

CountedPairs reduce_by_key(ScanOp op, const AnyArray& keys, const Expression& values,
                           const CumulativeOptions& options) {
  check_runs(keys, values.shape());
  const bool is_sum = op == ScanOp::sum || op == ScanOp::product;
  const DType dtype = is_sum ? options.dtype.value_or(sum_type(values.dtype())) : values.dtype();
  if (is_comparable(keys.dtype()) && is_comparable(dtype) && dtype != DType::boolean) {
    const StreamScope scope(current_stream(keys.stream()));
    const AnyArray operands = detail::values_of(cast(values, dtype)).contiguous();
    return runs_of(OfRuns::totals, keys, &operands, {op, dtype});
  }
  CumulativeOptions forward = options;
  forward.is_exclusive = false;
  forward.is_reverse = false;
  const AnyArray ends = evaluate(differs_from(keys, 1));
  const AnyArray running = scan_by_key(op, keys, values, forward);
  const CountedElements lasts = copy_if(keys, ends);
  return {lasts.elements, copy_if(running, ends).elements, lasts.count};
}

}  // namespace rtcg::arrays
