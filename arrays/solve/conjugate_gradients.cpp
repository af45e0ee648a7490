#include "rtcg/arrays/solve/conjugate_gradients.h"

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/growing_solution.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

class ConjugateGradients : detail::IterativeMethod {
 public:
  ConjugateGradients(const LinearOperator& a, const AnyArray& b, const SolveOptions& options,
                     runtime::StreamRef stream)
      : IterativeMethod(a, b, options, stream),
        p_(vector()),
        image_(vector()),
        r_{vector(), vector()},
        z_(options.preconditioner.inverse() ? vector() : image_),
        // without a preconditioner z = r, and r . z = r . r
        rho_(options.preconditioner.is_identity() ? square_ : 2),
        notes_(stream, a.dtype(), options.preconditioner.is_identity() ? 2 : 3,
               options.check_every) {}

  Solution solve() {
    return solution_.solve([this](std::int64_t most) {
      begin();
      return notes_.run(
          most, [this](int number) { step(number); },
          [this](const detail::IterationNotes::Batch& batch) { return look_at(batch); },
          detail::replay_of(a_, options_));
    });
  }

 private:
  static constexpr int square_ = 0;
  static constexpr int product_ = 1;

  void dot(const AnyArray& left, const AnyArray& right, const AnyArray& product) const {
    if (options_.product) {
      options_.product(stream_, left, right, product);
    } else {
      detail::dot_into(stream_, left, right, product);
    }
  }

  /// The residual of x, and the first direction.
  void begin() {
    const AnyArray& r = r_[0];
    solution_.residual_into(r);
    dot(r, r, notes_.at(square_, 0));
    detail::precondition(stream_, options_.preconditioner, r, p_);
    if (!options_.preconditioner.is_identity()) {
      dot(r, p_, notes_.at(rho_, 0));
    }
    is_odd_ = false;
  }

  void step(int number) {
    const AnyArray& r = r_[is_odd_ ? 1 : 0];
    const AnyArray& next_r = r_[is_odd_ ? 0 : 1];
    is_odd_ = !is_odd_;
    const AnyArray rho = notes_.at(rho_, number);
    const AnyArray next_rho = notes_.at(rho_, number + 1);
    const AnyArray next_square = notes_.at(square_, number + 1);
    const AnyArray p_dot_image = notes_.at(product_, number + 1);
    if (options_.product) {
      a_.apply(stream_, p_, image_);
      dot(p_, image_, p_dot_image);
    } else {
      a_.apply_and_dot(stream_, p_, image_, p_dot_image);
    }
    detail::StepSums sums;
    if (!options_.product) {
      sums.square = next_square;
      if (options_.preconditioner.diagonal()) {
        sums.rho = next_rho;
      }
    }
    detail::step_along(stream_,
                       {solution_.x(), p_, image_, r, next_r, options_.preconditioner.diagonal()},
                       {rho, notes_.at(square_, number), p_dot_image, solution_.limit()}, sums);
    if (!sums.square) {
      dot(next_r, next_r, next_square);
    }
    if (!options_.preconditioner.is_identity() && !sums.rho) {
      detail::precondition(stream_, options_.preconditioner, next_r, z_);
      dot(next_r, z_, next_rho);
      detail::turn_direction(stream_, p_, z_, {}, next_rho, rho, next_square, solution_.limit());
    } else {
      detail::turn_direction(stream_, p_, next_r, options_.preconditioner.diagonal(), next_rho, rho,
                             next_square, solution_.limit());
    }
  }

  bool look_at(const detail::IterationNotes::Batch& batch) {
    for (int step = batch.first; step <= batch.steps; ++step) {
      const auto place = static_cast<std::size_t>(step);
      if (step > 0) {
        check_definite(batch, place);
      }
      if (solution_.add(batch.values[square_][place], step > 0)) {
        return true;
      }
    }
    return false;
  }

  void check_definite(const detail::IterationNotes::Batch& batch, std::size_t place) const {
    const double product = batch.values[product_][place];
    const double rho = batch.values[static_cast<std::size_t>(rho_)][place - 1];
    detail::check_finite(product, solution_.iterations() + 1);
    detail::check_finite(rho, solution_.iterations());
    if (product <= 0 || rho <= 0) {
      throw InvalidInput(
          "arrays.solve.not_definite",
          fmt::format("{} is {:.3g} in iteration {}: conjugate gradients need a symmetric positive "
                      "definite {}; minres takes indefinite operators, gmres and bicgstab others",
                      product <= 0 ? "p . A p" : "r . M^-1 r", product <= 0 ? product : rho,
                      solution_.iterations() + 1, product <= 0 ? "operator" : "preconditioner"));
    }
  }

  AnyArray p_;
  AnyArray image_;  // A p
  AnyArray r_[2];   // each step writes the one from the other
  AnyArray z_;
  int rho_;  // kind of note
  detail::IterationNotes notes_;
  bool is_odd_ = false;
};

}  // namespace

Solution conjugate_gradients(const LinearOperator& a, const AnyArray& b,
                             const SolveOptions& options) {
  return detail::solve_by<ConjugateGradients>(a, b, options);
}

}  // namespace rtcg::arrays
