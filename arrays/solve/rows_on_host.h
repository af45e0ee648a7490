#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::arrays::detail {

/// Compressed rows on the host, of preconditioners that the host makes.
struct RowsOnHost {
  std::vector<std::int32_t> first{0};
  std::vector<std::int32_t> column{};
  std::vector<double> value{};

  [[nodiscard]] std::size_t rows() const { return first.size() - 1; }
  [[nodiscard]] std::size_t begin(std::size_t row) const {
    return static_cast<std::size_t>(first[row]);
  }
  [[nodiscard]] std::size_t end(std::size_t row) const { return begin(row + 1); }
  void end_row() { first.push_back(static_cast<std::int32_t>(column.size())); }
};

/// @param a  in compressed rows @cost  waits
[[nodiscard]] RowsOnHost rows_on_host(const AnySparseMatrix& a);

/// @throws InvalidInput  arrays.solve.dtype, arrays.solve.shape_mismatch
void check_real_square(const AnySparseMatrix& a);

/// @param a        with ascending columns
/// @param dtype    whose rounding elements may differ by
/// @param whom     what needs a symmetric matrix, for the message
/// @param instead  what takes others
/// @throws InvalidInput  arrays.solve.not_symmetric
void check_symmetric(const RowsOnHost& a, DType dtype, std::string_view whom,
                     std::string_view instead);

}  // namespace rtcg::arrays::detail
