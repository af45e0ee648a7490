#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/solve/linear_operator.h"
#include "rtcg/cgen/support/error.h"

// What all solvers of linear equations have in common.

namespace rtcg::arrays {

/// An approximate inverse that a solver applies to residuals.
class Preconditioner {
 public:
  /// None.
  Preconditioner() = default;
  /// @param inverse  z = M^-1 r; symmetric and positive definite for conjugate_gradients and minres
  // NOLINTNEXTLINE(google-explicit-constructor): {.preconditioner = inverse}
  Preconditioner(LinearOperator inverse) : inverse_(std::move(inverse)) {}
  /// A diagonal, whose products solvers compute along with others.
  [[nodiscard]] static Preconditioner of_diagonal(AnyArray inverse_diagonal);

  [[nodiscard]] bool is_identity() const noexcept { return !inverse_ && !diagonal_; }
  [[nodiscard]] const std::optional<LinearOperator>& inverse() const noexcept { return inverse_; }
  /// As LinearOperator::is_repeatable().
  [[nodiscard]] bool is_repeatable() const noexcept {
    return !inverse_ || inverse_->is_repeatable();
  }
  /// z[i] = diagonal[i]*r[i], if it is one.
  [[nodiscard]] const std::optional<AnyArray>& diagonal() const noexcept { return diagonal_; }

 private:
  std::optional<LinearOperator> inverse_{};
  std::optional<AnyArray> diagonal_{};
};

/// Sets the array `product`, which has no axes, to the inner product of two vectors.
using InnerProduct = std::function<void(runtime::StreamRef, const AnyArray& a, const AnyArray& b,
                                        const AnyArray& product)>;

struct SolveProgress {
  std::int64_t iterations = 0;
  double residual = 0;  ///< norm over that of the right-hand side
};

struct SolveOptions {
  double tolerance = 1e-10;  ///< of the residual's norm, as a part of the right-hand side's; > 0
  std::int64_t max_iterations = 10000;
  Preconditioner preconditioner{};
  std::optional<AnyArray> start{};  ///< the first x; by default 0
  /// Iterations between two looks of the host at the residual. Iterations after the one that
  /// reached the tolerance change nothing.
  int check_every = 20;
  /// When the residual of the method's recurrence is small enough, computes b - A x, and goes on
  /// from x if it is more than twice the tolerance. Costs one product and a wait.
  bool checks_true_residual = true;
  /// Called for each iteration when the host has read its residual.
  std::function<void(const SolveProgress&)> report{};
  /// In which norms are measured, and operator and preconditioner are self-adjoint; empty: the sum
  /// of products. For conjugate_gradients only.
  InnerProduct product{};
};

struct Solution {
  AnyArray x;
  std::int64_t iterations = 0;
  /// Norm of b - A x over that of b; of the method's recurrence if the true one was not asked for.
  double residual = 0;
  /// The same after 0, 1, 2, ... iterations, by the method's recurrence.
  std::vector<double> history{};
};

/// arrays.solve.not_converged, with the residuals of the iterations that there were.
class NotConverged : public InvalidInput {
 public:
  NotConverged(const std::string& message, std::vector<double> history)
      : InvalidInput("arrays.solve.not_converged", message), history_(std::move(history)) {}
  [[nodiscard]] const std::vector<double>& history() const noexcept { return history_; }

 private:
  std::vector<double> history_;
};

namespace detail {
/// @throws InvalidInput  arrays.solve.shape_mismatch, arrays.solve.dtype,
///         arrays.solve.bad_options, arrays.evaluate.mixed_devices
void check_system(const LinearOperator& a, const AnyArray& b, const SolveOptions& options);
/// z = M^-1 r, or a copy of r.
void precondition(runtime::StreamRef stream, const Preconditioner& preconditioner,
                  const AnyArray& r, const AnyArray& z);
/// Norm of b - A x. @cost  a product, and a wait
[[nodiscard]] double true_residual(runtime::StreamRef stream, const LinearOperator& a,
                                   const AnyArray& b, const AnyArray& x,
                                   const InnerProduct& product);
/// @throws InvalidInput  arrays.solve.not_finite
void check_finite(double value, std::int64_t iterations);
}  // namespace detail

}  // namespace rtcg::arrays
