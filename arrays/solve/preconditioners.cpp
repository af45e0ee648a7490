#include "rtcg/arrays/solve/preconditioners.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/chebyshev_factors.h"
#include "rtcg/arrays/solve/growing_solution.h"
#include "rtcg/arrays/solve/iteration_notes.h"
#include "rtcg/arrays/solve/rows_on_host.h"
#include "rtcg/arrays/solve/vector_loops.h"

namespace rtcg::arrays {
namespace {

/// In place, row-major, with the largest pivot of each column. @returns whether it has an inverse
bool invert(double* matrix, int size) {
  const auto at = [&](int row, int column) -> double& { return matrix[row * size + column]; };
  std::vector<int> swaps(static_cast<std::size_t>(size));
  for (int k = 0; k < size; ++k) {
    int pivot = k;
    for (int row = k + 1; row < size; ++row) {
      pivot = std::abs(at(row, k)) > std::abs(at(pivot, k)) ? row : pivot;
    }
    if (!(std::abs(at(pivot, k)) > 0) || !std::isfinite(at(pivot, k))) {
      return false;
    }
    swaps[static_cast<std::size_t>(k)] = pivot;
    for (int column = 0; column < size; ++column) {
      std::swap(at(k, column), at(pivot, column));
    }
    const double scale = 1 / at(k, k);
    at(k, k) = 1;
    for (int column = 0; column < size; ++column) {
      at(k, column) *= scale;
    }
    for (int row = 0; row < size; ++row) {
      const double factor = row == k ? 0 : at(row, k);
      if (factor != 0) {
        at(row, k) = 0;
        for (int column = 0; column < size; ++column) {
          at(row, column) -= factor * at(k, column);
        }
      }
    }
  }
  for (int k = size; k-- > 0;) {
    for (int row = 0; row < size; ++row) {
      std::swap(at(row, k), at(row, swaps[static_cast<std::size_t>(k)]));
    }
  }
  return true;
}

/// The blocks on the diagonal, inverted, [blocks, size, size]; the last one has ones where there
/// are no rows.
std::vector<double> inverse_blocks_of(const AnySparseMatrix& given, int size) {
  const AnySparseMatrix a = given.in_format(SparseFormat::csr);
  const std::vector<std::int32_t> first = a.first().to_vector<std::int32_t>();
  const std::vector<std::int32_t> column = a.column().to_vector<std::int32_t>();
  const std::vector<double> value = a.value().to_vector<double>();
  const auto rows = static_cast<std::size_t>(a.rows());
  const auto length = static_cast<std::size_t>(size);
  const std::size_t blocks = (rows + length - 1) / length;
  std::vector<double> result(blocks * length * length);
  for (std::size_t row = 0; row < blocks * length; ++row) {
    double* const elements = &result[row * length];
    if (row >= rows) {
      elements[row % length] = 1;
      continue;
    }
    for (auto e = static_cast<std::size_t>(first[row]); std::cmp_less(e, first[row + 1]); ++e) {
      const auto place = static_cast<std::size_t>(column[e]);
      if (place / length == row / length) {
        elements[place % length] += value[e];
      }
    }
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    if (!invert(&result[block * length * length], size)) {
      throw InvalidInput("arrays.solve.singular_block",
                         fmt::format("the block of rows {} to {} on the diagonal is singular: use "
                                     "another size of blocks, or another preconditioner",
                                     block * length, std::min(rows, (block + 1) * length) - 1));
    }
  }
  return result;
}

/// The bounds that are not given.
std::pair<double, double> bounds_of(const LinearOperator& a, std::optional<double> smallest,
                                    std::optional<double> largest, double least_part,
                                    runtime::StreamRef stream) {
  if (!smallest || !largest) {
    const ExtremeEigenvalues found =
        extreme_eigenvalues(a, {.tolerance = 1e-2, .max_steps = 200, .check_every = 10}, stream);
    if (!(found.largest > 0)) {
      throw InvalidInput("arrays.solve.not_definite",
                         fmt::format("the largest eigenvalue of the operator is {:.3g}: a "
                                     "Chebyshev polynomial needs a positive definite one",
                                     found.largest));
    }
    largest = largest.value_or(1.1 * found.largest);
    smallest = smallest.value_or(std::max(0.9 * found.smallest, *largest * least_part));
  }
  if (!(*smallest > 0) || !(*largest > *smallest) || !std::isfinite(*largest)) {
    throw InvalidInput("arrays.solve.bad_options",
                       fmt::format("eigenvalues between {} and {}: the bounds have to be positive "
                                   "and to ascend",
                                   *smallest, *largest));
  }
  return {*smallest, *largest};
}

using detail::ChebyshevFactors;

class ChebyshevIteration {
 public:
  ChebyshevIteration(const LinearOperator& a, const AnyArray& b,
                     const ChebyshevSolveOptions& options, std::pair<double, double> bounds,
                     runtime::StreamRef stream)
      : a_(a),
        options_(options),
        bounds_(bounds),
        factors_(bounds.first, bounds.second),
        stream_(stream),
        solution_(stream, a, b, options),
        r_(vector()),
        d_(vector()),
        z_(options.preconditioner.is_identity() ? r_ : vector()),
        image_(vector()),
        notes_(stream, a.dtype(), 1, options.check_every) {}

