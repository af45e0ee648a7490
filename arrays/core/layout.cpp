#include "rtcg/arrays/core/layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

[[noreturn]] void throw_shape_mismatch(const Extents& left, const Extents& right) {
  throw InvalidInput(
      "arrays.broadcast.shape_mismatch",
      fmt::format("shapes {} and {} cannot be broadcast: counted from the last, lengths must be "
                  "equal or 1",
                  to_string(left), to_string(right)));
}

/// Appends one axis of `source`, cut to `slice`.
void append_slice(Layout& result, const Slice& slice, std::int64_t length, std::int64_t stride) {
  if (slice.step == 0) {
    throw InvalidInput("arrays.slice.zero_step", "a slice has a step of 0");
  }
  const bool is_forward = slice.step > 0;
  const std::int64_t lowest = is_forward ? 0 : -1;
  const std::int64_t highest = is_forward ? length : length - 1;
  const auto bound = [&](const std::optional<std::int64_t>& given, std::int64_t otherwise) {
    return given ? std::clamp(*given < 0 ? *given + length : *given, lowest, highest) : otherwise;
  };
  const std::int64_t begin = bound(slice.begin, is_forward ? 0 : highest);
  const std::int64_t end = bound(slice.end, is_forward ? highest : -1);
  const std::int64_t distance = is_forward ? end - begin : begin - end;
  // as unsigned: the least step cannot be negated
  const std::uint64_t step = is_forward ? static_cast<std::uint64_t>(slice.step)
                                        : 0 - static_cast<std::uint64_t>(slice.step);
  const std::int64_t count =
      distance <= 0
          ? 0
          : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / step) + 1;
  result.shape.push_back(count);
  result.strides.push_back(count > 1 ? stride * slice.step : stride);
  result.offset += count > 0 ? begin * stride : 0;
}

bool is_unit(const Layout& layout, int axis) {
  return layout.shape[axis] == 1;
}

}  // namespace

bool Layout::is_contiguous(Order order) const {
  if (shape.contains(0)) {
    return true;
  }
  std::int64_t expected = 1;
  for (int i = 0; i < axes(); ++i) {
    const int axis = order == Order::c ? axes() - 1 - i : i;
    if (shape[axis] != 1 && strides[axis] != expected) {
      return false;
    }
    expected *= shape[axis];
  }
  return true;
}

Layout make_layout(const Extents& shape, Order order) {
  static_cast<void>(element_count(shape));  // throws if it is not a shape
  Layout layout{shape, Extents::filled(shape.size(), 1), 0};
  std::int64_t stride = 1;
  for (int i = 0; i < shape.size(); ++i) {
    const int axis = order == Order::c ? shape.size() - 1 - i : i;
    layout.strides[axis] = stride;
    // in an array without elements no stride is ever followed
    stride *= shape.contains(0) ? 1 : shape[axis];
  }
  return layout;
}

std::optional<Reach> reach_of(const Layout& layout) {
  if (layout.shape.contains(0)) {
    return std::nullopt;
  }
  Reach reach{layout.offset, layout.offset};
  for (int axis = 0; axis < layout.axes(); ++axis) {
    const std::int64_t far = detail::checked_product(layout.shape[axis] - 1, layout.strides[axis]);
    std::int64_t& end = far < 0 ? reach.first : reach.last;
    end = detail::checked_sum(end, far);
  }
  return reach;
}

bool may_repeat_elements(const Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, length
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (!is_unit(layout, axis)) {
      steps.emplace_back(std::abs(layout.strides[axis]), layout.shape[axis]);
    }
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reached = 0;
  for (const auto& [stride, length] : steps) {
    if (stride <= reached) {
      return !layout.shape.contains(0);
    }
    reached += stride * (length - 1);
  }
  return false;
}

int checked_axis(std::int64_t axis, int axes) {
  if (axis < -axes || axis >= axes) {
    throw InvalidInput(
        "arrays.layout.bad_axis",
        fmt::format("there is no axis {}: the array has {} axes, so {} to {} are allowed", axis,
                    axes, -axes, axes - 1));
  }
  return static_cast<int>(axis < 0 ? axis + axes : axis);
}

