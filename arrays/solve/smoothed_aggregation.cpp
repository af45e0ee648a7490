#include "rtcg/arrays/solve/smoothed_aggregation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/chebyshev_factors.h"
#include "rtcg/arrays/solve/eigenvalues.h"
#include "rtcg/arrays/solve/rows_on_host.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/arrays/sparse/triplets.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::ChebyshevFactors;
using detail::RowsOnHost;

double epsilon_of(DType dtype) {
  return dtype == DType::f32 ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
}

std::vector<double> diagonal_of(const RowsOnHost& a) {
  std::vector<double> result(a.rows());
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
      result[row] += std::cmp_equal(a.column[e], row) ? a.value[e] : 0;
    }
  }
  return result;
}

void check_diagonal(const std::vector<double>& diagonal) {
  for (std::size_t row = 0; row < diagonal.size(); ++row) {
    if (diagonal[row] == 0) {
      throw InvalidInput("arrays.solve.zero_diagonal",
                         fmt::format("element ({0}, {0}) of the matrix is 0: smoothed_aggregation "
                                     "needs a positive diagonal",
                                     row));
    }
    if (!(diagonal[row] > 0)) {
      throw InvalidInput("arrays.solve.not_definite",
                         fmt::format("element ({0}, {0}) of the matrix is {1:.3g}: "
                                     "smoothed_aggregation needs a positive definite matrix",
                                     row, diagonal[row]));
    }
  }
}

/// The strong couplings, without the diagonal, and the diagonal with the others added to it, so
/// that the sums of rows stay: a constant remains what the matrix maps to almost nothing.
struct Filtered {
  RowsOnHost couplings{};
  std::vector<double> diagonal{};
  double largest_ratio = 1;  ///< of the sizes of a row to its diagonal: bounds all eigenvalues
};

Filtered filtered(const RowsOnHost& a, const std::vector<double>& diagonal, double strength) {
  Filtered result;
  result.couplings.first.reserve(a.rows() + 1);
  result.diagonal.reserve(a.rows());
  for (std::size_t row = 0; row < a.rows(); ++row) {
    double own = diagonal[row];
    double strong = 0;
    for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
      const auto other = static_cast<std::size_t>(a.column[e]);
      if (other == row || a.value[e] == 0) {
        continue;
      }
      if (a.value[e] * a.value[e] > strength * strength * diagonal[row] * diagonal[other]) {
        result.couplings.column.push_back(a.column[e]);
        result.couplings.value.push_back(a.value[e]);
        strong += std::abs(a.value[e]);
      } else {
        own += a.value[e];
      }
    }
    result.couplings.end_row();
    // what is not added leaves the row without a diagonal of its size
    own = 2 * own >= strong ? own : diagonal[row];
    result.diagonal.push_back(own);
    result.largest_ratio = std::max(result.largest_ratio, 1 + (own > 0 ? strong / own : 0));
  }
  return result;
}

/// Constants of aggregates after a step of Jacobi's method: n rows, a column for each aggregate.
struct Prolongation {
  std::int64_t columns = 0;
  RowsOnHost rows{};
};

Prolongation smoothed(const Filtered& a, const std::vector<std::int32_t>& aggregates,
                      std::int32_t count) {
  Prolongation result{.columns = count};
  // 4/3 is best for a spectrum up to 2 without more being known of it
  const double omega = 4.0 / 3 / a.largest_ratio;
  std::vector<std::pair<std::int32_t, double>> entries;
  std::vector<std::size_t> place(static_cast<std::size_t>(count));  // of an aggregate, plus 1
  for (std::size_t row = 0; row < aggregates.size(); ++row) {
    entries.clear();
    const auto add = [&](std::size_t of_row, double value) {
      const std::int32_t aggregate = aggregates[of_row];
      std::size_t& found = place[static_cast<std::size_t>(aggregate)];
      if (found == 0) {
        entries.emplace_back(aggregate, 0);
        found = entries.size();
      }
      entries[found - 1].second += value;
    };
    if (aggregates[row] >= 0) {
      add(row, 1 - omega);
      for (std::size_t e = a.couplings.begin(row); e < a.couplings.end(row); ++e) {
        add(static_cast<std::size_t>(a.couplings.column[e]),
            -omega * a.couplings.value[e] / a.diagonal[row]);
      }
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) {
      place[static_cast<std::size_t>(column)] = 0;
      result.rows.column.push_back(column);
      result.rows.value.push_back(value);
    }
    result.rows.end_row();
  }
  return result;
}

/// What the diagonal of P^T A P would be if all couplings were 0.
std::vector<double> scales_of(const Prolongation& p, const std::vector<double>& diagonal) {
  std::vector<double> result(static_cast<std::size_t>(p.columns));
  for (std::size_t row = 0; row < p.rows.rows(); ++row) {
    for (std::size_t e = p.rows.begin(row); e < p.rows.end(row); ++e) {
      result[static_cast<std::size_t>(p.rows.column[e])] +=
          p.rows.value[e] * p.rows.value[e] * diagonal[row];
    }
  }
  return result;
}

