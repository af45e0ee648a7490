#include "rtcg/arrays/solve/growing_solution.h"

#include <cmath>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays::detail {
namespace {

InnerProduct product_or_dot(const InnerProduct& product) {
  return product ? product : InnerProduct(dot_into);
}

[[noreturn]] void throw_not_converged(std::int64_t iterations, const SolveOptions& options,
                                      std::vector<double> history) {
  const std::string message = fmt::format(
      "after {} iterations the residual is {:.3g} of the right-hand side's, {:.3g} was asked for: "
      "more iterations, a larger tolerance or a better preconditioner may help",
      iterations, history.empty() ? 1 : history.back(), options.tolerance);
  throw NotConverged(message, std::move(history));
}

}  // namespace

GrowingSolution::GrowingSolution(runtime::StreamRef stream, const LinearOperator& a,
                                 const AnyArray& b, const SolveOptions& options,
                                 const InnerProduct& product)
    : stream_(stream),
      a_(a),
      options_(options),
      b_(b.contiguous()),
      has_own_norm_(static_cast<bool>(product)),
      x_(a.dtype(), Extents{a.count()}, stream),
      scales_(a.dtype(), Extents{3}, stream) {
  if (options.start) {
    x_.assign(*options.start);
  } else {
    x_.assign(0);
  }
  product_or_dot(options.product)(stream, b_, b_, scales_(2));
  if (product) {
    product(stream, b_, b_, scales_(0));
  } else {
    scales_(0).assign(scales_(2));
  }
  scales_(1).assign(scales_(0) * (options.tolerance * options.tolerance));
}

void GrowingSolution::residual_into(const AnyArray& r) const {
  if (!options_.start && iterations_ == 0) {
    r.assign(b_);
    return;
  }
  a_.apply(stream_, x_, r);
  r.assign(b_ - Expression(r));
}

void GrowingSolution::read_scales() {
  if (!has_scales_) {
    const std::vector<double> scales = scales_.to_vector<double>();
    for (const double scale : scales) {
      check_finite(scale, 0);
    }
    size_ = scales[0] > 0 ? std::sqrt(scales[0]) : 1;
    most_ = scales[1];
    true_size_ = scales[2] > 0 ? std::sqrt(scales[2]) : 1;
    has_scales_ = true;
  }
}

bool GrowingSolution::add(double square, bool is_iteration) {
  read_scales();
  iterations_ += is_iteration ? 1 : 0;
  check_finite(square, iterations_);
  const double residual = std::sqrt(square) / size_;
  if (is_iteration || history_.empty()) {
    history_.push_back(residual);
  } else {
    history_.back() = residual;  // the method begins anew
  }
  if (is_iteration && options_.report) {
    options_.report({iterations_, residual});
  }
  return square <= most_;  // as the device compares
}

Solution GrowingSolution::solve(const std::function<bool(std::int64_t)>& run) {
  double last_residual = 0;
  while (run(options_.max_iterations - iterations_)) {
    const double recurred = history_.back();
    if (!options_.checks_true_residual || recurred == 0) {
      return {x_, iterations_, recurred, std::move(history_)};
    }
    const double residual = true_residual(stream_, a_, b_, x_, options_.product) / true_size_;
    if (residual <= 2 * options_.tolerance) {
      return {x_, iterations_, residual, std::move(history_)};
    }
    const bool is_stuck = last_residual != 0 && !(residual <= last_residual / 2);
    last_residual = residual;
    if (has_own_norm_) {  // in which the residual has to be smaller than was thought
      scales_(1) = scales_(1) * std::pow(options_.tolerance / residual, 2);
      has_scales_ = false;
    }
    if (is_stuck) {
      history_.back() = residual;
      break;
    }
  }
  throw_not_converged(iterations_, options_, std::move(history_));
}

IterationNotes::Replay replay_of(const LinearOperator& a, const SolveOptions& options) {
  const bool is_repeatable =
      a.is_repeatable() && options.preconditioner.is_repeatable() && !options.product;
  return is_repeatable ? IterationNotes::Replay::where_possible : IterationNotes::Replay::never;
}

Solution solution_of_nothing(const AnyArray& b) {
  return {b.copy(), 0, 0, {0}};
}

}  // namespace rtcg::arrays::detail
