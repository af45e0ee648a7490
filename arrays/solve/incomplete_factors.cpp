#include "rtcg/arrays/solve/incomplete_factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/rows_on_host.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/arrays/sparse/triplets.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::RowsOnHost;

/// A matrix in the order of the colours of its rows.
struct Coloured {
  RowsOnHost matrix{};
  std::vector<std::int32_t> order{};   ///< the row of each place
  std::vector<std::int32_t> place{};   ///< of each row
  std::vector<std::size_t> begins{0};  ///< of colours
};

RowsOnHost transposed_pattern(const RowsOnHost& a) {
  RowsOnHost result;
  result.first.assign(a.rows() + 1, 0);
  for (const std::int32_t each : a.column) {
    ++result.first[static_cast<std::size_t>(each) + 1];
  }
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  std::vector<std::int32_t> next = result.first;
  result.column.resize(a.column.size());
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(a.column[e])]++);
      result.column[place] = static_cast<std::int32_t>(row);
    }
  }
  return result;
}

Coloured coloured(const RowsOnHost& a) {
  const std::vector<std::int32_t> colour = detail::colours_of_rows(a.first, a.column);
  Coloured result;
  const std::size_t rows = a.rows();
  result.order.resize(rows);
  std::iota(result.order.begin(), result.order.end(), 0);
  const auto colour_of = [&](std::int32_t row) { return colour[static_cast<std::size_t>(row)]; };
  std::stable_sort(
      result.order.begin(), result.order.end(),
      [&](std::int32_t a_row, std::int32_t b_row) { return colour_of(a_row) < colour_of(b_row); });
  result.place.resize(rows);
  for (std::size_t at = 0; at < rows; ++at) {
    result.place[static_cast<std::size_t>(result.order[at])] = static_cast<std::int32_t>(at);
    if (at > 0 && colour_of(result.order[at]) != colour_of(result.order[at - 1])) {
      result.begins.push_back(at);
    }
  }
  result.begins.push_back(rows);
  std::vector<std::pair<std::int32_t, double>> entries;
  for (const std::int32_t row : result.order) {
    entries.clear();
    for (std::size_t e = a.begin(static_cast<std::size_t>(row));
         e < a.end(static_cast<std::size_t>(row)); ++e) {
      entries.emplace_back(result.place[static_cast<std::size_t>(a.column[e])], a.value[e]);
    }
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) {
      result.matrix.column.push_back(column);
      result.matrix.value.push_back(value);
    }
    result.matrix.end_row();
  }
  return result;
}

/// Overwrites the matrix by L below the diagonal, without its ones, and U.
void factor(Coloured& a, bool is_definite) {
  RowsOnHost& rows = a.matrix;
  constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> entry_of(rows.rows(), nowhere);  // of the columns of a row
  std::vector<std::size_t> diagonal(rows.rows(), nowhere);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (std::size_t e = rows.begin(row); e < rows.end(row); ++e) {
      entry_of[static_cast<std::size_t>(rows.column[e])] = e;
    }
    for (std::size_t e = rows.begin(row); e < rows.end(row); ++e) {
      const auto other = static_cast<std::size_t>(rows.column[e]);
      if (other >= row) {
        break;
      }
      rows.value[e] /= rows.value[diagonal[other]];
      for (std::size_t of_other = diagonal[other] + 1; of_other < rows.end(other); ++of_other) {
        const std::size_t here = entry_of[static_cast<std::size_t>(rows.column[of_other])];
        if (here != nowhere) {
          rows.value[here] -= rows.value[e] * rows.value[of_other];
        }
      }
    }
    diagonal[row] = entry_of[row];
    const double pivot = diagonal[row] == nowhere ? 0 : rows.value[diagonal[row]];
    if (pivot == 0 || !std::isfinite(pivot)) {
      throw InvalidInput("arrays.solve.zero_pivot",
                         fmt::format("the pivot of row {} is {}: incomplete factors need a matrix "
                                     "with a diagonal, for instance a positive definite one",
                                     a.order[row], pivot));
    }
    if (is_definite && pivot < 0) {
      throw InvalidInput("arrays.solve.not_definite",
                         fmt::format("the pivot of row {} is {:.3g}: incomplete_cholesky needs a "
                                     "positive definite matrix; incomplete_lu takes others",
                                     a.order[row], pivot));
    }
    for (std::size_t e = rows.begin(row); e < rows.end(row); ++e) {
      entry_of[static_cast<std::size_t>(rows.column[e])] = nowhere;
    }
  }
}

/// What solves the rows of one colour, of those that have been solved.
struct ColourStep {
  Slice rows;
  std::optional<AnySparseMatrix> before{};  ///< L, of the rows before
  std::optional<AnySparseMatrix> after{};   ///< U, of those after
  AnyArray inverse_pivots;
};

class ColouredSolve {
 public:
  ColouredSolve(const Coloured& a, DType dtype, runtime::StreamRef stream)
      : dtype_(dtype),
        order_(Array<std::int32_t>(a.order, stream)),
        place_(Array<std::int32_t>(a.place, stream)) {
    for (std::size_t colour = 0; colour + 1 < a.begins.size(); ++colour) {
      add(a.matrix, a.begins[colour], a.begins[colour + 1], stream);
    }
  }

