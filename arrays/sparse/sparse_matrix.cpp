#include "rtcg/arrays/sparse/sparse_matrix.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/arrays/sparse/cusparse.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

void require_index_array(const char* which, const AnyArray& array) {
  if (array.dtype() != DType::i32 || array.axes() != 1) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("'{}' of a sparse matrix is an array of {} with {} axes: it has "
                                   "to be one of i32 with one axis",
                                   which, name(array.dtype()), array.axes()));
  }
}

void require_numbers(const AnyArray& value) {
  const bool is_wide = is_floating(value.dtype()) || is_complex(value.dtype()) ||
                       value.dtype() == DType::i32 || value.dtype() == DType::i64;
  if (!is_wide || is_half(value.dtype()) || is_vector(value.dtype())) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("a sparse matrix has elements of f32, f64, c64, c128, i32 or "
                                   "i64, not of {}",
                                   name(value.dtype())));
  }
}

/// Entries in lists, of rows or columns, that begin at `first`.
AnySparseMatrix::Parts parts_of_lists(SparseFormat format, std::int64_t others, AnyArray first,
                                      AnyArray place, AnyArray value) {
  const bool has_rows = format == SparseFormat::csr;
  require_index_array("first", first);
  require_index_array(has_rows ? "column" : "row", place);
  if (value.axes() != 1 || place.count() != value.count() || first.count() == 0 || others < 0) {
    throw InvalidInput(
        "arrays.sparse.shape_mismatch",
        fmt::format("a sparse matrix of {} {} has 'first' of shape {}, '{}' of {} and 'value' of "
                    "{}: an element for each {} and one more, and one each for every entry",
                    others, has_rows ? "columns" : "rows", to_string(first.shape()),
                    has_rows ? "column" : "row", to_string(place.shape()), to_string(value.shape()),
                    has_rows ? "row" : "column"));
  }
  const std::int64_t lists = first.count() - 1;
  return {.format = format,
          .rows = has_rows ? lists : others,
          .columns = has_rows ? others : lists,
          .entries = value.count(),
          .first = std::move(first),
          .column = std::move(place),
          .value = std::move(value)};
}

}  // namespace

std::string_view name(SparseFormat format) {
  constexpr std::string_view names[] = {"csr",  "coo", "csc", "ell",
                                        "sell", "dia", "bsr", "packets"};
  return names[static_cast<std::size_t>(format)];
}

AnySparseMatrix::AnySparseMatrix(Parts parts)
    : format_(parts.format),
      options_(parts.options),
      rows_(parts.rows),
      columns_(parts.columns),
      entries_(parts.entries),
      first_(std::move(parts.first)),
      column_(std::move(parts.column)),
      value_(std::move(parts.value)),
      order_(parts.order ? *parts.order : AnyArray(DType::i32, Extents{0}, value_.stream())),
      base_(parts.base ? *parts.base : AnyArray(DType::i32, Extents{0}, value_.stream())),
      known_rows_(std::make_shared<detail::KnownRows>()) {
  require_numbers(value_);
  for (AnyArray* each : {&first_, &column_, &value_}) {
    *each = each->contiguous();
  }
}

AnySparseMatrix::AnySparseMatrix(std::int64_t columns, AnyArray first, AnyArray column,
                                 AnyArray value)
    : AnySparseMatrix(parts_of_lists(SparseFormat::csr, columns, std::move(first),
                                     std::move(column), std::move(value))) {}

AnySparseMatrix AnySparseMatrix::of_columns(std::int64_t rows, AnyArray first, AnyArray row,
                                            AnyArray value) {
  return AnySparseMatrix(
      parts_of_lists(SparseFormat::csc, rows, std::move(first), std::move(row), std::move(value)));
}

