#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "rtcg/arrays/sparse/sparse_matrix.h"

// How the threads of a GPU share the rows of a sparse matrix.

namespace rtcg::arrays::detail {

enum class RowSharing {
  planned,  ///< as the loop engine slices rows of computed lengths
  chunks,   ///< rows of up to 64 entries, evenly mixed: see chunked_product.h
  tiles,    ///< rows of very different lengths: see tiled_product.h
};

/// @param longest        entries of the longest row
/// @param element_bytes  of a value
[[nodiscard]] RowSharing row_sharing(std::int64_t rows, std::int64_t entries, std::int64_t longest,
                                     std::int64_t element_bytes);

/// Rows and entries in tiles of as many of both, and the rows that reach over several of them.
struct RowTiles {
  AnyArray row;         ///< [tiles + 1] i32: rows that begin before a tile
  AnyArray span_row;    ///< [spans] i32: a row with entries in tiles after that in which it begins,
  AnyArray span_begin;  ///< which are those from here
  AnyArray span_end;    ///< to before here
};

/// What is known of the rows of a matrix, and of those that share its indices.
class KnownRows {
 public:
  /// The length of the longest row; nothing if the stream is being captured and it is not known.
  ///
  /// @cost  waits the first time
  [[nodiscard]] std::optional<std::int64_t> longest(runtime::StreamRef stream,
                                                    const AnyArray& first);
  /// The entries of so many consecutive rows, from a multiple of them on, at most; nothing as
  /// above.
  ///
  /// @cost  waits the first time
  [[nodiscard]] std::optional<std::int64_t> most_of_rows(runtime::StreamRef stream,
                                                         const AnyArray& first, std::int64_t rows);
  /// The matrix in compressed rows, made once by `make`.
  template <class Make>
  [[nodiscard]] const AnySparseMatrix& in_rows(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!in_rows_) {
      in_rows_ = std::make_unique<const AnySparseMatrix>(make());
    }
    return *in_rows_;
  }
  /// Tiles of so many rows and entries. @cost  waits the first time
  [[nodiscard]] const RowTiles& tiles(runtime::StreamRef stream, const AnyArray& first,
                                      std::int64_t entries, std::int64_t items);

 private:
  std::mutex mutex_{};
  std::optional<std::int64_t> longest_{};
  std::map<std::int64_t, std::int64_t> most_of_rows_{};
  std::map<std::int64_t, RowTiles> tiles_{};
  std::unique_ptr<const AnySparseMatrix> in_rows_{};
};

/// The matrix in csr if its products run so: csr, coo and csc; otherwise null.
///
/// @cost  of coo and csc as in_format(), once
[[nodiscard]] const AnySparseMatrix* in_compressed_rows(const AnySparseMatrix& a);
/// Whether a thread for each row keeps all threads busy, so that products are best part of kernels
/// of expressions.
///
/// @cost  of csr, coo and csc waits for the length of the longest row, once
[[nodiscard]] bool suits_expressions(runtime::StreamRef stream, const AnySparseMatrix& a);
/// The product as part of a kernel of expressions: a thread for each row, which adds in the order
/// of its entries, whatever the other rows are.
///
/// @param a  in any format but coo and csc
[[nodiscard]] Expression product_by_rows(const AnySparseMatrix& a, const AnyArray& x);
/// How the product with the matrix, in compressed rows, is computed on the stream's device.
///
/// @cost  waits the first time, on GPUs
[[nodiscard]] RowSharing row_sharing(runtime::StreamRef stream, const AnySparseMatrix& a);

}  // namespace rtcg::arrays::detail
