#include "rtcg/arrays/sort/search.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/operand.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

void check_search_type(DType dtype) {
  if (is_complex(dtype) || is_vector(dtype)) {
    throw InvalidInput("arrays.search.dtype",
                       fmt::format("elements of {} have no order: search among booleans, integers "
                                   "or floating-point numbers",
                                   name(dtype)));
  }
}

/// A binary search for each element; kept for good.
const ElementwiseKernel& search_kernel(DType dtype, SearchSide side) {
  static auto& made = *new detail::MadeOnce<std::pair<DType, SearchSide>, ElementwiseKernel>;
  return made.of({dtype, side}, [&] {
    KernelArgument sorted = array_argument(dtype, "sorted");
    KernelArgument value = array_argument(dtype, "value");
    sorted.is_const = true;
    value.is_const = true;
    // whether `sorted[middle]` comes before the value
    const bool has_nan = is_floating(dtype);
    const std::string less = has_nan ? "({0} < {1} || ({1} != {1} && {0} == {0}))" : "({0} < {1})";
    const std::string is_before =
        side == SearchSide::left
            ? fmt::format(fmt::runtime(less), "sorted[middle]", "value[i]")
            : "!" + fmt::format(fmt::runtime(less), "value[i]", "sorted[middle]");
    return ElementwiseKernel(
        {sorted, number_argument(DType::i64, "length"), value, array_argument(DType::i64, "place")},
        "long first = 0; long after = length; "
        "while (first < after) { "
        "const long middle = first + (after - first) / 2; if (" +
            is_before +
            ") { first = middle + 1; } else { after = middle; } "
            "} place[i] = first;",
        {.name = "searchsorted"});
  });
}

}  // namespace

Array<std::int64_t> searchsorted(const AnyArray& sorted, const Expression& values,
                                 SearchSide side) {
  if (sorted.axes() != 1) {
    throw InvalidInput("arrays.search.shape",
                       fmt::format("an array of shape {} cannot be searched: it needs one axis",
                                   to_string(sorted.shape())));
  }
  check_search_type(sorted.dtype());
  check_search_type(values.dtype());
  DType dtype = promote(sorted.dtype(), values.dtype());
  if (dtype == DType::boolean) {
    dtype = DType::u8;
  }
  const StreamScope scope(current_stream(sorted.stream()));
  const AnyArray among = detail::fitted_array(sorted, dtype).contiguous();
  const AnyArray wanted = detail::values_of(cast(values, dtype)).contiguous();
  const Array<std::int64_t> places(AnyArray(DType::i64, values.shape(), current_stream()));
  if (places.count() != 0) {
    search_kernel(dtype, side)(among, sorted.count(), wanted, places);
  }
  return places;
}

Array<std::int64_t> digitize(const Expression& values, const AnyArray& edges, bool includes_right) {
  return searchsorted(edges, values, includes_right ? SearchSide::left : SearchSide::right);
}

AnyArray interp(const Expression& x, const AnyArray& x_known, const AnyArray& y_known) {
  if (x_known.axes() != 1 || x_known.count() == 0 || !(x_known.shape() == y_known.shape())) {
    throw InvalidInput("arrays.search.shape",
                       fmt::format("points of shapes {} and {} give no function: both have one "
                                   "axis of one length of at least 1",
                                   to_string(x_known.shape()), to_string(y_known.shape())));
  }
  for (const DType each : {x.dtype(), y_known.dtype()}) {
    check_search_type(each);
  }
  const StreamScope scope(current_stream(x_known.stream()));
  const DType all = promote(promote(x.dtype(), x_known.dtype()), y_known.dtype());
  const DType dtype = is_floating(all) && all != DType::f64 ? DType::f32 : DType::f64;
  const AnyArray at = detail::values_of(cast(x, dtype));
  const AnyArray xs = detail::fitted_array(x_known, dtype);
  const AnyArray ys = detail::fitted_array(y_known, dtype);
  const std::int64_t last = xs.count() - 1;
  const AnyArray after = searchsorted(xs, at, SearchSide::right);
  const AnyArray left = evaluate(clip(after - 1, 0, last));
  const AnyArray right = evaluate(clip(after, 0, last));
  const Expression x0 = take(xs, left);
  const Expression y0 = take(ys, left);
  const Expression step = take(xs, right) - x0;
  const Expression inside = y0 + (take(ys, right) - y0) * ((at - x0) / step);
  return evaluate(where(isnan(at), at, where(step > 0, inside, y0)));
}

}  // namespace rtcg::arrays
