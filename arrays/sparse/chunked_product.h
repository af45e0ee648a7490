#pragma once
// Internal header: it is not installed.

#include <compare>
#include <cstdint>
#include <optional>

#include "rtcg/arrays/sparse/row_sharing.h"

// Products of a sparse matrix whose rows are short and about equally long, by blocks that read the
// entries of consecutive rows in their order.

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays::detail {

/// Rows that a block computes at a time.
struct ChunkShape {
  std::int64_t rows = 0;            ///< a power of two
  std::int64_t entries_of_row = 0;  ///< on average over the rows of any chunk, at most
  int threads = 256;
  friend auto operator<=>(const ChunkShape&, const ChunkShape&) = default;
};

/// The shape for a matrix on GPUs; nothing if its rows are too long for chunks, or most of them are
/// much shorter than the longest.
///
/// @param longest        entries of the longest row
/// @param element_bytes  of a value
[[nodiscard]] std::optional<ChunkShape> chunk_shape(std::int64_t rows, std::int64_t entries,
                                                    std::int64_t longest,
                                                    std::int64_t element_bytes);

/// The same of a matrix in compressed rows, csr or packets; also where short and empty rows are so
/// mixed that chunks have about the same number of entries.
///
/// @cost  waits the first time
[[nodiscard]] std::optional<ChunkShape> chunk_shape(runtime::StreamRef stream,
                                                    const AnySparseMatrix& a);

/// y = A x. x and y are contiguous vectors. @cost  one launch
void multiply_by_chunks(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                        const AnyArray& y, const ChunkShape& shape);
/// y = A x and product = x . y, of a square A; `product` is an array without axes.
///
/// @cost  one launch, two in OpenCL
void multiply_by_chunks_and_dot(runtime::StreamRef stream, const AnySparseMatrix& a,
                                const AnyArray& x, const AnyArray& y, const AnyArray& product,
                                const ChunkShape& shape);

/// A block for each chunk. Neighbouring threads read neighbouring entries and put their products
/// into shared memory, where the threads of each row find them.
///
/// @param packets  of the matrix: see packets_of()
[[nodiscard]] loopy::Kernel chunked_product_kernel(DType dtype, const ChunkShape& shape,
                                                   const ColumnPackets& packets = {});
/// The same, and x . y. So many blocks take the chunks in turns, add up what their rows contribute,
/// and the last block adds up the blocks: at the end of a block it waits for what it has written.
[[nodiscard]] loopy::Kernel chunked_product_and_dot_kernel(DType dtype, const ChunkShape& shape,
                                                           std::int64_t blocks,
                                                           const ColumnPackets& packets = {});

}  // namespace rtcg::arrays::detail