AnySparseMatrix AnySparseMatrix::of_coordinates(std::int64_t rows, std::int64_t columns,
                                                AnyArray row, AnyArray column, AnyArray value) {
  require_index_array("row", row);
  require_index_array("column", column);
  if (value.axes() != 1 || row.count() != value.count() || column.count() != value.count() ||
      rows < 0 || columns < 0) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("a sparse matrix of {} x {} has 'row' of shape {}, 'column' of "
                                   "{} and 'value' of {}: there has to be one each for every entry",
                                   rows, columns, to_string(row.shape()), to_string(column.shape()),
                                   to_string(value.shape())));
  }
  const std::int64_t entries = value.count();
  return AnySparseMatrix(Parts{.format = SparseFormat::coo,
                               .rows = rows,
                               .columns = columns,
                               .entries = entries,
                               .first = std::move(row),
                               .column = std::move(column),
                               .value = std::move(value)});
}

AnySparseMatrix AnySparseMatrix::with_values(const AnyArray& value) const {
  AnySparseMatrix result(columns_, first_, column_, value);
  result.known_rows_ = known_rows_;
  return result;
}

AnySparseMatrix AnySparseMatrix::with_product(
    std::shared_ptr<detail::CusparseProduct> product) const {
  AnySparseMatrix result = *this;
  result.library_ = std::move(product);
  return result;
}

AnySparseMatrix AnySparseMatrix::by(SparseWay way) const {
  if (way == SparseWay::generated) {
    return with_product(nullptr);
  }
  const detail::CusparseApi* const api = detail::CusparseApi::find();
  if (device().info().id.kind != runtime::BackendKind::cuda || api == nullptr ||
      is_integer(dtype())) {
    throw Unsupported(
        "arrays.sparse.no_library",
        fmt::format(
            "products of a sparse matrix of {} on {} by cuSPARSE, which multiplies floating "
            "and complex numbers on CUDA devices{}{}",
            name(dtype()), runtime::to_string(device().info().id), api == nullptr ? ": " : "",
            api == nullptr ? detail::CusparseApi::why_none() : std::string()));
  }
  const AnySparseMatrix in_rows = in_format(SparseFormat::csr);
  return entries_ == 0
             ? in_rows
             : in_rows.with_product(std::make_shared<detail::CusparseProduct>(*api, in_rows));
}

namespace detail {

void check_index_range(std::int64_t rows, std::int64_t columns, std::int64_t entries) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows >= most || columns >= most || entries > most) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("{} entries in a matrix of {} x {} are more than indices of 32 "
                                   "bits tell apart, which end at {}",
                                   entries, rows, columns, most));
  }
}

CompressedRows compress(std::int64_t rows, std::int64_t columns, std::span<const std::int32_t> row,
                        std::span<const std::int32_t> column, std::size_t values) {
  if (row.size() != column.size() || row.size() != values || rows < 0 || columns < 0) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("{} rows, {} columns and {} values are no triplets of a matrix "
                                   "of {} x {}: there has to be one each for every entry",
                                   row.size(), column.size(), values, rows, columns));
  }
  check_index_range(rows, columns, static_cast<std::int64_t>(row.size()));
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0 || row[i] >= rows || column[i] < 0 || column[i] >= columns) {
      throw InvalidInput("arrays.sparse.out_of_range",
                         fmt::format("triplet {} is at ({}, {}), outside of a matrix of {} x {}", i,
                                     row[i], column[i], rows, columns));
    }
  }
  CompressedRows result;
  result.order.resize(row.size());
  std::iota(result.order.begin(), result.order.end(), std::size_t{0});
  std::stable_sort(result.order.begin(), result.order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(row[a], column[a]) < std::pair(row[b], column[b]);
  });
  result.first.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (std::size_t i = 0; i < result.order.size(); ++i) {
    const std::size_t each = result.order[i];
    const std::size_t before = i == 0 ? each : result.order[i - 1];
    if (i == 0 || row[each] != row[before] || column[each] != column[before]) {
      result.entry.push_back(i);
      result.column.push_back(column[each]);
      ++result.first[static_cast<std::size_t>(row[each]) + 1];
    }
  }
  result.entry.push_back(result.order.size());
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  return result;
}

}  // namespace detail
}  // namespace rtcg::arrays
