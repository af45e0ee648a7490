#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// y = A x and product = x . y. A is square, in compressed rows, and has entries; x and
/// y are contiguous vectors, `product` is an array without axes.
///
/// @cost  one launch, two in OpenCL
void multiply_and_dot(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                      const AnyArray& y, const AnyArray& product);

/// Its kernel.
///
/// A thread computes each row, or one after the other, and the last block adds up the blocks. For
/// processors; GPUs take multiply_by_chunks_and_dot().
///
/// @param packets  of the matrix: see packets_of()
[[nodiscard]] loopy::Kernel fused_product_kernel(DType dtype, std::int64_t rows_of_block,
                                                 const ColumnPackets& packets = {});

}  // namespace rtcg::arrays::detail
