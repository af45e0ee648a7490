#pragma once

#include "rtcg/arrays/solve/solve.h"

namespace rtcg::arrays {

/// Solves A x = b with a symmetric positive definite A by the method of conjugate gradients.
///
/// Vectors and scalars stay on the device. An iteration is three launches if A is a sparse matrix
/// and the preconditioner is none or a diagonal: the product with p and p . A p; the new x, the new
/// residual and its norm; the new p. The host looks at the residuals every
/// SolveOptions::check_every iterations.
///
///     const Solution found = conjugate_gradients(matrix, b, {.tolerance = 1e-8});
///
/// @shape  b [n]; x [n], contiguous, on the same device
/// @throws InvalidInput  arrays.solve.shape_mismatch, arrays.solve.dtype,
///         arrays.solve.bad_options; arrays.solve.not_converged (NotConverged, with the residuals);
///         arrays.solve.not_definite: p . A p or r . z is not positive; arrays.solve.not_finite
/// @throws  what compiling and launching throw
/// @cost   one wait in check_every iterations at most, one at the end; seven vectors
/// @source Hestenes and Stiefel 1952; Saad 2003, ch. 9
[[nodiscard]] Solution conjugate_gradients(const LinearOperator& a, const AnyArray& b,
                                           const SolveOptions& options = {});

}  // namespace rtcg::arrays
