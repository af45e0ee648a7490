#include "rtcg/arrays/core/host_view.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/arrays/core/array.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

void check_shape(const AnyArray& array, const Layout& view) {
  if (!(array.shape() == view.shape)) {
    throw InvalidInput("arrays.write.shape_mismatch",
                       fmt::format("a view of shape {} on the host is not copied to or from an "
                                   "array of shape {}",
                                   to_string(view.shape), to_string(array.shape())));
  }
}

/// The order of axes in which the elements follow each other, if there is one.
std::optional<Extents> contiguous_order(const Layout& view) {
  Extents order = Extents::filled(view.axes(), 0);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return view.strides[static_cast<int>(a)] > view.strides[static_cast<int>(b)];
  });
  return transpose(view, order).is_contiguous() ? std::optional(order) : std::nullopt;
}

/// Calls `copy(places of the element in the view and in C order)` for each element.
void for_each_element(const Layout& view,
                      const std::function<void(std::int64_t, std::int64_t)>& copy) {
  Extents index = Extents::filled(view.axes(), 0);
  const std::int64_t count = view.count();
  std::int64_t at = 0;
  for (std::int64_t place = 0; place < count; ++place) {
    copy(at, place);
    for (int axis = view.axes(); axis-- > 0;) {
      at += view.strides[axis];
      if (++index[axis] < view.shape[axis]) {
        break;
      }
      at -= view.strides[axis] * view.shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

void write_view(const AnyArray& array, const void* first, const Layout& view) {
  check_shape(array, view);
  const auto* begin = static_cast<const std::byte*>(first);
  if (const auto order = contiguous_order(view)) {
    array.transposed(*order).write_bytes({begin, array.size_bytes()});
    return;
  }
  const auto bytes = static_cast<std::int64_t>(size_bytes(array.dtype()));
  std::vector<std::byte> values(array.size_bytes());
  for_each_element(view, [&](std::int64_t at, std::int64_t place) {
    std::memcpy(values.data() + place * bytes, begin + at * bytes, static_cast<std::size_t>(bytes));
  });
  array.write_bytes(values);
}

void read_view(const AnyArray& array, void* first, const Layout& view) {
  check_shape(array, view);
  auto* begin = static_cast<std::byte*>(first);
  if (const auto order = contiguous_order(view)) {
    array.transposed(*order).read_bytes({begin, array.size_bytes()});
    return;
  }
  const auto bytes = static_cast<std::int64_t>(size_bytes(array.dtype()));
  std::vector<std::byte> values(array.size_bytes());
  array.read_bytes(values);
  for_each_element(view, [&](std::int64_t at, std::int64_t place) {
    std::memcpy(begin + at * bytes, values.data() + place * bytes, static_cast<std::size_t>(bytes));
  });
}

}  // namespace rtcg::arrays::detail
