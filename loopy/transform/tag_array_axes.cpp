#include "rtcg/loopy/transform/tag_array_axes.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/split_outside_brackets.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Order = std::vector<std::size_t>;

/// `N2,N0,N1` as axes from the slowest to the fastest varying.
std::optional<Order> parse_nesting(const std::vector<std::string>& parts) {
  std::vector<std::optional<std::size_t>> axis_at(parts.size());
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    const std::string& part = parts[axis];
    if (!part.starts_with('N')) {
      return std::nullopt;
    }
    std::size_t nesting = 0;
    const auto [end, error] = std::from_chars(part.data() + 1, part.data() + part.size(), nesting);
    if (error != std::errc() || end != part.data() + part.size() || nesting >= parts.size() ||
        axis_at[nesting]) {
      return std::nullopt;
    }
    axis_at[nesting] = axis;
  }
  Order order;
  for (std::size_t nesting = parts.size(); nesting-- > 0;) {
    order.push_back(*axis_at[nesting]);
  }
  return order;
}

std::optional<std::vector<Expr>> parse_strides(const std::vector<std::string>& parts) {
  std::vector<Expr> strides;
  for (const std::string& part : parts) {
    constexpr std::string_view key = "stride:";
    if (!part.starts_with(key)) {
      return std::nullopt;
    }
    try {
      strides.push_back(parse_expr(std::string_view(part).substr(key.size())));
    } catch (const InvalidInput&) {
      return std::nullopt;
    }
  }
  return strides;
}

/// `N1,N0,vec`: the elements along the axis are contiguous, three take the place of four, and the
/// other axes nest as stated.
std::optional<std::vector<Expr>> strides_of_vectors(const std::vector<Expr>& shape,
                                                    std::vector<std::string> parts,
                                                    std::size_t axis) {
  const auto length = as_integer(shape[axis]);
  if (!length || *length < 2 || *length > 4) {
    return std::nullopt;
  }
  const auto place = static_cast<std::ptrdiff_t>(axis);
  parts.erase(parts.begin() + place);
  std::vector<Expr> others = shape;
  others.erase(others.begin() + place);
  const std::optional<Order> nesting = parse_nesting(parts);
  if (!nesting) {
    return std::nullopt;
  }
  std::vector<Expr> strides = strides_in_order(others, *nesting);
  for (Expr& stride : strides) {
    stride = simplify_index(Expr(*length == 3 ? 4 : *length) * stride);
  }
  strides.insert(strides.begin() + place, Expr(1));
  return strides;
}

std::optional<std::vector<Expr>> find_strides(const std::vector<Expr>& shape,
                                              std::string_view layout) {
  Order order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (layout == "C") {
    return strides_in_order(shape, order);
  }
  if (layout == "F") {
    return strides_in_order(shape, {order.rbegin(), order.rend()});
  }
  const std::vector<std::string> parts = split_outside_brackets(layout, ',');
  if (parts.size() != shape.size()) {
    return std::nullopt;
  }
  if (const auto vec = std::find(parts.begin(), parts.end(), "vec"); vec != parts.end()) {
    return strides_of_vectors(shape, parts, static_cast<std::size_t>(vec - parts.begin()));
  }
  if (const std::optional<Order> nesting = parse_nesting(parts)) {
    return strides_in_order(shape, *nesting);
  }
  return parse_strides(parts);
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::vector<std::string>& arrays,
                                    std::string_view layout) {
  for (const std::string& array : arrays) {
    const std::optional<ArrayLayout> old = find_layout(kernel, array);
    if (!old) {
      return Refusal{
          "loopy.tag_array_axes.unknown_array",
          fmt::format("kernel '{}' has no array '{}' of known shape", kernel.name, array)};
    }
    if (!find_strides(old->shape, layout)) {
      return Refusal{"loopy.tag_array_axes.bad_layout",
                     fmt::format("'{}' is not a layout for the {} axes of '{}': write C, F, N1,N0, "
                                 "stride:32,stride:1, or vec for one axis of 2 to 4 elements",
                                 layout, old->shape.size(), array)};
    }
  }
  return std::nullopt;
}

