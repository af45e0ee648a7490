#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/sparse/sparse_matrix.h"

// Entries of sparse matrices with their rows and columns.

namespace rtcg::arrays::detail {

[[nodiscard]] AnyArray as_i32(const Expression& value);
/// The row of each entry, in i32. @param csr  in compressed rows
[[nodiscard]] AnyArray rows_of_entries(const AnySparseMatrix& csr);

/// The matrix, or one whose rows have each column once, in ascending order. @param csr  in
/// compressed rows @cost  waits; as from_triplets() if they have not
[[nodiscard]] AnySparseMatrix with_single_entries(const AnySparseMatrix& csr);

}  // namespace rtcg::arrays::detail