  Solution solve() {
    return solution_.solve([this](std::int64_t most) {
      solution_.residual_into(r_);
      detail::dot_into(stream_, r_, r_, notes_.at(0, 0));
      precondition_residual();
      factors_ = ChebyshevFactors(bounds_.first, bounds_.second);
      d_.assign(factors_.first() * Expression(z_));
      bool is_first_batch = true;
      return notes_.run(
          most, [this](int number) { step(number); },
          [&](const detail::IterationNotes::Batch& batch) {
            for (int step = is_first_batch ? 0 : 1; step <= batch.steps; ++step) {
              if (solution_.add(batch.values[0][static_cast<std::size_t>(step)], step > 0)) {
                return true;
              }
            }
            is_first_batch = false;
            return false;
          });
    });
  }

 private:
  [[nodiscard]] AnyArray vector() const { return {a_.dtype(), Extents{a_.count()}, stream_}; }

  void precondition_residual() const {
    if (!options_.preconditioner.is_identity()) {
      detail::precondition(stream_, options_.preconditioner, r_, z_);
    }
  }

  void step(int number) {
    const Expression goes_on = notes_.at(0, number) > solution_.limit();
    a_.apply(stream_, d_, image_);
    evaluate_all_into({solution_.x() + where(goes_on, d_, 0), r_ - where(goes_on, image_, 0)},
                      {solution_.x(), r_});
    detail::dot_into(stream_, r_, r_, notes_.at(0, number + 1));
    precondition_residual();
    const ChebyshevFactors::Pair factors = factors_.next();
    d_.assign(factors.old * Expression(d_) + factors.residual * Expression(z_));
  }

  const LinearOperator a_;
  const ChebyshevSolveOptions options_;
  const std::pair<double, double> bounds_;
  ChebyshevFactors factors_;
  const runtime::StreamRef stream_;
  detail::GrowingSolution solution_;
  AnyArray r_;
  AnyArray d_;
  AnyArray z_;
  AnyArray image_;
  detail::IterationNotes notes_;
};

}  // namespace

Preconditioner jacobi(const AnySparseMatrix& a) {
  detail::check_real_square(a);
  const AnyArray diagonal = a.diagonal();
  const std::vector<double> values = diagonal.to_vector<double>();
  const auto zero = std::find(values.begin(), values.end(), 0.0);
  if (zero != values.end()) {
    throw InvalidInput("arrays.solve.zero_diagonal",
                       fmt::format("element ({0}, {0}) of the matrix is 0: a Jacobi "
                                   "preconditioner needs a diagonal without zeros",
                                   zero - values.begin()));
  }
  return Preconditioner::of_diagonal(evaluate(1 / Expression(diagonal)));
}

Preconditioner block_jacobi(const AnySparseMatrix& a, int size) {
  detail::check_real_square(a);
  if (size < 1 || size > 64) {
    throw InvalidInput("arrays.solve.bad_options",
                       fmt::format("blocks of {} rows: the number must be from 1 to 64", size));
  }
  const runtime::StreamRef stream = current_stream(a.value().stream());
  const StreamScope scope(stream);
  const std::vector<double> inverses = inverse_blocks_of(a, size);
  const AnyArray blocks = detail::fitted_array(
      Array<double>(inverses, Extents{(a.rows() + size - 1) / size, size, size}, stream),
      a.dtype());
  return LinearOperator(a.rows(), a.dtype(),
                        [blocks](runtime::StreamRef on, const AnyArray& r, const AnyArray& z) {
                          detail::multiply_blocks(on, blocks, r, z);
                        })
      .repeatable();
}

Preconditioner chebyshev_polynomial(const LinearOperator& a, const ChebyshevOptions& options,
                                    runtime::StreamRef stream) {
  if (options.degree < 1) {
    throw InvalidInput(
        "arrays.solve.bad_options",
        fmt::format("a Chebyshev polynomial of degree {}: it must be 1 or more", options.degree));
  }
  constexpr double least_part = 1.0 / 30;
  const auto [smallest, largest] =
      bounds_of(a, options.smallest, options.largest, least_part, stream);
  const ChebyshevFactors factors(smallest, largest);
  const int degree = options.degree;
  return LinearOperator(
             a.count(), a.dtype(),
             [a, factors, degree](runtime::StreamRef on, const AnyArray& r, const AnyArray& z) {
               ChebyshevFactors each = factors;
               const AnyArray rest(a.dtype(), r.shape(), on);
               const AnyArray d(a.dtype(), r.shape(), on);
               const AnyArray image(a.dtype(), r.shape(), on);
               rest.assign(r);
               d.assign(each.first() * Expression(r));
               z.assign(d);
               for (int step = 0; step < degree; ++step) {
                 a.apply(on, d, image);
                 rest.assign(rest - Expression(image));
                 const ChebyshevFactors::Pair pair = each.next();
                 d.assign(pair.old * Expression(d) + pair.residual * Expression(rest));
                 z.assign(z + Expression(d));
               }
             })
      .repeatable(a.is_repeatable());
}

Solution chebyshev(const LinearOperator& a, const AnyArray& b,
                   const ChebyshevSolveOptions& options) {
  detail::check_system(a, b, options);
  if (!options.preconditioner.is_identity() && (!options.smallest || !options.largest)) {
    throw InvalidInput("arrays.solve.bad_options",
                       "with a preconditioner chebyshev needs both bounds of the eigenvalues: they "
                       "are estimated of the operator alone");
  }
  const runtime::StreamRef stream = current_stream(b.stream());
  const StreamScope scope(stream);
  if (a.count() == 0) {
    return detail::solution_of_nothing(b);
  }
  const auto bounds = bounds_of(a, options.smallest, options.largest, 0, stream);
  return ChebyshevIteration(a, b, options, bounds, stream).solve();
}

}  // namespace rtcg::arrays
