#pragma once

#include <cstdint>

#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"

// Runs of equal neighbours. Of sorted arrays they are all the equal elements: `unique(sort(x))`.
// A NaN equals a NaN here. Nothing waits; results are as long as there could be runs, and those
// from the count on have no defined value.

namespace rtcg::arrays {

/// One element of each run: of sorted ones each value once.
///
///     unique({1, 1, 2, 2, 1})  // 1, 2, 1
///
/// @shape array  one axis
/// @throws InvalidInput  arrays.runs.shape: several axes; arrays.expression.vector: short vectors
/// @cost   one launch, three if several blocks of an OpenCL device or of the host share it; complex
///         numbers and halves as copy_if()
/// @source PyOpenCL `unique`
[[nodiscard]] CountedElements unique(const AnyArray& array);

struct CountedPairs {
  AnyArray keys;
  AnyArray values;
  Array<std::int64_t> count;  ///< of no axes
};
/// The first key of each run, and the value at its position.
///
/// @shape keys, values  one axis, of equal length
/// @throws InvalidInput  arrays.runs.shape; as unique()
/// @cost   as copy_if(), and two launches
[[nodiscard]] CountedPairs unique_by_key(const AnyArray& keys, const AnyArray& values);

/// An element of each run, and how many elements it has, in i64: `keys` and `values`.
///
///     run_length_encode({7, 7, 7, 5})  // 7, 5 and 3, 1
///
/// @throws InvalidInput  as unique()
/// @cost   as unique()
[[nodiscard]] CountedPairs run_length_encode(const AnyArray& array);

/// The values of each run of equal keys, combined.
///
///     reduce_by_key(ScanOp::sum, {1, 1, 2, 2, 1}, {10, 20, 30, 40, 50})  // 1, 2, 1 and 30, 70, 50
///
/// @param options  only the type of sums counts
/// @throws InvalidInput  arrays.runs.shape; as scan_by_key()
/// @cost   as unique(), and one launch for values that are no array of that type
[[nodiscard]] CountedPairs reduce_by_key(ScanOp op, const AnyArray& keys, const Expression& values,
                                         const CumulativeOptions& options = {});

}  // namespace rtcg::arrays
