#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/growing_solution.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/krylov.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

/// The names are those of Paige and Saunders.
class MinimalResiduals : detail::IterativeMethod {
 public:
  MinimalResiduals(const LinearOperator& a, const AnyArray& b, const SolveOptions& options,
                   runtime::StreamRef stream)
      : IterativeMethod(a, b, options, stream,
                        options.preconditioner.is_identity()
                            ? InnerProduct()
                            : InnerProduct(product_of(options.preconditioner))),
        v_(vector()),
        image_(vector()),
        r1_(vector()),
        r2_(vector()),
        y_(vector()),
        w_{vector(), vector()},
        alfa_(scalar()),
        beta_(scalar()),
        old_beta_(scalar()),
        d_bar_(scalar()),
        epsilon_(scalar()),
        phi_bar_(scalar()),
        cs_(scalar()),
        sn_(scalar()),
        old_epsilon_(scalar()),
        delta_(scalar()),
        gamma_(scalar()),
        phi_(scalar()),
        notes_(stream, a.dtype(), 2, options.check_every) {}

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
  static constexpr int square_ = 0;       // of the residual
  static constexpr int beta_square_ = 1;  // of the next vector, in the preconditioner's norm

  /// r . M^-1 r
  static InnerProduct product_of(const Preconditioner& preconditioner) {
    return [preconditioner](runtime::StreamRef stream, const AnyArray& a, const AnyArray& b,
                            const AnyArray& product) {
      const AnyArray z(a.dtype(), a.shape(), stream);
      detail::precondition(stream, preconditioner, a, z);
      detail::dot_into(stream, z, b, product);
    };
  }

  void begin() {
    solution_.residual_into(r1_);
    r2_.assign(r1_);
    detail::precondition(stream_, options_.preconditioner, r2_, y_);
    const AnyArray square = notes_.at(beta_square_, 0);
    detail::dot_into(stream_, r2_, y_, square);
    notes_.at(square_, 0).assign(square);
    beta_.assign(sqrt(square));
    phi_bar_.assign(beta_);
    for (const AnyArray* each : {&old_beta_, &d_bar_, &epsilon_, &sn_}) {
      each->assign(0);
    }
    cs_.assign(-1);
    for (const AnyArray& each : w_) {
      each.assign(0);
    }
    turn_ = 0;
  }

  void step(int number) {
    // the next vector of Lanczos
    v_.assign(where(beta_ > 0, 1 / beta_, 0) * y_);
    a_.apply(stream_, v_, image_);
    image_.assign(image_ - where(old_beta_ > 0, beta_ / old_beta_, 0) * r1_);
    detail::dot_into(stream_, v_, image_, alfa_);
    r1_.assign(image_ - where(beta_ > 0, alfa_ / beta_, 0) * r2_);
    std::swap(r1_, r2_);
    detail::precondition(stream_, options_.preconditioner, r2_, y_);
    const AnyArray next_square = notes_.at(beta_square_, number + 1);
    detail::dot_into(stream_, r2_, y_, next_square);
    // the rotation that makes the tridiagonal matrix triangular
    const Expression goes_on = notes_.at(square_, number) > solution_.limit();
    const Expression next_beta = sqrt(maximum(next_square, 0));
    const Expression gamma_bar = sn_ * d_bar_ - cs_ * alfa_;
    const Expression gamma = sqrt(gamma_bar * gamma_bar + next_beta * next_beta);
    const Expression cs = where(gamma > 0, gamma_bar / gamma, 0);
    const Expression sn = where(gamma > 0, next_beta / gamma, 0);
    const Expression phi_bar = where(goes_on, sn * phi_bar_, phi_bar_);
    evaluate_all_into(
        {epsilon_, cs_ * d_bar_ + sn_ * alfa_, sn_ * next_beta, -(cs_ * next_beta), gamma, cs, sn,
         where(goes_on, cs * phi_bar_, 0), phi_bar, phi_bar * phi_bar, beta_, next_beta},
        {old_epsilon_, delta_, epsilon_, d_bar_, gamma_, cs_, sn_, phi_, phi_bar_,
         notes_.at(square_, number + 1), old_beta_, beta_});
    // the next direction takes the place of the last but one
    const AnyArray& last = w_[turn_ % 2];
    const AnyArray& next = w_[(turn_ + 1) % 2];
    const Expression w = where(gamma_ > 0, (v_ - old_epsilon_ * next - delta_ * last) / gamma_, 0);
    evaluate_all_into({w, solution_.x() + phi_ * w}, {next, solution_.x()});
    ++turn_;
  }

  bool look_at(const detail::IterationNotes::Batch& batch) {
    for (int step = batch.first; step <= batch.steps; ++step) {
      const auto place = static_cast<std::size_t>(step);
      const double beta_square = batch.values[beta_square_][place];
      if (beta_square < 0 && !options_.preconditioner.is_identity()) {
        throw InvalidInput("arrays.solve.not_definite",
                           fmt::format("r . M^-1 r is {:.3g} in iteration {}: minres needs a "
                                       "symmetric positive definite preconditioner",
                                       beta_square, solution_.iterations() + 1));
      }
      if (solution_.add(batch.values[square_][place], step > 0)) {
        return true;
      }
    }
    return false;
  }

  AnyArray v_;
  AnyArray image_;
  AnyArray r1_;
  AnyArray r2_;
  AnyArray y_;
  AnyArray w_[2];
  AnyArray alfa_;
  AnyArray beta_;
  AnyArray old_beta_;
  AnyArray d_bar_;
  AnyArray epsilon_;
  AnyArray phi_bar_;
  AnyArray cs_;
  AnyArray sn_;
  AnyArray old_epsilon_;
  AnyArray delta_;
  AnyArray gamma_;
  AnyArray phi_;
  detail::IterationNotes notes_;
  std::size_t turn_ = 0;
};

}  // namespace

Solution minres(const LinearOperator& a, const AnyArray& b, const SolveOptions& options) {
  return detail::solve_by<MinimalResiduals>(a, b, options);
}

}  // namespace rtcg::arrays
