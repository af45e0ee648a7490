#pragma once

#include "rtcg/arrays/solve/solve.h"
#include "rtcg/distributed/arrays/distributed_array.h"

// Reductions of distributed arrays to one number, which all ranks get as an array without axes on
// their device. All ranks make the same calls.

namespace rtcg::distributed {

/// The sum of all elements, in their type, f32 or f64. Ranks on devices of one kind get the same
/// bits, for any number of ranks: the elements of a grain of the blocks are added first, in the
/// order of a tree, then the grains' sums.
///
/// @throws InvalidInput  distributed.arrays.dtype
/// @cost   two launches and one exchange of up to 32 KB; arrays of several axes one launch more
[[nodiscard]] arrays::AnyArray sum(const DistributedArray& x);
/// The same into an array without axes, of the type of `x`.
void sum_into(const DistributedArray& x, const arrays::AnyArray& result);
/// The sum of the products of their elements.
///
/// @throws InvalidInput  as above; distributed.arrays.shape: arrays of different shapes or types
/// @cost   as sum; arrays of several axes one launch more
[[nodiscard]] arrays::AnyArray dot(const DistributedArray& x, const DistributedArray& y);
/// Of f32, f64, i32 or i64. @throws InvalidInput  distributed.arrays.dtype;
///                          distributed.arrays.shape: no elements
/// @cost   two or three launches and one exchange
[[nodiscard]] arrays::AnyArray min(const DistributedArray& x);
[[nodiscard]] arrays::AnyArray max(const DistributedArray& x);

/// dot() for solvers, of vectors that are blocks: SolveOptions::product.
[[nodiscard]] arrays::InnerProduct inner_product(const Group& group, const Blocks& blocks);

}  // namespace rtcg::distributed