Layout slice(const Layout& layout, std::span<const Index> index) {
  int taken = 0;
  int ellipses = 0;
  for (const Index& entry : index) {
    taken += entry.kind() == Index::Kind::number || entry.kind() == Index::Kind::slice ? 1 : 0;
    ellipses += entry.kind() == Index::Kind::ellipsis ? 1 : 0;
  }
  if (taken > layout.axes()) {
    throw InvalidInput("arrays.slice.too_many_indices",
                       fmt::format("{} indices are given for an array of shape {}", taken,
                                   to_string(layout.shape)));
  }
  if (ellipses > 1) {
    throw InvalidInput("arrays.slice.two_ellipses", "an index has more than one ellipsis");
  }
  Layout result;
  result.offset = layout.offset;
  int axis = 0;
  const auto keep_axes = [&](int count) {
    for (; count > 0; --count, ++axis) {
      append_slice(result, {}, layout.shape[axis], layout.strides[axis]);
    }
  };
  for (const Index& entry : index) {
    switch (entry.kind()) {
      case Index::Kind::number: {
        const std::int64_t length = layout.shape[axis];
        const std::int64_t at = entry.number() < 0 ? entry.number() + length : entry.number();
        if (at < 0 || at >= length) {
          throw InvalidInput("arrays.slice.out_of_range",
                             fmt::format("index {} is outside axis {} of length {}", entry.number(),
                                         axis, length));
        }
        result.offset += at * layout.strides[axis++];
        break;
      }
      case Index::Kind::slice:
        append_slice(result, entry.slice(), layout.shape[axis], layout.strides[axis]);
        ++axis;
        break;
      case Index::Kind::newaxis:
        result.shape.push_back(1);
        result.strides.push_back(0);
        break;
      case Index::Kind::ellipsis:
        keep_axes(layout.axes() - taken);
        break;
    }
  }
  keep_axes(layout.axes() - axis);
  return result;
}

Layout transpose(const Layout& layout, const Extents& axes) {
  Layout result = layout;
  std::vector<bool> seen(static_cast<std::size_t>(layout.axes()), false);
  bool is_permutation = axes.size() == layout.axes();
  for (int i = 0; is_permutation && i < axes.size(); ++i) {
    const int axis = checked_axis(axes[i], layout.axes());
    is_permutation = !seen[static_cast<std::size_t>(axis)];
    seen[static_cast<std::size_t>(axis)] = true;
    result.shape[i] = layout.shape[axis];
    result.strides[i] = layout.strides[axis];
  }
  if (!is_permutation) {
    throw InvalidInput(
        "arrays.layout.not_a_permutation",
        fmt::format("{} does not name each of the {} axes once", to_string(axes), layout.axes()));
  }
  return result;
}

Layout transpose(const Layout& layout) {
  Layout result = layout;
  std::reverse(result.shape.begin(), result.shape.end());
  std::reverse(result.strides.begin(), result.strides.end());
  return result;
}

Layout swap_axes(const Layout& layout, std::int64_t first, std::int64_t second) {
  Layout result = layout;
  const int a = checked_axis(first, layout.axes());
  const int b = checked_axis(second, layout.axes());
  std::swap(result.shape[a], result.shape[b]);
  std::swap(result.strides[a], result.strides[b]);
  return result;
}

Layout move_axis(const Layout& layout, std::int64_t from, std::int64_t to) {
  const int source = checked_axis(from, layout.axes());
  const int target = checked_axis(to, layout.axes());
  Extents order;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (axis != source) {
      order.push_back(axis);
    }
  }
  order.insert(target, source);
  return transpose(layout, order);
}

Extents resolve_shape(const Extents& shape, std::int64_t count) {
  Extents result = shape;
  int unknown = -1;
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == -1) {
      if (unknown >= 0) {
        throw InvalidInput("arrays.reshape.two_unknown_lengths",
                           fmt::format("shape {} leaves two lengths open", to_string(shape)));
      }
      unknown = axis;
      result[axis] = 1;
    }
  }
  const std::int64_t known = element_count(result);
  if (unknown >= 0 && known != 0 && count % known == 0) {
    result[unknown] = count / known;
  } else if (unknown >= 0 || known != count) {
    throw InvalidInput(
        "arrays.reshape.size_mismatch",
        fmt::format("an array of {} elements cannot have the shape {}", count, to_string(shape)));
  }
  return result;
}

