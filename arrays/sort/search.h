#pragma once

#include <cstdint>

#include "rtcg/arrays/lazy/expression.h"

namespace rtcg::arrays {

/// Where a value goes that equals elements.
enum class SearchSide {
  left,   ///< before them
  right,  ///< after them
};

/// For each value the place in a sorted array at which it keeps the array sorted, as i64: NumPy's
/// `searchsorted`. NaNs are greater than all numbers.
///
/// @shape sorted  one axis, ascending
/// @returns  the shape of `values`
/// @throws InvalidInput  arrays.search.shape: several axes; arrays.search.dtype: complex numbers or
///         short vectors
/// @cost   one launch, a binary search in each thread
[[nodiscard]] Array<std::int64_t> searchsorted(const AnyArray& sorted, const Expression& values,
                                               SearchSide side = SearchSide::left);

/// The number of the bin of each value: i with edges[i - 1] <= x < edges[i], or with
/// edges[i - 1] < x <= edges[i] if `includes_right`. NumPy's `digitize` of increasing edges.
///
/// @throws, @cost  as searchsorted
[[nodiscard]] Array<std::int64_t> digitize(const Expression& values, const AnyArray& edges,
                                           bool includes_right = false);

/// The values at x of the function that goes straight from point to point (x_known, y_known);
/// outside of them the first or last value. NumPy's `interp`.
///
/// @shape x_known, y_known  one axis, of equal length; x_known increases
/// @returns  f64, or f32 if all arguments are f32 or smaller
/// @throws InvalidInput  arrays.search.shape: no points, or other shapes; arrays.search.dtype
/// @cost   as searchsorted, and one launch
[[nodiscard]] AnyArray interp(const Expression& x, const AnyArray& x_known,
                              const AnyArray& y_known);

}  // namespace rtcg::arrays