/// Elements that are 0 but for rounding become 0, those of functions that the matrix maps to 0.
void clean_diagonal(std::vector<double>& diagonal, const std::vector<double>& scales, DType dtype) {
  constexpr double roundings = 64;
  for (std::size_t row = 0; row < diagonal.size(); ++row) {
    const double rounding = roundings * epsilon_of(dtype) * scales[row];
    if (!(diagonal[row] >= -rounding)) {
      throw InvalidInput("arrays.solve.not_definite",
                         fmt::format("a function of an aggregate of rows has the energy {:.3g}: "
                                     "smoothed_aggregation needs a positive definite matrix",
                                     diagonal[row]));
    }
    diagonal[row] = diagonal[row] <= rounding ? 0 : diagonal[row];
  }
}

std::vector<double> inverted(const std::vector<double>& diagonal) {
  std::vector<double> result;
  result.reserve(diagonal.size());
  for (const double each : diagonal) {
    result.push_back(each == 0 ? 0 : 1 / each);
  }
  return result;
}

/// The inverse, dense and row-major; without the rows and columns that depend on those before.
std::vector<double> dense_inverse(const RowsOnHost& a, DType dtype) {
  const std::size_t n = a.rows();
  std::vector<double> g(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
      g[row * n + static_cast<std::size_t>(a.column[e])] += a.value[e];
    }
  }
  std::vector<double> diagonal(n);
  for (std::size_t row = 0; row < n; ++row) {
    diagonal[row] = g[row * n + row];
  }
  const double rounding = 16 * static_cast<double>(n) * epsilon_of(dtype);
  std::vector<bool> is_left_out(n);
  for (std::size_t k = 0; k < n; ++k) {
    double* const pivot_row = &g[k * n];
    const double pivot = pivot_row[k];
    if (!(pivot >= -rounding * std::abs(diagonal[k]))) {
      throw InvalidInput("arrays.solve.not_definite",
                         fmt::format("pivot {} of the coarsest matrix is {:.3g}: "
                                     "smoothed_aggregation needs a positive definite matrix",
                                     k, pivot));
    }
    is_left_out[k] = pivot <= rounding * diagonal[k];
    if (is_left_out[k]) {
      continue;
    }
    pivot_row[k] = 1;
    for (std::size_t column = 0; column < n; ++column) {
      pivot_row[column] /= pivot;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = row == k ? 0 : g[row * n + k];
      if (factor == 0) {
        continue;
      }
      g[row * n + k] = 0;
      for (std::size_t column = 0; column < n; ++column) {
        g[row * n + column] -= factor * pivot_row[column];
      }
    }
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      const bool is_out = is_left_out[row] || is_left_out[column];
      const double mean = is_out ? 0 : (g[row * n + column] + g[column * n + row]) / 2;
      g[row * n + column] = mean;
      g[column * n + row] = mean;
    }
  }
  return g;
}

/// A matrix of the hierarchy, its smoother, and the way to the next one.
struct Level {
  AnySparseMatrix a;
  AnyArray inverse_diagonal;
  ChebyshevFactors factors;
  std::optional<AnySparseMatrix> up{};    ///< P
  std::optional<AnySparseMatrix> down{};  ///< P^T
};

class Cycle {
 public:
  Cycle(DType dtype, int smoothing_steps) : dtype_(dtype), smoothing_steps_(smoothing_steps) {}

  void add(Level level) { levels_.push_back(std::move(level)); }
  void set_inverse(AnyArray inverse) { inverse_ = std::move(inverse); }
  [[nodiscard]] Level& last() { return levels_.back(); }

  /// x = the V-cycle's approximation of the solution of A x = b on a level.
  void solve(runtime::StreamRef on, std::size_t at, const AnyArray& b, const AnyArray& x) const {
    if (at == levels_.size()) {
      x.assign(sum(*inverse_ * b, over(1)));
      return;
    }
    const Level& level = levels_[at];
    const AnyArray y(dtype_, b.shape(), on);
    const AnyArray d(dtype_, b.shape(), on);
    y.assign(level.factors.first() * level.inverse_diagonal * Expression(b));
    AnyArray now = continued(level, b, y, y, x, d);
    AnyArray other = now.address() == x.address() ? y : x;
    if (level.up) {
      const AnyArray of_coarse_b(dtype_, Extents{level.up->columns()}, on);
      const AnyArray of_coarse_x(dtype_, Extents{level.up->columns()}, on);
      other.assign(b - level.a * now);
      multiply_into(*level.down, other, of_coarse_b);
      solve(on, at + 1, of_coarse_b, of_coarse_x);
      other.assign(now + *level.up * of_coarse_x);
      std::swap(now, other);
    }
    const Expression rest = level.inverse_diagonal * (b - level.a * now);
    if (smoothing_steps_ == 1) {
      other.assign(now + level.factors.first() * rest);
      std::swap(now, other);
    } else {
      evaluate_all_into({level.factors.first() * rest, now + level.factors.first() * rest},
                        {d, other});
      now = continued(level, b, other, d, now, d);
    }
    if (now.address() != x.address()) {
      x.assign(now);
    }
  }

