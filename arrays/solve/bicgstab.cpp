#include <cmath>
#include <limits>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/growing_solution.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/krylov.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

class StabilisedGradients : detail::IterativeMethod {
 public:
  StabilisedGradients(const LinearOperator& a, const AnyArray& b, const SolveOptions& options,
                      runtime::StreamRef stream)
      : IterativeMethod(a, b, options, stream),
        r_(vector()),
        shadow_(vector()),
        p_(vector()),
        direction_(options.preconditioner.is_identity() ? p_ : vector()),
        v_(vector()),
        s_(vector()),
        corrected_(options.preconditioner.is_identity() ? s_ : vector()),
        t_(vector()),
        sigma_(scalar()),
        ts_(scalar()),
        tt_(scalar()),
        notes_(stream, a.dtype(), 2, options.check_every) {}

  Solution solve() {
    return solution_.solve([this](std::int64_t most) { return run(most); });
  }

 private:
  static constexpr int square_ = 0;
  static constexpr int rho_ = 1;

  bool run(std::int64_t most) {
    while (true) {
      const std::int64_t before = solution_.iterations();
      begin();
      breaks_down_ = false;
      const bool is_done = notes_.run(
          most, [this](int number) { step(number); },
          [this](const detail::IterationNotes::Batch& batch) { return look_at(batch); },
          detail::replay_of(a_, options_));
      most -= solution_.iterations() - before;
      if (!is_done || !breaks_down_) {
        return is_done;
      }
      if (solution_.iterations() == before) {
        return false;  // not even a step from the new beginning
      }
    }
  }

  void begin() {
    solution_.residual_into(r_);
    shadow_.assign(r_);
    p_.assign(r_);
    detail::dot_into(stream_, r_, r_, notes_.at(square_, 0));
    notes_.at(rho_, 0).assign(notes_.at(square_, 0));
  }

  void step(int number) {
    const Expression rho = notes_.at(rho_, number);
    const Expression goes_on = notes_.at(square_, number) > solution_.limit();
    const auto apply_inverse = [&](const AnyArray& from, const AnyArray& to) {
      if (!options_.preconditioner.is_identity()) {
        detail::precondition(stream_, options_.preconditioner, from, to);
      }
    };
    apply_inverse(p_, direction_);
    a_.apply(stream_, direction_, v_);
    detail::dot_into(stream_, shadow_, v_, sigma_);
    const Expression alpha = where(goes_on && sigma_ != 0, rho / sigma_, 0);
    s_.assign(r_ - alpha * v_);
    apply_inverse(s_, corrected_);
    a_.apply(stream_, corrected_, t_);
    detail::dot_into(stream_, t_, s_, ts_);
    detail::dot_into(stream_, t_, t_, tt_);
    const Expression omega = where(goes_on && tt_ > 0, ts_ / tt_, 0);
    const AnyArray& x = solution_.x();
    evaluate_all_into({x + alpha * direction_ + omega * corrected_, s_ - omega * t_}, {x, r_});
    const AnyArray next_rho = notes_.at(rho_, number + 1);
    detail::dot_into(stream_, shadow_, r_, next_rho);
    detail::dot_into(stream_, r_, r_, notes_.at(square_, number + 1));
    const Expression beta =
        where(goes_on && rho != 0 && omega != 0, (next_rho / rho) * (alpha / omega), 0);
    p_.assign(r_ + beta * (p_ - omega * v_));
  }

  bool look_at(const detail::IterationNotes::Batch& batch) {
    const double epsilon = a_.dtype() == DType::f32 ? std::numeric_limits<float>::epsilon()
                                                    : std::numeric_limits<double>::epsilon();
    for (int step = batch.first; step <= batch.steps; ++step) {
      const auto place = static_cast<std::size_t>(step);
      const double square = batch.values[square_][place];
      if (step == 0) {
        first_square_ = square;
      }
      if (solution_.add(square, step > 0)) {
        return true;
      }
      // the residual is as good as orthogonal to the shadow: nothing is to be gained along it
      if (std::abs(batch.values[rho_][place]) <=
          epsilon * std::sqrt(square) * std::sqrt(first_square_)) {
        breaks_down_ = true;
        return true;
      }
    }
    return false;
  }

  AnyArray r_;
  AnyArray shadow_;
  AnyArray p_;
  AnyArray direction_;  // M^-1 p
  AnyArray v_;          // A direction
  AnyArray s_;
  AnyArray corrected_;  // M^-1 s
  AnyArray t_;          // A corrected
  AnyArray sigma_;
  AnyArray ts_;
  AnyArray tt_;
  detail::IterationNotes notes_;
  double first_square_ = 0;
  bool breaks_down_ = false;
};

}  // namespace

Solution bicgstab(const LinearOperator& a, const AnyArray& b, const SolveOptions& options) {
  return detail::solve_by<StabilisedGradients>(a, b, options);
}

}  // namespace rtcg::arrays
