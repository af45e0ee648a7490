#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// The effect of Temporary::swizzle on the elements of an array.

namespace rtcg::loopy {

/// The axes of an array that a ColumnSwizzle permutes: elements are adjacent along `column`, and
/// `row` has the next longer stride.
struct RowAxes {
  std::size_t row = 0;
  std::size_t column = 0;
  std::int64_t columns = 1;  ///< length of `column`
};
/// Nothing if the array has no such axes, or its lengths or strides are not constants.
[[nodiscard]] std::optional<RowAxes> find_row_axes(const Temporary& temporary);

/// Whether each row keeps its elements: the groups fill it, and come in at least two orders.
[[nodiscard]] bool fits_rows(const ColumnSwizzle& swizzle, const RowAxes& axes);

/// The indices of the place in memory of an element, where the array is swizzled.
/// @param swizzle  one that fits the rows
/// @param known    of the names in the indices: what follows from it is not computed
[[nodiscard]] std::vector<Expr> swizzled_indices(const ColumnSwizzle& swizzle, const RowAxes& axes,
                                                 std::vector<Expr> indices,
                                                 const ConstraintSet& known = {});
/// The same of one element whose row and column are known.
[[nodiscard]] std::int64_t swizzled_column(const ColumnSwizzle& swizzle, std::int64_t row,
                                           std::int64_t column);

}  // namespace rtcg::loopy
