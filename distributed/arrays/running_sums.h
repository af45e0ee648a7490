#pragma once

#include "rtcg/distributed/arrays/distributed_array.h"

namespace rtcg::distributed {

/// Running sums over all ranks, as NumPy's `cumsum`: element k is the sum of the elements 0 to k,
/// in their type, f32, f64, i32 or i64. Ranks on devices of one kind get the same bits, for any
/// number of ranks: running sums of each grain of the blocks come first, then those of the grains'
/// sums.
///
/// @shape x  one axis
/// @throws InvalidInput  distributed.arrays.shape; distributed.arrays.dtype
/// @cost   about six launches and one exchange of up to 32 KB
[[nodiscard]] DistributedArray cumulative_sum(const DistributedArray& x);

}  // namespace rtcg::distributed
