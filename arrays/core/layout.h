#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rtcg/arrays/core/extents.h"

namespace rtcg::arrays {

/// The order in which a new array's elements follow each other: last axis fastest, or first.
enum class Order { c, f };

/// Some of the indices of an axis, with the rules of Python's slices: a missing bound is the
/// beginning or end of the axis, negative bounds count from the end, and bounds beyond it are
/// clamped.
struct Slice {
  std::optional<std::int64_t> begin{};
  std::optional<std::int64_t> end{};
  std::int64_t step = 1;
};

/// A part of an index that does not select from one axis.
enum class IndexMark {
  whole,     ///< the whole axis
  newaxis,   ///< an axis of length 1 that was not there
  ellipsis,  ///< all remaining axes
};
inline constexpr IndexMark whole = IndexMark::whole;
inline constexpr IndexMark newaxis = IndexMark::newaxis;
inline constexpr IndexMark ellipsis = IndexMark::ellipsis;

/// One entry of an index: a number removes the axis.
class Index {
 public:
  enum class Kind { number, slice, newaxis, ellipsis };
  // NOLINTBEGIN(google-explicit-constructor): x(0, Slice{1, 5}, ellipsis)
  template <std::integral Number>
  Index(Number index) : kind_(Kind::number), number_(static_cast<std::int64_t>(index)) {}
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}
  Index(IndexMark mark)
      : kind_(mark == IndexMark::whole
                  ? Kind::slice
                  : (mark == IndexMark::newaxis ? Kind::newaxis : Kind::ellipsis)) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  [[nodiscard]] const Slice& slice() const noexcept { return slice_; }

 private:
  Kind kind_;
  std::int64_t number_ = 0;
  Slice slice_{};
};

/// Maps the indices i of an array to the element `offset + sum(i * strides)` of its memory.
///
/// All numbers count elements. Strides may be negative or 0. A value; functions give new layouts of
/// the same memory.
struct Layout {
  Extents shape{};
  Extents strides{};
  std::int64_t offset = 0;

  [[nodiscard]] int axes() const noexcept { return shape.size(); }
  [[nodiscard]] std::int64_t count() const { return element_count(shape); }
  /// Whether the elements are contiguous in that order. Arrays without elements are.
  [[nodiscard]] bool is_contiguous(Order order = Order::c) const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout of a new array.
///
/// @throws InvalidInput  arrays.extents.negative_length, arrays.extents.too_large
[[nodiscard]] Layout make_layout(const Extents& shape, Order order = Order::c);

/// The lowest and the highest place of an element; nothing for a layout without elements.
struct Reach {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
[[nodiscard]] std::optional<Reach> reach_of(const Layout& layout);
/// Whether two different indices may lead to one element.
[[nodiscard]] bool may_repeat_elements(const Layout& layout);

/// `axis`, which may count from the end (-1 is the last), as a number from 0 on.
///
/// @throws InvalidInput  arrays.layout.bad_axis
[[nodiscard]] int checked_axis(std::int64_t axis, int axes);

/// A view of the elements that an index selects.
///
/// @throws InvalidInput  arrays.slice.too_many_indices, arrays.slice.out_of_range,
///         arrays.slice.zero_step, arrays.slice.two_ellipses
[[nodiscard]] Layout slice(const Layout& layout, std::span<const Index> index);
/// Axes in a new order; without one, reversed.
///
/// @throws InvalidInput  arrays.layout.not_a_permutation
[[nodiscard]] Layout transpose(const Layout& layout, const Extents& axes);
[[nodiscard]] Layout transpose(const Layout& layout);
[[nodiscard]] Layout swap_axes(const Layout& layout, std::int64_t first, std::int64_t second);
[[nodiscard]] Layout move_axis(const Layout& layout, std::int64_t from, std::int64_t to);
/// `shape` with one length of -1 replaced by the length that remains.
///
/// @throws InvalidInput  arrays.reshape.size_mismatch, arrays.reshape.two_unknown_lengths
[[nodiscard]] Extents resolve_shape(const Extents& shape, std::int64_t count);
/// The same elements in the same (C) order in another shape; nothing if that needs a copy.
[[nodiscard]] std::optional<Layout> reshape(const Layout& layout, const Extents& shape);
/// Repeats axes of length 1 and new leading axes by strides of 0.
///
/// @throws InvalidInput  arrays.broadcast.shape_mismatch
[[nodiscard]] Layout broadcast_to(const Layout& layout, const Extents& shape);
/// The shape to which all of them broadcast. @throws  as broadcast_to
[[nodiscard]] Extents broadcast_shapes(std::span<const Extents> shapes);
[[nodiscard]] Extents broadcast_shapes(const Extents& left, const Extents& right);
/// Without axes of length 1: all, or those named.
///
/// @throws InvalidInput  arrays.squeeze.length_not_one
[[nodiscard]] Layout squeeze(const Layout& layout);
[[nodiscard]] Layout squeeze(const Layout& layout, const Extents& axes);
/// An axis of length 1 at that place of the result.
[[nodiscard]] Layout expand_dims(const Layout& layout, std::int64_t axis);
/// Backwards along the axes.
[[nodiscard]] Layout flip(const Layout& layout, const Extents& axes);

struct CollapseOptions {
  /// Axes may change places, as long as all layouts agree: elements are then visited in the order
  /// in which the first layout has them in memory.
  bool may_reorder = true;
};
/// The same elements with as few axes as possible. All layouts have one shape; elements of the same
/// index keep a common index. Axes of length 1 are removed, and adjacent axes merge if all layouts
/// step through them evenly.
void collapse(std::span<Layout> layouts, const CollapseOptions& options = {});

}  // namespace rtcg::arrays
