#pragma once

#include "rtcg/arrays/solve/solve.h"

// Methods for operators that are not symmetric positive definite. Vectors and scalars stay on the
// device; all refusals are those of conjugate_gradients, but not_definite.

namespace rtcg::arrays {

/// Solves A x = b by the stabilised method of biconjugate gradients, preconditioned on the right.
/// It begins anew where the method breaks down.
///
/// @cost   two products an iteration; one wait in check_every iterations at most; ten vectors
/// @source van der Vorst 1992; Saad 2003, ch. 7
[[nodiscard]] Solution bicgstab(const LinearOperator& a, const AnyArray& b,
                                const SolveOptions& options = {});

/// Solves A x = b with a symmetric A, which may be indefinite, by the method of minimal residuals.
/// With a preconditioner, residuals of the recurrence are in its norm.
///
/// @throws InvalidInput  also arrays.solve.not_definite: the preconditioner is not positive
/// @cost   one product an iteration; one wait in check_every iterations at most; eight vectors
/// @source Paige and Saunders 1975
[[nodiscard]] Solution minres(const LinearOperator& a, const AnyArray& b,
                              const SolveOptions& options = {});

struct GmresOptions : SolveOptions {
  int restart = 30;  ///< vectors of a cycle; > 0
};
/// Solves A x = b by the method of generalised minimal residuals, preconditioned on the right.
///
/// Orthogonalises twice by Gram and Schmidt, which keeps the vectors orthogonal to rounding.
/// @cost   one product an iteration; one wait a cycle; restart + 4 vectors
/// @source Saad and Schultz 1986; Saad 2003, ch. 6
[[nodiscard]] Solution gmres(const LinearOperator& a, const AnyArray& b,
                             const GmresOptions& options = {});

}  // namespace rtcg::arrays
