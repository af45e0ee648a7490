#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/arrays/core/storage.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/solve.h"

namespace rtcg::arrays::detail {

/// What all iterative methods share: x, the residuals so far, when they are small enough, and the
/// look at the true residual in the end.
class GrowingSolution {
 public:
  /// x is the first solution.
  ///
  /// @param product  of the norm in which the method measures residuals; empty: that of the options
  GrowingSolution(runtime::StreamRef stream, const LinearOperator& a, const AnyArray& b,
                  const SolveOptions& options, const InnerProduct& product = {});

  [[nodiscard]] const AnyArray& x() const noexcept { return x_; }
  /// The square of the residual that is small enough; without axes.
  [[nodiscard]] AnyArray limit() const { return scales_(1); }
  /// r = b - A x.
  void residual_into(const AnyArray& r) const;
  [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }

  /// Takes down the square of a residual, of an iteration or of a beginning.
  ///
  /// @returns whether it is small enough
  /// @throws InvalidInput  arrays.solve.not_finite
  bool add(double square, bool is_iteration);
  /// Runs the method from x on, again if the true residual is larger than that of the recurrence.
  ///
  /// @param run  of so many iterations at most; returns whether the last residual was small enough
  /// @throws InvalidInput  arrays.solve.not_converged
  [[nodiscard]] Solution solve(const std::function<bool(std::int64_t)>& run);

 private:
  void read_scales();

  const runtime::StreamRef stream_;
  const LinearOperator a_;
  const SolveOptions options_;
  const AnyArray b_;
  const bool has_own_norm_;  // another one than that of the options
  AnyArray x_;
  AnyArray scales_;  // of b the square of the method's norm; the limit; b . b
  bool has_scales_ = false;
  double size_ = 1;       // norm of b in that of the method, or 1
  double true_size_ = 1;  // the same in that of the options
  double most_ = 0;       // the limit
  std::int64_t iterations_ = 0;
  std::vector<double> history_{};
};

/// Whether graphs may repeat the iterations of a method.
[[nodiscard]] IterationNotes::Replay replay_of(const LinearOperator& a,
                                               const SolveOptions& options);

/// What a method is made of besides its vectors.
class IterativeMethod {
 protected:
  /// @param product  as of GrowingSolution
  IterativeMethod(const LinearOperator& a, const AnyArray& b, const SolveOptions& options,
                  runtime::StreamRef stream, const InnerProduct& product = {})
      : a_(a), options_(options), stream_(stream), solution_(stream, a, b, options, product) {}

  [[nodiscard]] AnyArray vector() const { return {a_.dtype(), Extents{a_.count()}, stream_}; }
  [[nodiscard]] AnyArray scalar() const { return {a_.dtype(), Extents{}, stream_}; }

  const LinearOperator a_;
  const SolveOptions options_;
  const runtime::StreamRef stream_;
  GrowingSolution solution_;
};

/// Of no equations.
[[nodiscard]] Solution solution_of_nothing(const AnyArray& b);

/// Solves the system by `Method(a, b, options, stream).solve()`.
///
/// @throws InvalidInput  what check_system and the method throw
template <class Method, class Options>
[[nodiscard]] Solution solve_by(const LinearOperator& a, const AnyArray& b,
                                const Options& options) {
  check_system(a, b, options);
  const runtime::StreamRef stream = current_stream(b.stream());
  const StreamScope scope(stream);
  return a.count() == 0 ? solution_of_nothing(b) : Method(a, b, options, stream).solve();
}

}  // namespace rtcg::arrays::detail
