#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/arrays/sparse/row_sharing.h"

// Products of a sparse matrix whose blocks share rows and entries evenly.

namespace rtcg::loopy {
struct Kernel;
struct NamedArgument;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// Rows and entries of a tile, together.
inline constexpr std::int64_t tile_items = 2048;

[[nodiscard]] constexpr std::int64_t tile_count(std::int64_t rows, std::int64_t entries) {
  return (rows + entries + tile_items - 1) / tile_items;
}

/// The matrix in compressed rows, x, y, and the counts of rows and entries, as kernels name them.
[[nodiscard]] std::vector<loopy::NamedArgument> product_arguments(runtime::StreamRef stream,
                                                                  const AnySparseMatrix& a,
                                                                  const AnyArray& x,
                                                                  const AnyArray& y);

/// y = A x, in the same order of additions each time. x and y are contiguous vectors.
///
/// @cost  one launch, and one more if rows reach over several tiles
void multiply_by_tiles(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                       const AnyArray& y);

/// Blocks multiply the entries of their tile side by side, keep the products in shared memory and
/// add up those of each row, by so many threads. What belongs to a row of an earlier tile goes to
/// `carried`.
///
/// Rows and entries have one order: a row, then its entries. A tile has as many of both as the
/// others have, wherever long and empty rows are.
/// @param threads_of_row  a power of two up to 32
/// @param packets         of the matrix: see packets_of()
/// @source Merrill and Garland 2016, Merge-based parallel sparse matrix-vector multiplication
[[nodiscard]] loopy::Kernel tiled_product_kernel(DType dtype, int threads_of_row,
                                                 const ColumnPackets& packets = {});
/// Adds what tiles have carried to the rows that reach over several of them.
[[nodiscard]] loopy::Kernel carried_sums_kernel(DType dtype);

}  // namespace rtcg::arrays::detail
