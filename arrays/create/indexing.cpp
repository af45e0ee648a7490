#include "rtcg/arrays/create/indexing.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// A gather: a view of the array over the indices of the result, with index 0 on the indexed axes,
/// and the distance of each element from that view's.
struct Places {
  AnyArray first;
  Expression further;
};

/// As i64. Those of u64 that i64 does not hold are beyond every axis, and not negative.
Expression as_places(const AnyArray& indices) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return cast(indices.dtype() == DType::u64 ? clip(indices, 0, most) : Expression(indices),
              DType::i64);
}

void check_range(const AnyArray& indices, std::int64_t length) {
  if (indices.count() == 0) {
    return;
  }
  const Expression all = as_places(indices);
  const Array<std::int64_t> least(min(all));
  const Array<std::int64_t> greatest(max(all));
  for (const std::int64_t found : {least.item(), greatest.item()}) {
    if (found < -length || found >= length) {
      throw InvalidInput("arrays.take.out_of_range",
                         fmt::format("index {} is outside an axis of length {}", found, length));
    }
  }
}

/// Between 0 and length - 1.
Expression inside(const AnyArray& indices, std::int64_t length, const IndexOptions& options) {
  if (!is_integer(indices.dtype())) {
    throw InvalidInput(
        "arrays.take.not_integers",
        fmt::format("elements are taken at places of integers, not of {}; for a mask use select",
                    name(indices.dtype())));
  }
  if (length == 0 && indices.count() > 0) {
    throw InvalidInput("arrays.take.empty_axis", "an empty axis has no elements to take");
  }
  if (options.checks_range) {
    check_range(indices, length);
  }
  const Expression i = as_places(indices);
  return clip(where(i < 0, i + length, i), 0, std::max<std::int64_t>(length - 1, 0));
}

Places find_places(const AnyArray& array, const std::vector<AnyArray>& indices,
                   std::int64_t first_axis, const IndexOptions& options) {
  const int taken = static_cast<int>(indices.size());
  const int begin = checked_axis(first_axis, array.axes());
  if (taken == 0 || begin + taken > array.axes()) {
    throw InvalidInput("arrays.take.too_many_indices",
                       fmt::format("{} arrays of indices are given from axis {} on for an array of "
                                   "shape {}",
                                   taken, begin, to_string(array.shape())));
  }
  Extents common;
  for (const AnyArray& each : indices) {
    common = broadcast_shapes(common, each.shape());
  }
  Layout layout{{}, {}, array.layout().offset};
  const auto keep = [&](int from, int to) {
    for (int axis = from; axis < to; ++axis) {
      layout.shape.push_back(array.shape()[axis]);
      layout.strides.push_back(array.strides()[axis]);
    }
  };
  keep(0, begin);
  for (const std::int64_t length : common) {
    layout.shape.push_back(length);
    layout.strides.push_back(0);
  }
  keep(begin + taken, array.axes());
  const int axes_after = array.axes() - begin - taken;
  Expression further = 0;
  for (int i = 0; i < taken; ++i) {
    AnyArray each = indices[static_cast<std::size_t>(i)];
    for (int axis = 0; axis < axes_after; ++axis) {
      each = each.expand_dims(-1);
    }
    const Expression step =
        inside(each, array.shape()[begin + i], options) * array.strides()[begin + i];
    further = i == 0 ? step : further + step;
  }
  return {array.view(layout), further};
}

/// The mask with an axis of length 1 for each axis of the array that it does not select along.
void check_mask(const AnyArray& array, const AnyArray& mask) {
  bool fits = mask.axes() <= array.axes();
  for (int axis = 0; fits && axis < mask.axes(); ++axis) {
    fits = mask.shape()[axis] == array.shape()[axis];
  }
  if (!fits) {
    throw InvalidInput("arrays.select.shape_mismatch",
                       fmt::format("a mask of shape {} selects nothing in an array of shape {}: "
                                   "their first lengths must be the same",
                                   to_string(mask.shape()), to_string(array.shape())));
  }
}

}  // namespace

Expression take(const AnyArray& array, const AnyArray& indices, std::int64_t axis,
                const IndexOptions& options) {
  return take_at(array, {indices}, axis, options);
}

Expression take(const AnyArray& array, const AnyArray& indices, const IndexOptions& options) {
  return take_at(array.ravel(), {indices}, 0, options);
}

Expression take_at(const AnyArray& array, const std::vector<AnyArray>& indices, std::int64_t axis,
                   const IndexOptions& options) {
  const Places places = find_places(array, indices, axis, options);
  return gather(places.first, places.further);
}

