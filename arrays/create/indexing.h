#pragma once

#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/lazy/evaluate.h"

// Indexing by arrays. Indices are integers of any type; negative ones count from the end. Indices
// out of range are clamped to the first or last element. `checks_range` throws instead, and waits
// for the check.

namespace rtcg::arrays {

struct IndexOptions {
  /// @cost  a reduction and a wait for it
  /// @throws InvalidInput  arrays.take.out_of_range
  bool checks_range = false;
};

/// The elements along an axis at those places: the axis makes room for the axes of `indices`.
///
/// @throws InvalidInput  arrays.layout.bad_axis, arrays.take.not_integers, arrays.take.empty_axis
/// @cost   part of the kernel in which the expression runs
[[nodiscard]] Expression take(const AnyArray& array, const AnyArray& indices, std::int64_t axis,
                              const IndexOptions& options = {});
/// The same of all elements in C order.
[[nodiscard]] Expression take(const AnyArray& array, const AnyArray& indices,
                              const IndexOptions& options = {});
/// `array[i, j, ...]` of NumPy: an array of indices for each indexed axis; they broadcast.
///
/// @param axis  the first of those axes
/// @throws InvalidInput  as take; arrays.take.too_many_indices
[[nodiscard]] Expression take_at(const AnyArray& array, const std::vector<AnyArray>& indices,
                                 std::int64_t axis = 0, const IndexOptions& options = {});
/// Writes the values, broadcast, to the elements at those places in C order. Where a place comes
/// several times, one of its values stays.
///
/// @throws InvalidInput  as take; arrays.broadcast.shape_mismatch, arrays.assign.narrowing
/// @cost   one launch
void put(const AnyArray& array, const AnyArray& indices, const Expression& values,
         const IndexOptions& options = {});
/// `array[i, j, ...] = values`. @throws  as take_at and put
void put_at(const AnyArray& array, const std::vector<AnyArray>& indices, const Expression& values,
            std::int64_t axis = 0, const IndexOptions& options = {});

/// Places in C order of the elements that are not 0, as i64.
///
/// @cost  that of find_if(), a wait for their number, and one launch
[[nodiscard]] Array<std::int64_t> flat_nonzero(const AnyArray& array);
/// Their indices, an array for each axis. @cost  as flat_nonzero, and a launch for each axis
[[nodiscard]] std::vector<AnyArray> nonzero(const AnyArray& array);
/// `array[mask]`: elements in C order where the mask is not 0. A mask of fewer axes selects along
/// the first ones.
///
/// @throws InvalidInput  arrays.select.shape_mismatch
/// @cost   as flat_nonzero, and one launch
[[nodiscard]] AnyArray select(const AnyArray& array, const AnyArray& mask);
template <Element T>
[[nodiscard]] Array<T> select(const Array<T>& array, const AnyArray& mask) {
  return Array<T>(select(array.any(), mask));
}
/// `array[mask] = values`: values go to the selected elements in C order, or one value to all. Fewer
/// values than there are selected elements are repeated, as NumPy's `place` does; what is left of
/// more is not used.
///
/// @throws InvalidInput  arrays.select.shape_mismatch, arrays.broadcast.shape_mismatch,
///         arrays.assign.narrowing
/// @cost   one launch for one value, otherwise that of cumulative_sum() and two more; asynchronous
void put_where(const AnyArray& array, const AnyArray& mask, const Expression& values);
/// Each element that many times in a row along an axis.
[[nodiscard]] AnyArray repeat(const AnyArray& array, std::int64_t times, std::int64_t axis);
template <Element T>
[[nodiscard]] Array<T> repeat(const Array<T>& array, std::int64_t times, std::int64_t axis) {
  return Array<T>(repeat(array.any(), times, axis));
}

}  // namespace rtcg::arrays