 private:
  /// The steps of Chebyshev's iteration after the first one.
  ///
  /// @param x     after the first step; @param first_d  what that added
  /// @param other, d  are overwritten; d may be first_d
  /// @returns  the one of `x` and `other` that has the result
  [[nodiscard]] AnyArray continued(const Level& level, const AnyArray& b, AnyArray x,
                                   AnyArray first_d, AnyArray other, const AnyArray& d) const {
    ChebyshevFactors factors = level.factors;
    for (int step = 1; step < smoothing_steps_; ++step) {
      const ChebyshevFactors::Pair pair = factors.next();
      const Expression next = pair.old * Expression(first_d) +
                              pair.residual * (level.inverse_diagonal * (b - level.a * x));
      if (step + 1 < smoothing_steps_) {
        evaluate_all_into({next, x + next}, {d, other});
      } else {
        other.assign(x + next);
      }
      first_d = d;
      std::swap(x, other);
    }
    return x;
  }

  DType dtype_;
  int smoothing_steps_;
  std::vector<Level> levels_{};
  std::optional<AnyArray> inverse_{};
};

/// Of the matrix with both sides scaled by the roots of the diagonal.
double largest_eigenvalue(const AnySparseMatrix& a, const AnyArray& inverse_diagonal,
                          runtime::StreamRef stream) {
  const AnyArray scale = evaluate(sqrt(inverse_diagonal));
  const AnyArray scaled(a.dtype(), scale.shape(), stream);
  const LinearOperator map(a.rows(), a.dtype(),
                           [&](runtime::StreamRef, const AnyArray& x, const AnyArray& y) {
                             scaled.assign(scale * Expression(x));
                             y.assign(scale * (a * scaled));
                           });
  const ExtremeEigenvalues found =
      extreme_eigenvalues(map, {.tolerance = 1e-2, .max_steps = 40, .check_every = 10}, stream);
  if (found.smallest < -std::sqrt(epsilon_of(a.dtype())) * std::abs(found.largest)) {
    throw InvalidInput("arrays.solve.not_definite",
                       fmt::format("the matrix with a diagonal of ones has the eigenvalue {:.3g}: "
                                   "smoothed_aggregation needs a positive definite one; "
                                   "incomplete_lu takes others",
                                   found.smallest));
  }
  return found.largest > 0 ? found.largest : 1;
}

void check_options(const AggregationOptions& options) {
  constexpr std::int64_t most_rows_of_inverse = 4096;
  if (!(options.strength >= 0) || !(options.strength < 1) || options.smoothing_steps < 1 ||
      options.coarsest_rows < 1 || options.coarsest_rows > most_rows_of_inverse ||
      options.max_levels < 1) {
    throw InvalidInput(
        "arrays.solve.bad_options",
        fmt::format("a strength of {}, {} smoothing steps, a coarsest matrix of {} rows and {} "
                    "levels: the strength must be from 0 to before 1, the rows from 1 to {}, the "
                    "others 1 or more",
                    options.strength, options.smoothing_steps, options.coarsest_rows,
                    options.max_levels, most_rows_of_inverse));
  }
}

AnySparseMatrix to_device(const Prolongation& p, DType dtype, runtime::StreamRef stream) {
  return {p.columns, Array<std::int32_t>(p.rows.first, stream),
          Array<std::int32_t>(p.rows.column, stream),
          detail::fitted_array(Array<double>(p.rows.value, stream), dtype)};
}

