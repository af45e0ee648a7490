#include "rtcg/arrays/create/create.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// The type in which places are turned into values.
DType ramp_type(DType dtype) {
  if (is_integer(dtype) || dtype == DType::boolean) {
    return DType::i64;
  }
  return DType::f64;
}

void check_step(bool is_right) {
  if (!is_right) {
    throw InvalidInput("arrays.arange.zero_step", "a step of 0 does not reach the end");
  }
}

AnyArray make_ramp(DType dtype, std::int64_t begin, std::int64_t step, std::int64_t count,
                   runtime::StreamRef stream) {
  const StreamScope scope(stream);
  AnyArray result(dtype, {count}, stream);
  result.assign(cast(begin + indices({count}) * step, dtype));
  return result;
}

Slice range(std::int64_t begin, std::int64_t end) {
  return {begin, end, 1};
}

/// `slice` of one axis, all of the others.
AnyArray along(const AnyArray& array, int axis, const Slice& part) {
  std::vector<Index> index(static_cast<std::size_t>(axis), whole);
  index.emplace_back(part);
  return array.view(slice(array.layout(), index));
}

}  // namespace

AnyArray empty(DType dtype, const Extents& shape, runtime::StreamRef stream, Order order) {
  return {dtype, shape, stream, order};
}

AnyArray full(DType dtype, const Extents& shape, const Expression& value, runtime::StreamRef stream,
              Order order) {
  AnyArray result(dtype, shape, stream, order);
  const StreamScope scope(stream);
  result.assign(detail::as(value, dtype));
  return result;
}

AnyArray zeros(DType dtype, const Extents& shape, runtime::StreamRef stream, Order order) {
  return full(dtype, shape, 0, stream, order);
}

AnyArray ones(DType dtype, const Extents& shape, runtime::StreamRef stream, Order order) {
  return full(dtype, shape, 1, stream, order);
}

AnyArray arange(DType dtype, double begin, double end, double step, runtime::StreamRef stream) {
  check_step(step != 0);
  const double steps = std::ceil((end - begin) / step);
  if (!(steps < 0x1p62)) {  // nor if it is not a number
    throw InvalidInput("arrays.arange.endless",
                       fmt::format("from {} to {} by {} there are more numbers than an array holds",
                                   begin, end, step));
  }
  const auto count = static_cast<std::int64_t>(std::max(steps, 0.0));
  const bool is_whole = std::floor(begin) == begin && std::floor(step) == step &&
                        std::abs(begin) < 0x1p62 && std::abs(step) < 0x1p62;
  if (is_whole && ramp_type(dtype) == DType::i64) {
    return make_ramp(dtype, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(step),
                     count, stream);
  }
  const StreamScope scope(stream);
  AnyArray result(dtype, {count}, stream);
  result.assign(cast(begin + cast(indices({count}), DType::f64) * step, dtype));
  return result;
}

AnyArray detail::arange_of_integers(DType dtype, std::int64_t begin, std::int64_t end,
                                    std::int64_t step, runtime::StreamRef stream) {
  check_step(step != 0);
  if (ramp_type(dtype) != DType::i64) {
    return arange(dtype, static_cast<double>(begin), static_cast<double>(end),
                  static_cast<double>(step), stream);
  }
  const bool is_up = step > 0;
  const auto low = static_cast<std::uint64_t>(is_up ? begin : end);
  const auto high = static_cast<std::uint64_t>(is_up ? end : begin);
  const std::uint64_t each =
      is_up ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const bool is_empty = is_up ? begin >= end : begin <= end;
  const std::uint64_t count = is_empty ? 0 : (high - low - 1) / each + 1;
  return make_ramp(dtype, begin, step,
                   static_cast<std::int64_t>(
                       std::min(count, std::uint64_t{std::numeric_limits<std::int64_t>::max()})),
                   stream);
}

AnyArray linspace(DType dtype, double begin, double end, std::int64_t count, bool with_end,
                  runtime::StreamRef stream) {
  const StreamScope scope(stream);
  AnyArray result(dtype, {count}, stream);
  const std::int64_t steps = with_end ? count - 1 : count;
  const double step = steps > 0 ? (end - begin) / static_cast<double>(steps) : 0;
  const Expression place = indices({count});
  const Expression value = begin + cast(place, DType::f64) * step;
  // the last one is exactly `end`, in spite of rounding
  result.assign(cast(with_end && count > 1 ? where(place == count - 1, end, value) : value, dtype));
  return result;
}

AnyArray empty_like(const AnyArray& array) {
  const bool is_f = array.layout().is_contiguous(Order::f) && !array.layout().is_contiguous();
  return {array.dtype(), array.shape(), current_stream(array.stream()), is_f ? Order::f : Order::c};
}

AnyArray full_like(const AnyArray& array, const Expression& value) {
  AnyArray result = empty_like(array);
  result.assign(value);
  return result;
}

