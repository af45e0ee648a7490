#pragma once

#include <vector>

#include "rtcg/distributed/arrays/distributed_array.h"

// Sorting over ranks, stable and with the order of arrays/sort/sort.h: NaNs come last. The result
// is the same for any number of ranks.

namespace rtcg::distributed {

/// The elements in their order, f32, f64, i32 or i64, cut into blocks as `keys` are.
///
/// @shape keys  one axis
/// @throws InvalidInput  distributed.arrays.shape; distributed.arrays.dtype
/// @cost   two sorts of a block; one exchange of the elements that change ranks; as many small
///         exchanges as keys have bits, for which the hosts wait
[[nodiscard]] DistributedArray sort(const DistributedArray& keys);

struct SortedBlocks {
  DistributedArray keys;
  std::vector<DistributedArray> values;
};
/// The keys in their order, and the values that belong to them.
///
/// @shape values  the first axis as long as that of the keys; further axes stay together
/// @throws InvalidInput  as sort
/// @cost   as sort
[[nodiscard]] SortedBlocks sort_by_key(const DistributedArray& keys,
                                       const std::vector<DistributedArray>& values);

}  // namespace rtcg::distributed