void put(const AnyArray& array, const AnyArray& indices, const Expression& values,
         const IndexOptions& options) {
  if (const auto flat = reshape(array.layout(), {-1})) {
    put_at(array.view(*flat), {indices}, values, 0, options);
    return;
  }
  // places along each axis, from the last on
  std::vector<AnyArray> each;
  Expression rest = inside(indices, array.count(), options);
  for (int axis = array.axes() - 1; axis >= 0; --axis) {
    const std::int64_t length = array.shape()[axis];
    each.insert(each.begin(), evaluate(rest % length));
    rest = floor_divide(rest, length);
  }
  put_at(array, each, values);
}

void put_at(const AnyArray& array, const std::vector<AnyArray>& indices, const Expression& values,
            std::int64_t axis, const IndexOptions& options) {
  const Places places = find_places(array, indices, axis, options);
  scatter(values, places.further, places.first);
}

Array<std::int64_t> flat_nonzero(const AnyArray& array) {
  const StreamScope scope(current_stream(array.stream()));
  return Array<std::int64_t>(find_if(array).trimmed().copy());
}

std::vector<AnyArray> nonzero(const AnyArray& array) {
  Expression rest = flat_nonzero(array);
  std::vector<AnyArray> result;
  for (int axis = array.axes() - 1; axis >= 0; --axis) {
    const std::int64_t length = std::max<std::int64_t>(array.shape()[axis], 1);
    result.insert(result.begin(), evaluate(rest % length));
    rest = floor_divide(rest, length);
  }
  return result;
}

AnyArray select(const AnyArray& array, const AnyArray& mask) {
  check_mask(array, mask);
  Extents shape = {mask.count()};
  for (int axis = mask.axes(); axis < array.axes(); ++axis) {
    shape.push_back(array.shape()[axis]);
  }
  return evaluate(take(array.reshape(shape), flat_nonzero(mask), 0));
}

namespace {

/// The k-th selected element gets the k-th value. How many are selected stays on the device.
void put_in_order(const AnyArray& array, const AnyArray& mask, const Expression& values) {
  Extents tail;
  for (int axis = mask.axes(); axis < array.axes(); ++axis) {
    tail.push_back(array.shape()[axis]);
  }
  const bool has_own_axis = values.shape().size() > tail.size();
  Extents shape = tail;
  shape.insert(0, has_own_axis ? values.shape()[0] : 1);
  if (!(broadcast_shapes(shape, values.shape()) == shape)) {
    throw InvalidInput("arrays.broadcast.shape_mismatch",
                       fmt::format("values of shape {} do not belong to selected elements of shape "
                                   "{}",
                                   to_string(values.shape()), to_string(tail)));
  }
  const AnyArray given = evaluate(values).broadcast_to(shape);
  if (array.count() == 0 || given.count() == 0) {
    return;
  }
  const AnyArray chosen = evaluate(cast(mask, DType::boolean));
  AnyArray before = cumulative_sum(chosen.reshape(mask.count()), {.is_exclusive = true});
  before = before.reshape(mask.shape());
  AnyArray wide = chosen;
  Layout first{array.shape(), {}, given.layout().offset};
  for (int axis = 0; axis < array.axes(); ++axis) {
    const int own = axis - mask.axes();
    first.strides.push_back(own < 0 ? 0 : given.strides()[own + 1]);
    if (own >= 0) {
      wide = wide.expand_dims(-1);
      before = before.expand_dims(-1);
    }
  }
  Expression which = before;
  if (shape[0] < mask.count()) {
    which = which % shape[0];
  }
  array.assign(where(wide, gather(given.view(first), which * given.strides()[0]), array));
}

}  // namespace

void put_where(const AnyArray& array, const AnyArray& mask, const Expression& values) {
  check_mask(array, mask);
  if (values.shape().empty()) {
    const Expression value = detail::fitted(values, array.dtype());
    AnyArray wide = mask;
    for (int axis = mask.axes(); axis < array.axes(); ++axis) {
      wide = wide.expand_dims(-1);
    }
    array.assign(cast(where(wide, value, array), array.dtype()));
    return;
  }
  if (mask.axes() == 0) {
    array.assign(cast(where(mask, detail::fitted(values, array.dtype()), array), array.dtype()));
    return;
  }
  put_in_order(array, mask, detail::fitted(values, array.dtype()));
}

AnyArray repeat(const AnyArray& array, std::int64_t times, std::int64_t axis) {
  const int place = checked_axis(axis, array.axes());
  Extents shape = array.shape();
  shape.insert(place + 1, times);
  Extents merged = array.shape();
  merged[place] = detail::checked_product(merged[place], times);
  return array.expand_dims(place + 1).broadcast_to(shape).reshape(merged);
}

}  // namespace rtcg::arrays
