#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "rtcg/arrays/core/layout.h"

// Elements on the host that need not follow each other.

namespace rtcg::arrays {

class AnyArray;

/// A view of elements on the host by a pointer, lengths and strides: C++23's std::mdspan, its
/// replacements, and StridedSpan. Strides count elements.
template <class View>
concept HostView = requires(const View& view, std::size_t axis) {
  typename View::element_type;
  { view.rank() } -> std::convertible_to<std::size_t>;
  { view.extent(axis) } -> std::convertible_to<std::int64_t>;
  { view.stride(axis) } -> std::convertible_to<std::int64_t>;
  { std::to_address(view.data_handle()) } -> std::convertible_to<const void*>;
};

/// A view of that kind for programs without mdspan.
///
///     const Array<float> x(StridedSpan(pointer, make_layout({100, 200}, Order::f)));
template <class T>
struct StridedSpan {
  using element_type = T;
  T* data = nullptr;  ///< the layout's offset is counted from here
  Layout layout{};

  StridedSpan(T* first, const Layout& of_elements) : data(first), layout(of_elements) {}
  [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(layout.axes()); }
  [[nodiscard]] std::int64_t extent(std::size_t axis) const {
    return layout.shape[static_cast<int>(axis)];
  }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const {
    return layout.strides[static_cast<int>(axis)];
  }
  [[nodiscard]] T* data_handle() const { return data + layout.offset; }
};

/// Lengths and strides of a view. @throws InvalidInput  as make_layout
template <HostView View>
[[nodiscard]] Layout layout_of(const View& view) {
  Layout result;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    result.shape.push_back(static_cast<std::int64_t>(view.extent(axis)));
    result.strides.push_back(static_cast<std::int64_t>(view.stride(axis)));
  }
  static_cast<void>(result.count());  // throws if it is not a shape
  return result;
}

namespace detail {
/// Copies elements of the array's type from the host, or to it. @param first  that of index 0
///
/// @throws InvalidInput  arrays.write.shape_mismatch
/// @cost  waits for the copy; the host first packs the elements of a view with gaps
void write_view(const AnyArray& array, const void* first, const Layout& view);
void read_view(const AnyArray& array, void* first, const Layout& view);
}  // namespace detail

}  // namespace rtcg::arrays
