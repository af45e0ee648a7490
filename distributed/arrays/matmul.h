#pragma once

#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/distributed/arrays/distributed_array.h"

namespace rtcg::distributed {

/// The product of matrices over ranks, whose rows are distributed; those of the result as those of
/// `a`. If `b` has one axis, so has the result.
///
/// The rows of `b` travel in panels: while one is multiplied, the next one comes. How many rows a
/// panel has depends on their number alone: an eighth, but at least 512. An element adds its
/// products within a panel in the order of one kernel of the engine, which is chosen for the whole
/// matrices, and then the panels in their order. So it has the same bits for any number of ranks on
/// devices of one kind. With MatmulMethod::cublas, which chooses a kernel for the rows of each
/// rank, the last bits may differ.
///
/// @shape  a [m, k], b [k, n] or [k]; both f32 or both f64
/// @param options  `automatic` is the engine
/// @throws InvalidInput  distributed.arrays.shape, distributed.arrays.dtype; as arrays::matmul
/// @throws Unsupported   as arrays::matmul
/// @cost   each rank receives the rows of `b` that it has not, and keeps two panels of them; for
///         each panel a copy of the columns of `a`, a launch of the product, and one that adds it.
///         The rows of `a` that a rank has are padded to whole tiles of the kernel
[[nodiscard]] DistributedArray matmul(const DistributedArray& a, const DistributedArray& b,
                                      const arrays::MatmulOptions& options = {});

}  // namespace rtcg::distributed
