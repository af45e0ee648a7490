#include "rtcg/arrays/sparse/triplets.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::as_i32;

void check_triplets(std::int64_t rows, std::int64_t columns, const AnyArray& row,
                    const AnyArray& column, const AnyArray& value) {
  if (rows < 0 || columns < 0 || value.axes() != 1 || !(row.shape() == value.shape()) ||
      !(column.shape() == value.shape())) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("rows of shape {}, columns of {} and values of {} are no "
                                   "triplets of a matrix of {} x {}: there has to be one each for "
                                   "every entry",
                                   to_string(row.shape()), to_string(column.shape()),
                                   to_string(value.shape()), rows, columns));
  }
  if (!is_integer(row.dtype()) || !is_integer(column.dtype())) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("rows of {} and columns of {} are no places of entries: they "
                                   "have to be integers",
                                   name(row.dtype()), name(column.dtype())));
  }
  detail::check_index_range(rows, columns, value.count());
  if (value.count() == 0) {
    return;
  }
  const auto check = [&](const char* what, const AnyArray& places, std::int64_t count) {
    const auto least = min(cast(places, DType::i64)).item<std::int64_t>();
    const auto greatest = max(cast(places, DType::i64)).item<std::int64_t>();
    if (least < 0 || greatest >= count) {
      throw InvalidInput("arrays.sparse.out_of_range",
                         fmt::format("a triplet is in {} {}, outside of a matrix of {} x {}", what,
                                     least < 0 ? least : greatest, rows, columns));
    }
  };
  check("row", row, rows);
  check("column", column, columns);
}

/// The sums of values of equal neighbouring keys, each key once.
struct Summed {
  AnyArray keys;
  AnyArray values;
};

Summed summed(const AnyArray& keys, const AnyArray& values) {
  const auto sums = [&](const Expression& each, DType dtype) {
    return reduce_by_key(ScanOp::sum, keys, each, {.dtype = dtype});
  };
  if (!is_complex(values.dtype())) {
    const CountedPairs found = sums(values, values.dtype());
    const Slice all{0, found.count.item()};
    return {found.keys(all).contiguous(), found.values(all).contiguous()};
  }
  const DType part = real_of(values.dtype());
  const CountedPairs re = sums(real(values), part);
  const CountedPairs im = sums(imag(values), part);
  const Slice all{0, re.count.item()};
  return {re.keys(all).contiguous(), evaluate(make_complex(re.values(all), im.values(all)))};
}

void require_same_type(const AnySparseMatrix& a, const AnySparseMatrix& b) {
  if (a.dtype() != b.dtype()) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("sparse matrices of {} and of {}: their elements have to be of "
                                   "one type",
                                   name(a.dtype()), name(b.dtype())));
  }
  if (!(a.device() == b.device())) {
    throw InvalidInput("arrays.evaluate.mixed_devices",
                       fmt::format("one matrix is on {} and one on {}: copy one of them",
                                   runtime::to_string(a.device().info().id),
                                   runtime::to_string(b.device().info().id)));
  }
}

}  // namespace

namespace detail {

AnyArray as_i32(const Expression& value) {
  return evaluate(cast(value, DType::i32));
}

AnyArray rows_of_entries(const AnySparseMatrix& csr) {
  return as_i32(
      searchsorted(csr.first(), cast(indices({csr.entries()}), DType::i32), SearchSide::right) - 1);
}

AnySparseMatrix with_single_entries(const AnySparseMatrix& csr) {
  if (csr.entries() < 2) {
    return csr;
  }
  const AnyArray row = rows_of_entries(csr);
  const AnyArray& column = csr.column();
  const std::int64_t count = csr.entries();
  const Slice earlier{0, count - 1};
  const Slice later{1, count};
  const auto is_ascending =
      all(row(later) != row(earlier) || column(later) > column(earlier)).item<bool>();
  return is_ascending
             ? csr
             : AnySparseMatrix::from_triplets(csr.rows(), csr.columns(), row, column, csr.value());
}

}  // namespace detail

