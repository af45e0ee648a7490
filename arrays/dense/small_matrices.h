#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"

// Factorisations of many small matrices by generated kernels, a matrix to a thread.

namespace rtcg::arrays::detail {

/// The most rows and columns of a small matrix.
inline constexpr std::int64_t most_small_rows = 32;

/// `count` matrices of rows x columns that a thread can step through: on the host one after the
/// other, elsewhere with equal elements of all matrices as neighbours, which threads read together.
class SmallMatrices {
 public:
  /// A copy of [count, rows, columns]. @cost  one launch
  SmallMatrices(const AnyArray& matrices, runtime::StreamRef stream);
  /// Without values.
  SmallMatrices(DType dtype, std::int64_t count, std::int64_t rows, std::int64_t columns,
                runtime::StreamRef stream);

  [[nodiscard]] const AnyArray& values() const noexcept { return values_; }
  [[nodiscard]] std::int64_t element_step() const;  ///< between elements of a matrix
  [[nodiscard]] std::int64_t matrix_step() const;   ///< between matrices
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  /// A view of [count, rows, columns].
  [[nodiscard]] AnyArray matrices() const;

 private:
  bool has_neighbours_;
  std::int64_t count_;
  std::int64_t rows_;
  std::int64_t columns_;
  AnyArray values_;
};

// Each is one launch, asynchronous. `info` is an i32 for each matrix: 0, or the number, from 1 on,
// of the first column whose pivot is 0 or not a number.

/// P A = L U in place, with partial pivoting. @shape pivots  [count, n, 1] of i32: the row that was
/// exchanged with each row, from 0 on
void factor_lu(const SmallMatrices& a, const SmallMatrices& pivots, const AnyArray& info);
/// Solves A X = B from what factor_lu() gave, into B.
void solve_lu(const SmallMatrices& lu, const SmallMatrices& pivots, const SmallMatrices& b);
/// The determinant, into an array of [count], from what factor_lu() gave.
void multiply_pivots(const SmallMatrices& lu, const SmallMatrices& pivots, const AnyArray& result);
/// A = L L^H: L in place, zeros above. `info`: of the first pivot that is not above 0.
void factor_cholesky(const SmallMatrices& a, const AnyArray& info);
/// A = Q R by Householder's reflections: R in place of A, whose first min(m, n) rows count.
///
/// @shape q     [count, m, min(m, n)]
/// @shape work  [count, min(m, n), 1]
void factor_qr(const SmallMatrices& a, const SmallMatrices& q, const SmallMatrices& work);

/// A V = V diag(values) of Hermitian matrices by Jacobi's rotations. Only the lower triangle of `a`
/// is read. `info` is 1 of what has infinities or NaNs, or does not converge.
///
/// @shape vectors  [count, n, n]
/// @shape values   [count, n, 1]: real, ascending
void find_eigenvalues(const SmallMatrices& a, const SmallMatrices& vectors,
                      const SmallMatrices& values, const AnyArray& info);
/// A = U diag(values) V^H by one-sided rotations: U in place of A. `info` as of find_eigenvalues.
///
/// @shape a       [count, m, n], m >= n
/// @shape v       [count, n, n]
/// @shape values  [count, n, 1]: real, descending
/// @source Hestenes 1958, Inversion of matrices by biorthogonalization and related results
void find_singular_values(const SmallMatrices& a, const SmallMatrices& v,
                          const SmallMatrices& values, const AnyArray& info);

/// The kernels of all of these for elements of that type, to look at.
[[nodiscard]] std::vector<ElementwiseKernel> small_matrix_kernels(DType dtype);

}  // namespace rtcg::arrays::detail
