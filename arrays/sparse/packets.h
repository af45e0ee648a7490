#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include "rtcg/arrays/sparse/sparse_matrix.h"

// Columns of 16 bits, in packets of entries.

namespace rtcg::arrays::detail {

/// The packets of a matrix in compressed rows; those of csr have whole columns.
[[nodiscard]] ColumnPackets packets_of(const AnySparseMatrix& a);
/// The fewest windows with which packets of so many entries hold the columns; nothing if 16 bits do
/// not tell them apart.
///
/// @param csr  in compressed rows, with entries
/// @cost  waits; sorts the entries if it takes several windows
[[nodiscard]] std::optional<ColumnPackets> fitting_packets(const AnySparseMatrix& csr, int entries);

/// What `column` and `base` of the format are.
struct PackedColumns {
  AnyArray column;
  AnyArray base;
};
/// @param packets  as of fitting_packets()
[[nodiscard]] PackedColumns packed_columns(const AnySparseMatrix& csr,
                                           const ColumnPackets& packets);
/// The columns of the entries in i32. @param a  in packets, with entries
[[nodiscard]] AnyArray whole_columns(const AnySparseMatrix& a);

/// For loop kernels: a rule `column_of(e)` with the column of entry e, and the arguments that it
/// reads.
[[nodiscard]] std::string rule_of_columns(const ColumnPackets& packets);
[[nodiscard]] std::string arguments_of_columns(const ColumnPackets& packets);

}  // namespace rtcg::arrays::detail
