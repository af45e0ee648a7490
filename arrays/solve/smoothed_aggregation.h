#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rtcg/arrays/solve/solve.h"

namespace rtcg::arrays {

/// A matrix of a hierarchy.
struct AggregationLevel {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
};

struct AggregationOptions {
  /// Rows i and j belong together if |a_ij| is more than this part of sqrt(a_ii a_jj); each coarser
  /// level takes half of it. From 0 to before 1. A larger number follows strong couplings alone and
  /// makes more levels.
  double strength = 0.08;
  /// Products with a level's matrix before the coarser one, but one, and after it; > 0.
  int smoothing_steps = 1;
  /// A level of at most so many rows is solved by its inverse, a dense matrix; from 1 to 4096.
  std::int64_t coarsest_rows = 400;
  int max_levels = 25;  ///< > 0
  /// Called for each level, from the matrix itself on.
  std::function<void(const AggregationLevel&)> report{};
};

/// A multigrid method: a V-cycle over matrices of fewer and fewer rows. Each row represents an
/// aggregate of rows of the level before. For symmetric positive definite matrices of scalar
/// equations such as diffusion: iterations of conjugate_gradients with it hardly depend on the
/// number of rows. Symmetric and positive definite itself.
///
///     const Preconditioner inverse = smoothed_aggregation(a);
///     const Solution found = conjugate_gradients(a, b, {.preconditioner = inverse});
///
/// Aggregates are found greedily, rows that are coupled with none are left to the smoother.
/// Constant functions of aggregates are smoothed by one step of Jacobi's method, P, and the matrix
/// of the next level is P^T A P. The smoother is Chebyshev's iteration with the diagonal for the
/// upper part of the spectrum.
///
/// A singular matrix, such as the Laplacian of a graph, gives a preconditioner for right-hand sides
/// that have a solution.
///
/// @throws InvalidInput  arrays.solve.zero_diagonal: names the first row whose element is 0;
///         arrays.solve.not_definite: an element of the diagonal or an eigenvalue is negative;
///         arrays.solve.not_symmetric, arrays.solve.bad_options, arrays.solve.shape_mismatch,
///         arrays.solve.dtype
/// @cost   waits; the host aggregates, the device multiplies matrices: memory for all products of
///         entries of A and P. Each use takes about six launches a level
/// @source Vanek, Mandel and Brezina 1996
[[nodiscard]] Preconditioner smoothed_aggregation(const AnySparseMatrix& a,
                                                  const AggregationOptions& options = {});

namespace detail {
/// The number of the aggregate of each row, from 0 on; -1: coupled with no row.
///
/// @param first, column  compressed rows of a symmetric matrix: the strong couplings
[[nodiscard]] std::vector<std::int32_t> aggregates_of(const std::vector<std::int32_t>& first,
                                                      const std::vector<std::int32_t>& column);
}  // namespace detail

}  // namespace rtcg::arrays