/// Axes from the slowest to the fastest varying; nothing where symbolic strides leave it open.
std::optional<Order> find_order(const ArrayLayout& layout) {
  Order order(layout.shape.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<Expr>& strides = layout.strides_elements;
  const bool is_constant = std::all_of(strides.begin(), strides.end(),
                                       [](const Expr& each) { return as_integer(each); });
  if (is_constant) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
      return *as_integer(strides[left]) > *as_integer(strides[right]);
    });
    return order;
  }
  do {
    if (strides_in_order(layout.shape, order) == strides) {
      return order;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

std::optional<Refusal> find_padding_refusal(const Kernel& kernel, std::string_view array,
                                            std::size_t axis, std::int64_t count) {
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  if (!layout) {
    return Refusal{"loopy.add_padding.unknown_array",
                   fmt::format("kernel '{}' has no array '{}' of known shape", kernel.name, array)};
  }
  if (axis >= layout->shape.size()) {
    return Refusal{"loopy.add_padding.bad_axis",
                   fmt::format("'{}' has no axis {}: it has {}, counted from 0", array, axis,
                               layout->shape.size())};
  }
  if (count < 0) {
    return Refusal{"loopy.add_padding.bad_count",
                   fmt::format("'{}' cannot be padded by {} elements", array, count)};
  }
  if (!find_order(*layout)) {
    return Refusal{
        "loopy.add_padding.unknown_order",
        fmt::format("the strides of '{}' do not determine which axis varies fastest: lay it "
                    "out with tag_array_axes first",
                    array)};
  }
  return std::nullopt;
}

}  // namespace

Kernel tag_array_axes(Kernel kernel, const std::vector<std::string>& arrays,
                      std::string_view layout) {
  throw_if_refused(find_refusal(kernel, arrays, layout));
  for (const std::string& array : arrays) {
    ArrayLayout changed = *find_layout(kernel, array);
    changed.strides_elements = *find_strides(changed.shape, layout);
    kernel = with_layout(std::move(kernel), array, std::move(changed));
  }
  record(kernel, "tag_array_axes", {list_text(arrays), std::string(layout)});
  return kernel;
}

Kernel add_padding(Kernel kernel, std::string_view array, std::size_t axis, std::int64_t count) {
  throw_if_refused(find_padding_refusal(kernel, array, axis, count));
  ArrayLayout layout = *find_layout(kernel, array);
  const Order order = *find_order(layout);
  const std::vector<Expr> old = layout.strides_elements;
  std::vector<Expr>& strides = layout.strides_elements;
  strides[axis] = simplify_index(old[axis] + Expr(count));
  const auto padded = std::find(order.begin(), order.end(), axis);
  for (auto outer = padded; outer != order.begin(); --outer) {
    // from an axis to the next slower one; the gap that was there stays
    const std::size_t inner_axis = *outer;
    const std::size_t outer_axis = *(outer - 1);
    const Expr gap = old[outer_axis] - layout.shape[inner_axis] * old[inner_axis];
    strides[outer_axis] =
        simplify_index(layout.shape[inner_axis] * strides[inner_axis] + simplify_index(gap));
  }
  kernel = with_layout(std::move(kernel), array, std::move(layout));
  record(kernel, "add_padding", {std::string(array), std::to_string(axis), std::to_string(count)});
  return kernel;
}

std::int64_t find_padding_multiple(const Kernel& kernel, std::string_view array, std::size_t axis,
                                   std::int64_t align_bytes, double allowed_waste) {
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  const Argument* argument = find_argument(kernel, array);
  const Temporary* temporary = find_temporary(kernel, array);
  const std::optional<cgen::Type> type = argument != nullptr    ? argument->type
                                         : temporary != nullptr ? temporary->type
                                                                : std::nullopt;
  const auto kind = type ? cgen::scalar_kind(*type) : std::nullopt;
  if (!layout || !kind) {
    throw InvalidInput(
        "loopy.find_padding_multiple.unknown_array",
        fmt::format("kernel '{}' has no array '{}' of known type and shape", kernel.name, array));
  }
  const auto stride = axis < layout->strides_elements.size()
                          ? as_integer(layout->strides_elements[axis])
                          : std::nullopt;
  if (!stride || *stride <= 0) {
    throw InvalidInput("loopy.find_padding_multiple.bad_axis",
                       fmt::format("'{}' has no axis {} of constant stride", array, axis));
  }
  if (align_bytes <= 0 || !(allowed_waste > 0)) {
    throw InvalidInput("loopy.find_padding_multiple.bad_limits",
                       fmt::format("places cannot be multiples of {} bytes with a waste of {}",
                                   align_bytes, allowed_waste));
  }
  const std::int64_t step = *stride * cgen::size_bytes(*kind);
  for (std::int64_t count = 1;; ++count) {
    const std::int64_t used = count * step;
    const std::int64_t unused = divide_rounding_up(used, align_bytes) * align_bytes - used;
    if (static_cast<double>(unused) <= allowed_waste * static_cast<double>(used)) {
      return count;
    }
  }
}

}  // namespace rtcg::loopy
