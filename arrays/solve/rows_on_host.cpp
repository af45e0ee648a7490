#include "rtcg/arrays/solve/rows_on_host.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/solve/linear_operator.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {

RowsOnHost rows_on_host(const AnySparseMatrix& a) {
  return {a.first().to_vector<std::int32_t>(), a.column().to_vector<std::int32_t>(),
          a.value().to_vector<double>()};
}

void check_real_square(const AnySparseMatrix& a) {
  static_cast<void>(LinearOperator(a.rows(), a.dtype(), {}));  // its element type
  if (a.rows() != a.columns()) {
    throw InvalidInput("arrays.solve.shape_mismatch",
                       fmt::format("a matrix of {} x {} is not square: a preconditioner needs as "
                                   "many rows as columns",
                                   a.rows(), a.columns()));
  }
}

void check_symmetric(const RowsOnHost& a, DType dtype, std::string_view whom,
                     std::string_view instead) {
  constexpr double roundings = 64;
  const double precision =
      roundings * (dtype == DType::f32 ? std::numeric_limits<float>::epsilon()
                                       : std::numeric_limits<double>::epsilon());
  const auto value_at = [&](std::size_t row, std::size_t column) {
    const auto begin = a.column.begin() + static_cast<std::ptrdiff_t>(a.begin(row));
    const auto end = a.column.begin() + static_cast<std::ptrdiff_t>(a.end(row));
    const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(column));
    return found != end && *found == static_cast<std::int32_t>(column)
               ? a.value[static_cast<std::size_t>(found - a.column.begin())]
               : 0;
  };
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (std::size_t e = a.begin(row); e < a.end(row); ++e) {
      const auto column = static_cast<std::size_t>(a.column[e]);
      const double other = value_at(column, row);
      if (std::abs(a.value[e] - other) > precision * (std::abs(a.value[e]) + std::abs(other))) {
        throw InvalidInput("arrays.solve.not_symmetric",
                           fmt::format("element ({0}, {1}) of the matrix is {2}, and ({1}, {0}) is "
                                       "{3}: {4} needs a symmetric matrix; {5}",
                                       row, column, a.value[e], other, whom, instead));
      }
    }
  }
}

}  // namespace rtcg::arrays::detail
