#pragma once

#include <cstdint>
#include <vector>

#include "rtcg/arrays/solve/linear_operator.h"

namespace rtcg::arrays {

struct EigenvalueOptions {
  /// Stops when the smallest and the largest value change by less than this part of the largest
  /// one's size within `check_every` steps.
  double tolerance = 1e-8;
  int max_steps = 500;
  int check_every = 20;  ///< steps between two looks of the host
};

struct ExtremeEigenvalues {
  double smallest = 0;
  double largest = 0;
  int steps = 0;
  bool has_converged =
      false;  ///< otherwise max_steps came first; the values are within the spectrum
};

/// The smallest and the largest eigenvalue of a symmetric operator, by the method of Lanczos from a
/// random vector that is always the same. Both are within the spectrum: the true smallest one is
/// not larger, the true largest one not smaller.
///
/// @throws InvalidInput  arrays.solve.bad_options; arrays.solve.not_finite;
///         arrays.solve.shape_mismatch: an operator on no elements
/// @cost   one product a step, one wait in check_every steps at most; three vectors
/// @source Lanczos 1950; Paige 1972
[[nodiscard]] ExtremeEigenvalues extreme_eigenvalues(const LinearOperator& a,
                                                     const EigenvalueOptions& options = {},
                                                     runtime::StreamRef stream = current_stream());

namespace detail {
/// The smallest and the largest eigenvalue of a symmetric tridiagonal matrix, by bisection.
///
/// @param neighbours  squares of the elements next to the diagonal, one fewer
[[nodiscard]] std::pair<double, double> extremes_of_tridiagonal(
    const std::vector<double>& diagonal, const std::vector<double>& neighbours);
}  // namespace detail
}  // namespace rtcg::arrays
