#pragma once

#include "rtcg/arrays/solve/eigenvalues.h"
#include "rtcg/arrays/solve/solve.h"

namespace rtcg::arrays {

/// The inverse of the diagonal.
///
/// @throws InvalidInput  arrays.solve.zero_diagonal: names the first row whose element is 0;
///         arrays.solve.shape_mismatch, arrays.solve.dtype
/// @cost   waits, to look at the diagonal
[[nodiscard]] Preconditioner jacobi(const AnySparseMatrix& a);

/// The inverses of the blocks of `size` x `size` elements on the diagonal; the last one may be
/// smaller.
///
/// @param size  from 1 to 64
/// @throws InvalidInput  arrays.solve.singular_block: names the first one;
///         arrays.solve.bad_options; as jacobi
/// @cost   waits; the host inverts. Memory for size numbers a row
[[nodiscard]] Preconditioner block_jacobi(const AnySparseMatrix& a, int size);

struct ChebyshevOptions {
  int degree = 4;  ///< products with the operator for each use; > 0
  /// Bounds of the eigenvalues, 0 < smallest < largest; by default estimated, widened by a tenth,
  /// and the smallest one not below a thirtieth of the largest: a polynomial damps the upper part
  /// of a wide spectrum.
  std::optional<double> smallest{};
  std::optional<double> largest{};
};
/// The polynomial of a positive definite operator that approximates its inverse best between two
/// bounds. Symmetric and positive definite itself.
///
/// @throws InvalidInput  arrays.solve.bad_options; arrays.solve.not_definite: the largest
///         eigenvalue found is not positive
/// @cost   extreme_eigenvalues where bounds are missing
[[nodiscard]] Preconditioner chebyshev_polynomial(const LinearOperator& a,
                                                  const ChebyshevOptions& options = {},
                                                  runtime::StreamRef stream = current_stream());

struct ChebyshevSolveOptions : SolveOptions {
  std::optional<double> smallest{};  ///< bounds of the eigenvalues of M^-1 A; by default estimated
  std::optional<double> largest{};
};
/// Solves A x = b with a symmetric positive definite A by Chebyshev's iteration, which needs bounds
/// of the eigenvalues and no inner products but those of residuals.
///
/// @throws InvalidInput  as conjugate_gradients; arrays.solve.bad_options: bounds, or none with a
///         preconditioner
/// @source Saad 2003, ch. 12
[[nodiscard]] Solution chebyshev(const LinearOperator& a, const AnyArray& b,
                                 const ChebyshevSolveOptions& options = {});

}  // namespace rtcg::arrays
