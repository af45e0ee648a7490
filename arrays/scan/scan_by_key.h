#pragma once

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/scan/cumulative.h"

namespace rtcg::arrays {

/// Running values that begin anew where the key changes: of each run of equal neighbours in `keys`
/// those of cumulative().
///
///     scan_by_key(ScanOp::sum, {1, 1, 2, 2, 1}, {10, 20, 30, 40, 50})  // 10, 30, 30, 70, 50
///
/// @param options  the axis is the only one
/// @shape keys, values  one axis, of equal length
/// @throws InvalidInput  arrays.scan_by_key.shape_mismatch; arrays.expression.dtype: complex or
///         vector keys or values
/// @cost   asynchronous: one launch, two if it is exclusive, and those of cumulative()
[[nodiscard]] AnyArray scan_by_key(ScanOp op, const AnyArray& keys, const Expression& values,
                                   const CumulativeOptions& options = {});

}  // namespace rtcg::arrays
