// What is computed row by row of a sparse matrix, but products: kernels of the loop engine with
// rows of computed lengths.
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::arrays {
namespace {

/// A kernel over the rows of a matrix, made once for each element type.
///
/// @param statement  of row i, whose entries are k
/// @param arguments  beside the matrix
const detail::LoopCall& row_kernel(DType dtype, const std::string& name,
                                   const std::string& statement, const std::string& arguments) {
  using Key = std::tuple<DType, std::string>;
  static auto& known = *new detail::MadeOnce<Key, detail::LoopCall>;
  return known.of({dtype, name}, [&] {
    loopy::KernelOptions options;
    options.name = name;
    options.default_type = detail::loop_type(dtype);
    options.arguments = arguments;
    options.assumptions = "n >= 1 and nz >= 1";
    return loopy::make_kernel("{[i]: 0 <= i < n} {[k]: begin <= k < end}",
                              fmt::format("<> begin = first[i] {{id=begin}}\n"
                                          "<> end = first[i + 1] {{id=end}}\n{}",
                                          statement),
                              options);
  });
}

/// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype
void check_factors(const AnySparseMatrix& a, const AnyArray& factors, std::int64_t count,
                   const char* of) {
  if (factors.axes() != 1 || factors.count() != count) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("a matrix of {} x {} needs a factor for each of its {} {}, not "
                                   "an array of shape {}",
                                   a.rows(), a.columns(), count, of, to_string(factors.shape())));
  }
  if (factors.dtype() != a.dtype()) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("a sparse matrix of {} and factors of {}: convert one of them "
                                   "by as_type()",
                                   name(a.dtype()), name(factors.dtype())));
  }
}

}  // namespace

AnyArray AnySparseMatrix::diagonal() const {
  const std::int64_t count = std::min(rows(), columns());
  if (count == 0 || entries() == 0) {
    return zeros(dtype(), Extents{count}, current_stream(value_.stream()));
  }
  if (format_ != SparseFormat::csr) {
    return in_format(SparseFormat::csr).diagonal();
  }
  AnyArray result(dtype(), Extents{rows()}, current_stream(value_.stream()));
  row_kernel(dtype(), "sparse_diagonal",
             "d[i] = sum(k, value[k] if column[k] == i else 0) {dep=begin:end}",
             "value: [nz]; d: [n]; first: i32[n + 1]; column: i32[nz]; n, nz: i32")
      .run(result.stream(),
           {{"value", value_}, {"d", result}, {"first", first_}, {"column", column_}},
           {{"n", rows()}, {"nz", entries()}});
  return result(Slice{0, count});
}

AnyArray AnySparseMatrix::row_sums() const {
  return multiply(*this, ones(dtype(), Extents{columns()}, current_stream(value_.stream())));
}

AnySparseMatrix AnySparseMatrix::with_scaled_rows(const AnyArray& factors) const {
  check_factors(*this, factors, rows(), "rows");
  if (format_ != SparseFormat::csr) {
    return in_format(SparseFormat::csr).with_scaled_rows(factors).in_format(format_, options_);
  }
  AnyArray scaled(dtype(), Extents{entries()}, current_stream(value_.stream()));
  if (entries() != 0) {
    row_kernel(dtype(), "sparse_scaled_rows",
               "scaled[k] = factor[i]*value[k] {dep=begin:end, disjoint}",
               "value, scaled: [nz]; factor: [n]; first: i32[n + 1]; n, nz: i32")
        .run(scaled.stream(),
             {{"value", value_},
              {"scaled", scaled},
              {"factor", factors.contiguous()},
              {"first", first_}},
             {{"n", rows()}, {"nz", entries()}});
  }
  return with_values(scaled);
}

AnySparseMatrix AnySparseMatrix::with_scaled_columns(const AnyArray& factors) const {
  check_factors(*this, factors, columns(), "columns");
  if (format_ != SparseFormat::csr) {
    return in_format(SparseFormat::csr).with_scaled_columns(factors).in_format(format_, options_);
  }
  return with_values(entries() == 0 ? value_
                                    : evaluate(value_ * Expression(take(factors, column_))));
}

AnySparseMatrix AnySparseMatrix::transposed() const {
  if (format_ == SparseFormat::csc) {
    return {rows(), first_, column_, value_};
  }
  const AnySparseMatrix in_columns = in_format(SparseFormat::csc);
  return {rows(), in_columns.first_, in_columns.column_, in_columns.value_};
}

}  // namespace rtcg::arrays