/// Makes the levels one after the other.
class Hierarchy {
 public:
  Hierarchy(const AnySparseMatrix& given, const AggregationOptions& options,
            runtime::StreamRef stream)
      : stream_(stream), cycle_(given.dtype(), options.smoothing_steps) {
    AnySparseMatrix a = detail::with_single_entries(given.in_format(SparseFormat::csr));
    RowsOnHost rows = detail::rows_on_host(a);
    std::vector<double> diagonal = diagonal_of(rows);
    check_diagonal(diagonal);
    detail::check_symmetric(rows, a.dtype(), "smoothed_aggregation", "incomplete_lu takes others");
    double strength = options.strength;
    for (int level = 1;; ++level) {
      if (options.report) {
        options.report({a.rows(), a.entries()});
      }
      if (a.rows() <= options.coarsest_rows) {
        cycle_.set_inverse(detail::fitted_array(
            Array<double>(dense_inverse(rows, a.dtype()), Extents{a.rows(), a.rows()}, stream),
            a.dtype()));
        return;
      }
      add_smoother(level == 1 ? given : a, diagonal);
      const std::optional<Prolongation> p =
          level < options.max_levels ? prolongation(rows, diagonal, strength) : std::nullopt;
      if (!p) {
        return;
      }
      const AnySparseMatrix up = to_device(*p, a.dtype(), stream);
      const AnySparseMatrix down = up.transposed();
      cycle_.last().up = prepared(up);
      cycle_.last().down = prepared(down);
      a = multiply(down, multiply(a, up));
      const std::vector<double> scales = scales_of(*p, diagonal);
      rows = detail::rows_on_host(a);
      diagonal = diagonal_of(rows);
      clean_diagonal(diagonal, scales, a.dtype());
      strength /= 2;
    }
  }

  [[nodiscard]] Cycle cycle() && { return std::move(cycle_); }

 private:
  /// Waits for what products find out about rows, so that uses do not.
  [[nodiscard]] const AnySparseMatrix& prepared(const AnySparseMatrix& a) const {
    static_cast<void>(detail::suits_expressions(stream_, a));
    return a;
  }

  void add_smoother(const AnySparseMatrix& a, const std::vector<double>& diagonal) {
    const AnyArray inverse_diagonal =
        detail::fitted_array(Array<double>(inverted(diagonal), stream_), a.dtype());
    const double largest = 1.1 * largest_eigenvalue(prepared(a), inverse_diagonal, stream_);
    // coarser levels have the functions below
    constexpr double upper_part = 0.25;
    cycle_.add({a, inverse_diagonal, ChebyshevFactors(upper_part * largest, largest)});
  }

  /// None where aggregates would be almost as many as rows.
  [[nodiscard]] static std::optional<Prolongation> prolongation(const RowsOnHost& a,
                                                                const std::vector<double>& diagonal,
                                                                double strength) {
    const Filtered strong = filtered(a, diagonal, strength);
    const std::vector<std::int32_t> aggregates =
        detail::aggregates_of(strong.couplings.first, strong.couplings.column);
    const std::int32_t count =
        aggregates.empty() ? 0 : *std::max_element(aggregates.begin(), aggregates.end()) + 1;
    if (count == 0 || static_cast<double>(count) > 0.8 * static_cast<double>(a.rows())) {
      return std::nullopt;
    }
    return smoothed(strong, aggregates, count);
  }

  const runtime::StreamRef stream_;
  Cycle cycle_;
};

}  // namespace

std::vector<std::int32_t> detail::aggregates_of(const std::vector<std::int32_t>& first,
                                                const std::vector<std::int32_t>& column) {
  const RowsOnHost a{first, column, {}};
  std::vector<std::int32_t> result(a.rows(), -1);
  std::int32_t count = 0;
  const auto at = [&](std::size_t e) -> std::int32_t& {
    return result[static_cast<std::size_t>(a.column[e])];
  };
  // rows all of whose neighbours are free
  for (std::size_t row = 0; row < a.rows(); ++row) {
    bool is_free = result[row] < 0 && a.begin(row) < a.end(row);
    for (std::size_t e = a.begin(row); is_free && e < a.end(row); ++e) {
      is_free = at(e) < 0;
    }
    if (is_free) {
      result[row] = count;
      for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
        at(e) = count;
      }
      ++count;
    }
  }
  // others join an aggregate of the first pass, so that none grows along a chain
  std::vector<std::pair<std::size_t, std::int32_t>> joins;
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (std::size_t e = a.begin(row); result[row] < 0 && e < a.end(row); ++e) {
      if (at(e) >= 0) {
        joins.emplace_back(row, at(e));
        break;
      }
    }
  }
  for (const auto& [row, aggregate] : joins) {
    result[row] = aggregate;
  }
  return result;
}

Preconditioner smoothed_aggregation(const AnySparseMatrix& a, const AggregationOptions& options) {
  detail::check_real_square(a);
  check_options(options);
  const runtime::StreamRef stream = current_stream(a.value().stream());
  const StreamScope scope(stream);
  if (a.rows() == 0) {
    return LinearOperator(0, a.dtype(),
                          [](runtime::StreamRef, const AnyArray&, const AnyArray&) {});
  }
  const auto cycle = std::make_shared<const Cycle>(Hierarchy(a, options, stream).cycle());
  return LinearOperator(a.rows(), a.dtype(),
                        [cycle](runtime::StreamRef on, const AnyArray& r, const AnyArray& z) {
                          const StreamScope scope_of_use(on);
                          cycle->solve(on, 0, r, z);
                        })
      .repeatable();
}

}  // namespace rtcg::arrays
