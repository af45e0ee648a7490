#include "rtcg/arrays/solve/eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/solve.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

class Lanczos {
 public:
  Lanczos(const LinearOperator& a, const EigenvalueOptions& options, runtime::StreamRef stream)
      : a_(a),
        options_(options),
        stream_(stream),
        v_(a.dtype(), Extents{a.count()}, stream),
        last_v_(a.dtype(), Extents{a.count()}, stream),
        image_(a.dtype(), Extents{a.count()}, stream),
        notes_(stream, a.dtype(), 2, options.check_every) {}

  ExtremeEigenvalues find() {
    const AnyArray begin = notes_.at(beta_square_, 0);
    image_.assign(cast(Generator(1).normal<float>({a_.count()}), a_.dtype()));
    detail::dot_into(stream_, image_, image_, begin);
    v_.assign(image_ / sqrt(begin));
    begin.assign(0);
    last_v_.assign(0);
    const std::int64_t most = std::min<std::int64_t>(options_.max_steps, a_.count());
    result_.has_converged =
        notes_.run(
            most, [this](int number) { step(number); },
            [this](const detail::IterationNotes::Batch& batch) { return look_at(batch); }) ||
        result_.steps == a_.count();
    return result_;
  }

 private:
  static constexpr int alpha_ = 0;
  static constexpr int beta_square_ = 1;

  void step(int number) {
    const AnyArray alpha = notes_.at(alpha_, number + 1);
    const AnyArray beta_square = notes_.at(beta_square_, number);
    const AnyArray next_beta_square = notes_.at(beta_square_, number + 1);
    a_.apply_and_dot(stream_, v_, image_, alpha);
    image_.assign(image_ - alpha * v_ - sqrt(beta_square) * last_v_);
    detail::dot_into(stream_, image_, image_, next_beta_square);
    std::swap(v_, last_v_);
    v_.assign(where(next_beta_square > 0, image_ / sqrt(next_beta_square), 0));
  }

  bool look_at(const detail::IterationNotes::Batch& batch) {
    for (int step = 1; step <= batch.steps; ++step) {
      const auto place = static_cast<std::size_t>(step);
      detail::check_finite(batch.values[alpha_][place], result_.steps + 1);
      detail::check_finite(batch.values[beta_square_][place], result_.steps + 1);
      diagonal_.push_back(batch.values[alpha_][place]);
      beside_.push_back(batch.values[beta_square_][place]);
      ++result_.steps;
      const double size = std::max(std::abs(result_.smallest), std::abs(result_.largest));
      const double epsilon = a_.dtype() == DType::f32 ? std::numeric_limits<float>::epsilon()
                                                      : std::numeric_limits<double>::epsilon();
      if (std::sqrt(beside_.back()) <= epsilon * std::max(size, std::abs(diagonal_.back()))) {
        update();  // the vectors so far span all that the operator makes of the first one
        return true;
      }
    }
    const ExtremeEigenvalues before = result_;
    update();
    const double size = std::max(std::abs(result_.smallest), std::abs(result_.largest));
    const bool is_first = before.steps == batch.steps;
    return !is_first && std::abs(result_.smallest - before.smallest) <= options_.tolerance * size &&
           std::abs(result_.largest - before.largest) <= options_.tolerance * size;
  }

  void update() {
    const auto [smallest, largest] = detail::extremes_of_tridiagonal(diagonal_, beside_);
    result_.smallest = smallest;
    result_.largest = largest;
  }

  const LinearOperator a_;
  const EigenvalueOptions options_;
  const runtime::StreamRef stream_;
  AnyArray v_;
  AnyArray last_v_;
  AnyArray image_;
  detail::IterationNotes notes_;
  std::vector<double> diagonal_{};
  std::vector<double> beside_{};
  ExtremeEigenvalues result_{};
};

}  // namespace

std::pair<double, double> detail::extremes_of_tridiagonal(const std::vector<double>& diagonal,
                                                          const std::vector<double>& neighbours) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double radius = (i > 0 ? std::sqrt(neighbours[i - 1]) : 0) +
                          (i + 1 < diagonal.size() ? std::sqrt(neighbours[i]) : 0);
    low = std::min(low, diagonal[i] - radius);
    high = std::max(high, diagonal[i] + radius);
  }
  // as many as there are negative pivots
  const auto count_below = [&](double limit) {
    std::size_t count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      pivot = diagonal[i] - limit - (i > 0 ? neighbours[i - 1] / pivot : 0);
      pivot = pivot == 0 ? std::numeric_limits<double>::min() : pivot;
      count += pivot < 0 ? 1 : 0;
    }
    return count;
  };
  const auto find = [&](std::size_t least) {  // where at least so many are below
    double below = low;
    double above = high;
    for (int turn = 0; turn < 200 && below < above; ++turn) {
      const double middle = below + (above - below) / 2;
      if (middle <= below || middle >= above) {
        break;
      }
      (count_below(middle) >= least ? above : below) = middle;
    }
    return below + (above - below) / 2;
  };
  return {find(1), find(diagonal.size())};
}

ExtremeEigenvalues extreme_eigenvalues(const LinearOperator& a, const EigenvalueOptions& options,
                                       runtime::StreamRef stream) {
  if (!(options.tolerance > 0) || options.max_steps < 1 || options.check_every < 1 ||
      options.check_every > 10000) {
    throw InvalidInput("arrays.solve.bad_options",
                       fmt::format("eigenvalues to {} of the largest one in {} steps, read every "
                                   "{}: all three must be above 0",
                                   options.tolerance, options.max_steps, options.check_every));
  }
  if (a.count() == 0) {
    throw InvalidInput("arrays.solve.shape_mismatch",
                       "an operator on vectors of 0 elements has no eigenvalues: pass one of at "
                       "least 1");
  }
  const StreamScope scope(stream);
  return Lanczos(a, options, stream).find();
}

}  // namespace rtcg::arrays
