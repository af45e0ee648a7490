#pragma once

#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::arrays {

struct FormatChoice {
  SparseFormat format = SparseFormat::csr;
  FormatOptions options{};
  SparseWay way = SparseWay::generated;  ///< `library` only with `csr`, where it was measured

  friend bool operator==(const FormatChoice&, const FormatChoice&) = default;
};

struct FormatSearch {
  /// Times products in all formats that store at most a half more numbers than the matrix has
  /// entries, and by cuSPARSE where that is found, and remembers the fastest one.
  bool measures = false;
};

/// The format in which products of the matrix with a vector are fastest: the one that was measured
/// for a matrix of its class, otherwise the one whose product reads the fewest bytes.
///
/// A class has the device, the element type, and, within a factor of two, the numbers of rows, of
/// entries and of entries of the longest row; and it is told apart how well the matrix fits
/// diagonals, blocks, packets, and rows of equal length, in its slices and altogether. What is
/// measured is known until the program ends.
///
/// @cost  counts rows, diagonals and blocks on the device, which sorts the entries by their blocks,
///        and by their packets if these have several windows; waits. `measures` converts the matrix
///        several times, and compiles
[[nodiscard]] FormatChoice best_format(const AnySparseMatrix& a, const FormatSearch& search = {});
/// What best_format() gives for matrices of this class from now on.
void remember_format(const AnySparseMatrix& a, const FormatChoice& choice);

[[nodiscard]] inline AnySparseMatrix in_best_format(const AnySparseMatrix& a,
                                                    const FormatSearch& search = {}) {
  const FormatChoice choice = best_format(a, search);
  return a.in_format(choice.format, choice.options).by(choice.way);
}
template <Element T>
[[nodiscard]] SparseMatrix<T> in_best_format(const SparseMatrix<T>& a,
                                             const FormatSearch& search = {}) {
  return SparseMatrix<T>(in_best_format(a.any(), search));
}

}  // namespace rtcg::arrays