std::optional<Layout> reshape(const Layout& layout, const Extents& wanted) {
  const Extents shape = resolve_shape(wanted, layout.count());
  Layout result = make_layout(shape);
  result.offset = layout.offset;
  if (shape.contains(0)) {
    return result;
  }
  Layout merged = layout;
  collapse({&merged, 1}, {.may_reorder = false});
  // each new axis must be inside one of the merged axes; both are visited from the last on
  int old_axis = merged.axes() - 1;
  std::int64_t left = old_axis >= 0 ? merged.shape[old_axis] : 1;
  std::int64_t stride = old_axis >= 0 ? merged.strides[old_axis] : 1;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) {
      result.strides[axis] = stride;
      continue;
    }
    if (left == 1) {
      --old_axis;
      left = merged.shape[old_axis];
      stride = merged.strides[old_axis];
    }
    if (left % shape[axis] != 0) {
      return std::nullopt;
    }
    result.strides[axis] = stride;
    stride *= shape[axis];
    left /= shape[axis];
  }
  return result;
}

Layout broadcast_to(const Layout& layout, const Extents& shape) {
  const int added = shape.size() - layout.axes();
  if (added < 0) {
    throw_shape_mismatch(layout.shape, shape);
  }
  Layout result{shape, Extents::filled(shape.size(), 0), layout.offset};
  for (int axis = 0; axis < layout.axes(); ++axis) {
    const std::int64_t length = layout.shape[axis];
    if (length == shape[axis + added]) {
      result.strides[axis + added] = layout.strides[axis];
    } else if (length != 1) {
      throw_shape_mismatch(layout.shape, shape);
    }
  }
  return result;
}

Extents broadcast_shapes(const Extents& left, const Extents& right) {
  const Extents& longer = left.size() >= right.size() ? left : right;
  const Extents& shorter = left.size() >= right.size() ? right : left;
  Extents result = longer;
  const int added = longer.size() - shorter.size();
  for (int axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& length = result[axis + added];
    if (length == 1) {
      length = shorter[axis];
    } else if (shorter[axis] != 1 && shorter[axis] != length) {
      throw_shape_mismatch(left, right);
    }
  }
  return result;
}

Extents broadcast_shapes(std::span<const Extents> shapes) {
  Extents result;
  for (const Extents& shape : shapes) {
    result = broadcast_shapes(result, shape);
  }
  return result;
}

Layout squeeze(const Layout& layout) {
  Extents axes;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (is_unit(layout, axis)) {
      axes.push_back(axis);
    }
  }
  return squeeze(layout, axes);
}

Layout squeeze(const Layout& layout, const Extents& axes) {
  std::vector<bool> goes(static_cast<std::size_t>(layout.axes()), false);
  for (const std::int64_t given : axes) {
    const int axis = checked_axis(given, layout.axes());
    if (!is_unit(layout, axis)) {
      throw InvalidInput("arrays.squeeze.length_not_one",
                         fmt::format("axis {} of shape {} cannot be removed: its length is not 1",
                                     given, to_string(layout.shape)));
    }
    goes[static_cast<std::size_t>(axis)] = true;
  }
  Layout result;
  result.offset = layout.offset;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (!goes[static_cast<std::size_t>(axis)]) {
      result.shape.push_back(layout.shape[axis]);
      result.strides.push_back(layout.strides[axis]);
    }
  }
  return result;
}

Layout expand_dims(const Layout& layout, std::int64_t axis) {
  Layout result = layout;
  const int place = checked_axis(axis, layout.axes() + 1);
  result.shape.insert(place, 1);
  result.strides.insert(place, 0);
  return result;
}

Layout flip(const Layout& layout, const Extents& axes) {
  Layout result = layout;
  for (const std::int64_t given : axes) {
    const int axis = checked_axis(given, layout.axes());
    result.offset += std::max<std::int64_t>(result.shape[axis] - 1, 0) * result.strides[axis];
    result.strides[axis] = -result.strides[axis];
  }
  return result;
}

}  // namespace rtcg::arrays
