#pragma once

#include <iosfwd>
#include <string>

#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::arrays {

namespace detail {
/// The entries of a file, all of them: those that its symmetry stands for, too.
struct MarketEntries {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int32_t> row{};
  std::vector<std::int32_t> column{};
  std::vector<double> value{};
};
/// @param name  in messages
/// @throws  as read_matrix_market
[[nodiscard]] MarketEntries parse_matrix_market(std::istream& in, const std::string& name,
                                                bool takes_fractions);
[[nodiscard]] MarketEntries read_matrix_market(const std::string& path, bool takes_fractions);
}  // namespace detail

/// A matrix from a file in the coordinate form of the Matrix Market: real, integer or pattern,
/// whose entries are 1; general, symmetric or skew-symmetric. Entries of one place are added up.
///
/// @throws InvalidInput  with path and line: arrays.matrix_market.unreadable,
///         arrays.matrix_market.syntax, arrays.matrix_market.out_of_range,
///         arrays.matrix_market.count: there are not as many entries as the file says;
///         arrays.matrix_market.type: fractions in a matrix of integers
/// @throws Unsupported   arrays.matrix_market.unsupported: dense, complex and Hermitian matrices
/// @cost   as SparseMatrix::from_triplets
/// @source Boisvert, Pozo and Remington 1996, NISTIR 5935
template <Element T>
[[nodiscard]] SparseMatrix<T> read_matrix_market(const std::string& path,
                                                 runtime::StreamRef stream = current_stream()) {
  const detail::MarketEntries entries = detail::read_matrix_market(path, !std::is_integral_v<T>);
  return SparseMatrix<T>::from_triplets(entries.rows, entries.columns, entries.row, entries.column,
                                        std::vector<T>(entries.value.begin(), entries.value.end()),
                                        stream);
}

}  // namespace rtcg::arrays
