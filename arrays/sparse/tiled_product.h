#pragma once
// Internal header: it is not installed.

#include <compare>
#include <vector>

#include "rtcg/arrays/sparse/row_sharing.h"

// Products of a sparse matrix whose blocks share rows and entries evenly.

namespace rtcg::loopy {
struct Kernel;
struct NamedArgument;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// What a block computes, and how.
struct TileShape {
  std::int64_t items = 2048;  ///< rows and entries of a tile, together
  int threads = 256;
  int threads_of_row = 1;   ///< a power of two up to 32
  bool keeps_ends = false;  ///< in shared memory, those of rows, while products are computed
  friend auto operator<=>(const TileShape&, const TileShape&) = default;
};

[[nodiscard]] constexpr std::int64_t tile_count(std::int64_t rows, std::int64_t entries,
                                                std::int64_t items) {
  return (rows + entries + items - 1) / items;
}

/// The shape for a matrix in compressed rows.
[[nodiscard]] TileShape tile_shape(runtime::Device device, const AnySparseMatrix& a);

/// The matrix in compressed rows, x, y, and the counts of rows and entries, as kernels name them.
[[nodiscard]] std::vector<loopy::NamedArgument> product_arguments(runtime::StreamRef stream,
                                                                  const AnySparseMatrix& a,
                                                                  const AnyArray& x,
                                                                  const AnyArray& y);

/// y = A x, in the same order of additions each time. x and y are contiguous vectors.
///
/// @cost  one launch, and one more if rows reach over several tiles
void multiply_by_tiles(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                       const AnyArray& y, const TileShape& shape);

/// Blocks multiply the entries of their tile side by side, keep the products in shared memory and
/// add up those of each row. What belongs to a row of an earlier tile is added up by all threads,
/// and goes to `carried`.
///
/// Rows and entries have one order: a row, then its entries. A tile has as many of both as the
/// others have, wherever long and empty rows are.
/// @param packets  of the matrix: see packets_of()
/// @source Merrill and Garland 2016, Merge-based parallel sparse matrix-vector multiplication
[[nodiscard]] loopy::Kernel tiled_product_kernel(DType dtype, const TileShape& shape,
                                                 const ColumnPackets& packets = {});
/// Adds what tiles have carried to the rows that reach over several of them.
[[nodiscard]] loopy::Kernel carried_sums_kernel(DType dtype);

}  // namespace rtcg::arrays::detail