AnySparseMatrix AnySparseMatrix::from_triplets(std::int64_t rows, std::int64_t columns,
                                               const AnyArray& row, const AnyArray& column,
                                               const AnyArray& value) {
  const StreamScope scope(current_stream(value.stream()));
  check_triplets(rows, columns, row, column, value);
  if (value.count() == 0) {
    return {columns, zeros(DType::i32, {rows + 1}), empty(DType::i32, {0}), value};
  }
  const std::uint64_t places =
      static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
  const Expression place = cast(row, DType::i64) * columns + cast(column, DType::i64);
  const SortedPairs sorted =
      sort_by_key(place, {value}, {.end_bit = static_cast<int>(std::bit_width((places - 1) | 1U))});
  const Summed entries = summed(sorted.keys, sorted.values[0]);
  const AnyArray row_of = as_i32(floor_divide(entries.keys, columns));
  return {columns, as_i32(searchsorted(row_of, cast(indices({rows + 1}), DType::i32))),
          as_i32(entries.keys % columns), entries.values};
}

AnySparseMatrix sum_of(const AnySparseMatrix& a, const AnySparseMatrix& b, double alpha,
                       double beta) {
  require_same_type(a, b);
  if (a.rows() != b.rows() || a.columns() != b.columns()) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("matrices of {} x {} and {} x {} have no sum", a.rows(),
                                   a.columns(), b.rows(), b.columns()));
  }
  const StreamScope scope(current_stream(a.value().stream()));
  const AnySparseMatrix left = a.in_format(SparseFormat::csr);
  const AnySparseMatrix right = b.in_format(SparseFormat::csr);
  const auto scaled = [](const AnyArray& value, double factor) {
    return factor == 1 ? value : evaluate(cast(value * Expression(factor), value.dtype()));
  };
  return AnySparseMatrix::from_triplets(
      a.rows(), a.columns(),
      concatenate({detail::rows_of_entries(left), detail::rows_of_entries(right)}),
      concatenate({left.column(), right.column()}),
      concatenate({scaled(left.value(), alpha), scaled(right.value(), beta)}));
}

AnySparseMatrix multiply(const AnySparseMatrix& a, const AnySparseMatrix& b) {
  require_same_type(a, b);
  if (a.columns() != b.rows()) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("matrices of {} x {} and {} x {} cannot be multiplied: the "
                                   "second needs {} rows",
                                   a.rows(), a.columns(), b.rows(), b.columns(), a.columns()));
  }
  const StreamScope scope(current_stream(a.value().stream()));
  const AnySparseMatrix left = a.in_format(SparseFormat::csr);
  const AnySparseMatrix right = b.in_format(SparseFormat::csr);
  const auto without_entries = [&] {
    return AnySparseMatrix(b.columns(), zeros(DType::i32, {a.rows() + 1}), empty(DType::i32, {0}),
                           empty(a.dtype(), {0}));
  };
  if (left.entries() == 0 || right.entries() == 0) {
    return without_entries();
  }
  // each entry of A meets a row of B
  const AnyArray begin = evaluate(take(right.first(), left.column()));
  const AnyArray end = evaluate(take(right.first()(Slice{1, b.rows() + 1}), left.column()));
  const AnyArray ends = cumulative_sum(end - Expression(begin), {.dtype = DType::i64});
  const auto products = ends(Slice{left.entries() - 1, left.entries()}).item<std::int64_t>();
  if (products == 0) {
    return without_entries();
  }
  detail::check_index_range(a.rows(), b.columns(), products);
  const AnyArray of_left = searchsorted(ends, indices({products}), SearchSide::right);
  const AnyArray before = evaluate(Expression(ends) - (end - Expression(begin)));
  const AnyArray of_right =
      evaluate(indices({products}) - take(before, of_left) + take(begin, of_left));
  return AnySparseMatrix::from_triplets(
      a.rows(), b.columns(), evaluate(take(detail::rows_of_entries(left), of_left)),
      evaluate(take(right.column(), of_right)),
      evaluate(take(left.value(), of_left) * take(right.value(), of_right)));
}

}  // namespace rtcg::arrays
