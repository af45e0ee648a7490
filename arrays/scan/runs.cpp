#include "rtcg/arrays/scan/runs.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/scan/scan_by_key.h"
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
Expression ends_run(const AnyArray& keys, int distance) {
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

}  // namespace

CountedElements unique(const AnyArray& array) {
  check_runs(array, array.shape());
  return copy_if(array, ends_run(array, -1));
}

CountedPairs unique_by_key(const AnyArray& keys, const AnyArray& values) {
  check_runs(keys, values.shape());
  const AnyArray begins = evaluate(ends_run(keys, -1));
  const CountedElements firsts = copy_if(keys, begins);
  return {firsts.elements, copy_if(values, begins).elements, firsts.count};
}

CountedPairs run_length_encode(const AnyArray& array) {
  check_runs(array, array.shape());
  const StreamScope scope(current_stream(array.stream()));
  const AnyArray begins = evaluate(ends_run(array, -1));
  const CountedElements firsts = copy_if(array, begins);
  const AnyArray places = find_if(begins).elements;
  const std::int64_t count = array.count();
  const Expression i = indices(places.shape());
  const Expression next = gather(places, where(i + 1 < count, 1, 0));
  return {firsts.elements, evaluate(where(i + 1 < firsts.count, next, count) - places),
          firsts.count};
}

CountedPairs reduce_by_key(ScanOp op, const AnyArray& keys, const Expression& values,
                           const CumulativeOptions& options) {
  check_runs(keys, values.shape());
  CumulativeOptions forward = options;
  forward.is_exclusive = false;
  forward.is_reverse = false;
  const AnyArray ends = evaluate(ends_run(keys, 1));
  const AnyArray running = scan_by_key(op, keys, values, forward);
  const CountedElements lasts = copy_if(keys, ends);
  return {lasts.elements, copy_if(running, ends).elements, lasts.count};
}

}  // namespace rtcg::arrays
