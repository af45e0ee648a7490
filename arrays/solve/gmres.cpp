#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/growing_solution.h"
#include "rtcg/arrays/solve/krylov.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

/// The least squares of a cycle: columns of the Hessenberg matrix come one by one, and rotations
/// make it triangular.
class SmallLeastSquares {
 public:
  explicit SmallLeastSquares(double first) : right_{first} {}

  /// @param column  one longer than those before it and one
  /// @returns the residual's norm
  double add(std::vector<double> column) {
    const std::size_t count = columns_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const double upper = column[i];
      column[i] = cs_[i] * upper + sn_[i] * column[i + 1];
      column[i + 1] = -sn_[i] * upper + cs_[i] * column[i + 1];
    }
    const double size = std::hypot(column[count], column[count + 1]);
    cs_.push_back(size > 0 ? column[count] / size : 1);
    sn_.push_back(size > 0 ? column[count + 1] / size : 0);
    column[count] = size;
    right_.push_back(-sn_.back() * right_[count]);
    right_[count] *= cs_.back();
    columns_.push_back(std::move(column));
    return std::abs(right_.back());
  }

  [[nodiscard]] std::vector<double> solution() const {
    std::vector<double> result(right_.begin(), right_.end() - 1);
    for (std::size_t i = result.size(); i-- > 0;) {
      for (std::size_t j = i + 1; j < result.size(); ++j) {
        result[i] -= columns_[j][i] * result[j];
      }
      // of a singular operator the direction adds nothing
      result[i] = columns_[i][i] != 0 ? result[i] / columns_[i][i] : 0;
    }
    return result;
  }

 private:
  std::vector<std::vector<double>> columns_{};
  std::vector<double> cs_{};
  std::vector<double> sn_{};
  std::vector<double> right_;
};

class GeneralisedResiduals : detail::IterativeMethod {
 public:
  GeneralisedResiduals(const LinearOperator& a, const AnyArray& b, const GmresOptions& options,
                       runtime::StreamRef stream)
      : IterativeMethod(a, b, options, stream),
        restart_(options.restart),
        basis_(a.dtype(), Extents{options.restart + 1, a.count()}, stream),
        projections_(zeros(a.dtype(), Extents{options.restart + 1, options.restart + 1}, stream)),
        corrected_(vector()),
        image_(vector()),
        square_(scalar()) {}

  Solution solve() {
    return solution_.solve([this](std::int64_t most) {
      do {
        const std::int64_t before = solution_.iterations();
        if (run_cycle(std::min<std::int64_t>(most, restart_))) {
          return true;
        }
        most -= solution_.iterations() - before;
      } while (most > 0);
      return false;
    });
  }

 private:
  /// @returns whether the last residual is small enough
  bool run_cycle(std::int64_t steps) {
    solution_.residual_into(image_);
    normalise(0, 0);
    for (std::int64_t step = 0; step < steps; ++step) {
      expand(step);
    }
    const std::vector<double> found = projections_.to_vector<double>();
    const auto width = static_cast<std::size_t>(restart_ + 1);
    SmallLeastSquares equations(found[0]);
    bool is_done = solution_.add(found[0] * found[0], false);
    std::size_t used = 0;
    while (!is_done && std::cmp_less(used, steps)) {
      const double* row = &found[(used + 1) * width];
      const double residual = equations.add(std::vector<double>(row, row + used + 2));
      ++used;
      is_done = solution_.add(residual * residual, true);
    }
    if (used > 0) {
      add_to_solution(equations.solution());
    }
    return is_done;
  }

  /// The next vector of the basis; what it is made of goes to row `step + 1` of the projections.
  void expand(std::int64_t step) {
    const AnyArray last = basis_(step);
    if (options_.preconditioner.is_identity()) {
      a_.apply(stream_, last, image_);
    } else {
      detail::precondition(stream_, options_.preconditioner, last, corrected_);
      a_.apply(stream_, corrected_, image_);
    }
    const AnyArray known = basis_(Slice{0, step + 1});
    const AnyArray row = projections_(step + 1, Slice{0, step + 1});
    row.assign(sum(known * image_, over(1)));
    image_.assign(image_ - sum(row.expand_dims(1) * known, over(0)));
    const AnyArray rest = evaluate(sum(known * image_, over(1)));
    image_.assign(image_ - sum(rest.expand_dims(1) * known, over(0)));
    row.assign(row + Expression(rest));
    normalise(step + 1, step + 1);
  }

  /// The image becomes a vector of the basis, its norm an element of that row of the projections.
  void normalise(std::int64_t row, std::int64_t place) {
    detail::dot_into(stream_, image_, image_, square_);
    const AnyArray norm = projections_(row, place);
    norm.assign(sqrt(square_));
    basis_(row).assign(where(norm > 0, image_ / norm, 0));
  }

  void add_to_solution(const std::vector<double>& factors) {
    const auto count = static_cast<std::int64_t>(factors.size());
    const AnyArray weights =
        detail::fitted_array(Array<double>(factors, stream_), a_.dtype()).expand_dims(1);
    const Expression change = sum(weights * basis_(Slice{0, count}), over(0));
    if (options_.preconditioner.is_identity()) {
      solution_.x().assign(solution_.x() + change);
    } else {
      image_.assign(change);
      detail::precondition(stream_, options_.preconditioner, image_, corrected_);
      solution_.x().assign(solution_.x() + Expression(corrected_));
    }
  }

  const int restart_;
  AnyArray basis_;        // [restart + 1, n]
  AnyArray projections_;  // element 0: norm of the first residual; row j + 1: of A M^-1 vector j
  AnyArray corrected_;
  AnyArray image_;
  AnyArray square_;
};

}  // namespace

Solution gmres(const LinearOperator& a, const AnyArray& b, const GmresOptions& options) {
  if (options.restart < 1) {
    throw InvalidInput(
        "arrays.solve.bad_options",
        fmt::format("gmres keeps {} vectors: the number must be 1 or more", options.restart));
  }
  return detail::solve_by<GeneralisedResiduals>(a, b, options);
}

}  // namespace rtcg::arrays