  void apply(runtime::StreamRef stream, const AnyArray& r, const AnyArray& z) const {
    const AnyArray t(dtype_, r.shape(), stream);
    t.assign(take(r, order_));
    for (const ColourStep& step : steps_) {
      if (step.before) {
        const AnyArray own = t(step.rows);
        own.assign(own - *step.before * t(Slice{0, step.rows.begin}));
      }
    }
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      const AnyArray own = t(step->rows);
      if (step->after) {
        own.assign((own - *step->after * t(Slice{step->rows.end, t.count()})) *
                   step->inverse_pivots);
      } else {
        own.assign(own * Expression(step->inverse_pivots));
      }
    }
    z.assign(take(t, place_));
  }

 private:
  /// The entries of some rows with columns of a range, which begins at 0 in the result.
  [[nodiscard]] std::optional<AnySparseMatrix> part(const RowsOnHost& a, std::size_t begin,
                                                    std::size_t end, std::size_t first_column,
                                                    std::size_t end_column,
                                                    runtime::StreamRef stream) const {
    RowsOnHost rows;
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
        const auto column = static_cast<std::size_t>(a.column[e]);
        if (column >= first_column && column < end_column) {
          rows.column.push_back(static_cast<std::int32_t>(column - first_column));
          rows.value.push_back(a.value[e]);
        }
      }
      rows.end_row();
    }
    if (rows.column.empty()) {
      return std::nullopt;
    }
    AnySparseMatrix result(static_cast<std::int64_t>(end_column - first_column),
                           Array<std::int32_t>(rows.first, stream),
                           Array<std::int32_t>(rows.column, stream),
                           detail::fitted_array(Array<double>(rows.value, stream), dtype_));
    // which waits here, so that uses do not
    static_cast<void>(detail::suits_expressions(stream, result));
    return result;
  }

  void add(const RowsOnHost& a, std::size_t begin, std::size_t end, runtime::StreamRef stream) {
    std::vector<double> inverse_pivots;
    for (std::size_t row = begin; row < end; ++row) {
      const auto found = std::find(a.column.begin() + static_cast<std::ptrdiff_t>(a.begin(row)),
                                   a.column.end(), static_cast<std::int32_t>(row));
      inverse_pivots.push_back(1 / a.value[static_cast<std::size_t>(found - a.column.begin())]);
    }
    steps_.push_back({Slice{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)},
                      part(a, begin, end, 0, begin, stream),
                      part(a, begin, end, end, a.rows(), stream),
                      detail::fitted_array(Array<double>(inverse_pivots, stream), dtype_)});
  }

  DType dtype_;
  AnyArray order_;
  AnyArray place_;
  std::vector<ColourStep> steps_{};
};

Preconditioner incomplete(const AnySparseMatrix& given, bool is_definite) {
  detail::check_real_square(given);
  const runtime::StreamRef stream = current_stream(given.value().stream());
  const StreamScope scope(stream);
  const AnySparseMatrix a = detail::with_single_entries(given.in_format(SparseFormat::csr));
  const RowsOnHost rows = detail::rows_on_host(a);
  if (is_definite) {
    detail::check_symmetric(rows, a.dtype(), "incomplete_cholesky", "incomplete_lu takes others");
  }
  Coloured in_colours = coloured(rows);
  factor(in_colours, is_definite);
  const auto solve = std::make_shared<const ColouredSolve>(in_colours, a.dtype(), stream);
  return LinearOperator(a.rows(), a.dtype(),
                        [solve](runtime::StreamRef on, const AnyArray& r, const AnyArray& z) {
                          const StreamScope scope_of_use(on);
                          solve->apply(on, r, z);
                        })
      .repeatable();
}

}  // namespace

std::vector<std::int32_t> detail::colours_of_rows(const std::vector<std::int32_t>& first,
                                                  const std::vector<std::int32_t>& column) {
  const RowsOnHost a{first, column, {}};
  const RowsOnHost other = transposed_pattern(a);
  std::vector<std::int32_t> colours(a.rows(), -1);
  std::vector<std::size_t> taken_by;  // the last row that is coupled with one of the colour
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (const RowsOnHost* each : {&a, &other}) {
      for (std::size_t e = each->begin(row); e < each->end(row); ++e) {
        const std::int32_t colour = colours[static_cast<std::size_t>(each->column[e])];
        if (colour >= 0) {
          taken_by[static_cast<std::size_t>(colour)] = row;
        }
      }
    }
    const auto free = std::find_if(taken_by.begin(), taken_by.end(),
                                   [&](std::size_t last) { return last != row; });
    colours[row] = static_cast<std::int32_t>(free - taken_by.begin());
    if (free == taken_by.end()) {
      taken_by.push_back(std::numeric_limits<std::size_t>::max());
    }
  }
  return colours;
}

Preconditioner incomplete_lu(const AnySparseMatrix& a) {
  return incomplete(a, false);
}

Preconditioner incomplete_cholesky(const AnySparseMatrix& a) {
  return incomplete(a, true);
}

}  // namespace rtcg::arrays