AnyArray zeros_like(const AnyArray& array) {
  return full_like(array, 0);
}

AnyArray ones_like(const AnyArray& array) {
  return full_like(array, 1);
}

AnyArray concatenate(const std::vector<AnyArray>& arrays, std::int64_t axis) {
  if (arrays.empty()) {
    throw InvalidInput("arrays.concatenate.nothing", "no arrays are given to be joined");
  }
  const int place = checked_axis(axis, arrays[0].axes());
  Extents shape = arrays[0].shape();
  DType dtype = arrays[0].dtype();
  shape[place] = 0;
  for (const AnyArray& array : arrays) {
    Extents others = array.shape();
    const std::int64_t length = others.size() > place ? others[place] : 0;
    if (others.size() > place) {
      others[place] = shape[place];
    }
    if (!(others == shape)) {
      throw InvalidInput(
          "arrays.concatenate.shape_mismatch",
          fmt::format("shapes {} and {} differ in more than axis {}", to_string(arrays[0].shape()),
                      to_string(array.shape()), place));
    }
    shape[place] = detail::checked_sum(shape[place], length);
    dtype = promote(dtype, array.dtype());
  }
  AnyArray result(dtype, shape, current_stream(arrays[0].stream()));
  std::int64_t begin = 0;
  for (const AnyArray& array : arrays) {
    const std::int64_t end = begin + array.shape()[place];
    along(result, place, range(begin, end)).assign(array);
    begin = end;
  }
  return result;
}

AnyArray stack(const std::vector<AnyArray>& arrays, std::int64_t axis) {
  std::vector<AnyArray> expanded;
  for (const AnyArray& array : arrays) {
    expanded.push_back(array.expand_dims(axis));
  }
  return concatenate(expanded, axis);
}

std::vector<AnyArray> split(const AnyArray& array, std::int64_t parts, std::int64_t axis) {
  const int place = checked_axis(axis, array.axes());
  const std::int64_t length = array.shape()[place];
  if (parts <= 0 || length % parts != 0) {
    throw InvalidInput("arrays.split.unequal_parts",
                       fmt::format("axis {} of length {} cannot be split into {} equal parts", axis,
                                   length, parts));
  }
  std::vector<AnyArray> result;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t each = length / parts;
    result.push_back(along(array, place, range(part * each, (part + 1) * each)));
  }
  return result;
}

AnyArray tile(const AnyArray& array, const Extents& repetitions) {
  Extents often = repetitions;
  AnyArray source = array;
  while (often.size() < array.axes()) {
    often.insert(0, 1);
  }
  while (source.axes() < often.size()) {
    source = source.expand_dims(0);
  }
  Extents repeated;
  Extents shape;
  Layout layout = source.layout();
  for (int axis = 0; axis < often.size(); ++axis) {
    repeated.push_back(often[axis]);
    repeated.push_back(source.shape()[axis]);
    shape.push_back(detail::checked_product(often[axis], source.shape()[axis]));
    layout = expand_dims(layout, 2 * axis);
  }
  AnyArray result(array.dtype(), shape, current_stream(array.stream()));
  result.reshape(repeated).assign(source.view(layout));
  return result;
}

AnyArray roll(const AnyArray& array, std::int64_t distance, std::int64_t axis) {
  const int place = checked_axis(axis, array.axes());
  const std::int64_t length = array.shape()[place];
  AnyArray result(array.dtype(), array.shape(), current_stream(array.stream()));
  if (length == 0) {
    return result;
  }
  const std::int64_t shift = ((distance % length) + length) % length;
  along(result, place, range(shift, length)).assign(along(array, place, range(0, length - shift)));
  along(result, place, range(0, shift)).assign(along(array, place, range(length - shift, length)));
  return result;
}

AnyArray pad(const AnyArray& array, const Extents& before, const Extents& after,
             const Expression& value) {
  if (before.size() != array.axes() || after.size() != array.axes()) {
    throw InvalidInput("arrays.pad.wrong_count",
                       fmt::format("an array of {} axes is padded by as many numbers before and "
                                   "after, not {} and {}",
                                   array.axes(), before.size(), after.size()));
  }
  Extents shape = array.shape();
  std::vector<Index> middle;
  for (int axis = 0; axis < array.axes(); ++axis) {
    if (before[axis] < 0 || after[axis] < 0) {
      throw InvalidInput(
          "arrays.pad.negative_count",
          fmt::format("axis {} cannot be padded by {} and {} elements: a slice takes "
                      "elements away",
                      axis, before[axis], after[axis]));
    }
    shape[axis] = detail::checked_sum(shape[axis], detail::checked_sum(before[axis], after[axis]));
    middle.emplace_back(range(before[axis], before[axis] + array.shape()[axis]));
  }
  AnyArray result(array.dtype(), shape, current_stream(array.stream()));
  result.assign(value);
  result.view(slice(result.layout(), middle)).assign(array);
  return result;
}

}  // namespace rtcg::arrays
