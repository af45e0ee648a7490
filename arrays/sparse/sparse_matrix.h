#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {

namespace detail {
class KnownRows;
}  // namespace detail

/// A matrix of mostly zeros on a device, in compressed rows: the entries of row i are those from
/// `first[i]` to before `first[i + 1]`, each with its column and its value. Its element type is
/// known at run time; SparseMatrix<T> is the same, typed.
///
/// A handle: copies share the entries.
class AnySparseMatrix {
 public:
  /// Shares the arrays. Entries of a row may have any order; several of one column are added up.
  /// What is in the index arrays is not looked at: products of a matrix with columns outside of it
  /// read foreign memory. It stays as it is from the first product on, which keeps what it finds
  /// out about the rows; values may change.
  ///
  /// @param first   i32, an element for each row and one more, ascending from 0
  /// @param column  i32, an element for each entry, from 0 to before `columns`
  /// @param value   numbers, as many
  /// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype,
  ///         arrays.evaluate.mixed_devices
  AnySparseMatrix(std::int64_t columns, AnyArray first, AnyArray column, AnyArray value);

  [[nodiscard]] DType dtype() const noexcept { return value_.dtype(); }
  [[nodiscard]] std::int64_t rows() const { return first_.count() - 1; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  /// Numbers that are stored.
  [[nodiscard]] std::int64_t entries() const { return value_.count(); }
  [[nodiscard]] runtime::Device device() const noexcept { return value_.device(); }
  [[nodiscard]] const AnyArray& first() const noexcept { return first_; }
  [[nodiscard]] const AnyArray& column() const noexcept { return column_; }
  [[nodiscard]] const AnyArray& value() const noexcept { return value_; }

  /// The elements (i, i), as many as the shorter side has. @cost  asynchronous
  [[nodiscard]] AnyArray diagonal() const;
  /// The sum of each row. @cost  asynchronous
  [[nodiscard]] AnyArray row_sums() const;
  /// The product of a diagonal matrix and this one; the indices are shared.
  ///
  /// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype
  /// @cost   asynchronous
  [[nodiscard]] AnySparseMatrix with_scaled_rows(const AnyArray& factors) const;
  /// The product of this one and a diagonal matrix. @throws, @cost  as above
  [[nodiscard]] AnySparseMatrix with_scaled_columns(const AnyArray& factors) const;
  /// The columns of each row ascend. @cost  waits; the host sorts the indices
  [[nodiscard]] AnySparseMatrix transposed() const;

  /// Internal: what products have found out.
  [[nodiscard]] detail::KnownRows& known_rows() const noexcept { return *known_rows_; }

 private:
  /// With the indices of this one.
  [[nodiscard]] AnySparseMatrix with_values(const AnyArray& value) const;

  std::int64_t columns_;
  AnyArray first_;
  AnyArray column_;
  AnyArray value_;
  std::shared_ptr<detail::KnownRows> known_rows_;
};

/// A sparse matrix with elements of type T. See AnySparseMatrix.
///
///     const std::vector<std::int32_t> row = {0, 0, 1}, column = {0, 2, 1};
///     const auto a = SparseMatrix<float>::from_triplets(2, 3, row, column, {{1.0F, 2.0F, 3.0F}});
///     const Array<float> y = multiply(a, x);
template <Element T>
class SparseMatrix {
 public:
  using Value = T;

  SparseMatrix(std::int64_t columns, const Array<std::int32_t>& first,
               const Array<std::int32_t>& column, const Array<T>& value)
      : any_(columns, first, column, value) {}
  /// Shares the entries. @throws InvalidInput  arrays.typed.wrong_dtype
  explicit SparseMatrix(const AnySparseMatrix& any) : any_(any) {
    static_cast<void>(detail::require_dtype(any.value(), dtype_of_type<T>));
  }
  /// Entries in any order. Those of one place are added up; the columns of a row ascend.
  ///
  /// @throws InvalidInput  arrays.sparse.shape_mismatch; arrays.sparse.out_of_range: a row or
  ///         column that the matrix does not have
  /// @cost  sorts on the host, and copies
  [[nodiscard]] static SparseMatrix from_triplets(std::int64_t rows, std::int64_t columns,
                                                  std::span<const std::int32_t> row,
                                                  std::span<const std::int32_t> column,
                                                  const std::vector<T>& value,
                                                  runtime::StreamRef stream = current_stream());

  /// A copy of an `Eigen::SparseMatrix<T>`, or of another type with its members.
  ///
  /// @throws InvalidInput  arrays.sparse.shape_mismatch: more than indices of 32 bits tell apart
  /// @cost   copies; where columns are stored one after the other, as transposed()
  template <class EigenMatrix>
  [[nodiscard]] static SparseMatrix from_eigen(const EigenMatrix& matrix,
                                               runtime::StreamRef stream = current_stream());

  // NOLINTNEXTLINE(google-explicit-constructor): as of Array
  operator const AnySparseMatrix&() const noexcept { return any_; }
  [[nodiscard]] const AnySparseMatrix& any() const noexcept { return any_; }
  [[nodiscard]] std::int64_t rows() const { return any_.rows(); }
  [[nodiscard]] std::int64_t columns() const noexcept { return any_.columns(); }
  [[nodiscard]] std::int64_t entries() const { return any_.entries(); }
  /// As of AnySparseMatrix.
  [[nodiscard]] Array<T> diagonal() const { return Array<T>(any_.diagonal()); }
  [[nodiscard]] Array<T> row_sums() const { return Array<T>(any_.row_sums()); }
  [[nodiscard]] SparseMatrix with_scaled_rows(const Array<T>& factors) const {
    return SparseMatrix(any_.with_scaled_rows(factors));
  }
  [[nodiscard]] SparseMatrix with_scaled_columns(const Array<T>& factors) const {
    return SparseMatrix(any_.with_scaled_columns(factors));
  }
  [[nodiscard]] SparseMatrix transposed() const { return SparseMatrix(any_.transposed()); }
  /// With all zeros. @cost  waits; the host puts the entries in their places
  [[nodiscard]] Array<T> to_dense() const;

 private:
  AnySparseMatrix any_;
};

/// The product with a vector, or with a matrix of so many rows: a new array. The kernel is one of
/// the loop engine, sliced as wisdom knows for numbers of rows and entries within a factor of two,
/// otherwise as the cost model ranks: a thread, a part of a warp, a warp or a block for each row.
/// Times a vector on a GPU, short rows of about the same length get a thread each, and blocks share
/// rows of very different lengths so that each has the same number of rows and entries. The same
/// operands give the same bits each time.
///
/// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype: x has other elements,
///         arrays.evaluate.mixed_devices
/// @throws  what compiling and launching throw
/// @cost   asynchronous; a copy of x before, if it is not contiguous. The first product with a
///         vector on a GPU waits for the lengths of the rows, unless it is captured
[[nodiscard]] AnyArray multiply(const AnySparseMatrix& a, const AnyArray& x);
template <Element T>
[[nodiscard]] Array<T> multiply(const SparseMatrix<T>& a, const Array<T>& x) {
  return Array<T>(multiply(a.any(), x.any()));
}
/// The same into `y`, which must be contiguous and have no elements in common with x.
///
/// @throws InvalidInput  as above; arrays.buffer_on.not_contiguous
void multiply_into(const AnySparseMatrix& a, const AnyArray& x, const AnyArray& y);

namespace detail {
struct CompressedRows {
  std::vector<std::int32_t> first{};
  std::vector<std::int32_t> column{};
  /// Which triplets belong to which entry: `order` sorted by it, those of entry e from
  /// `entry[e]` on.
  std::vector<std::size_t> order{};
  std::vector<std::size_t> entry{};
};
/// @throws InvalidInput  arrays.sparse.shape_mismatch
void check_index_range(std::int64_t rows, std::int64_t columns, std::int64_t entries);
/// @throws InvalidInput  as SparseMatrix::from_triplets
[[nodiscard]] CompressedRows compress(std::int64_t rows, std::int64_t columns,
                                      std::span<const std::int32_t> row,
                                      std::span<const std::int32_t> column, std::size_t values);
}  // namespace detail

template <Element T>
SparseMatrix<T> SparseMatrix<T>::from_triplets(std::int64_t rows, std::int64_t columns,
                                               std::span<const std::int32_t> row,
                                               std::span<const std::int32_t> column,
                                               const std::vector<T>& value,
                                               runtime::StreamRef stream) {
  const detail::CompressedRows compressed =
      detail::compress(rows, columns, row, column, value.size());
  std::vector<T> sums(compressed.column.size());
  for (std::size_t e = 0; e < sums.size(); ++e) {
    for (std::size_t i = compressed.entry[e]; i < compressed.entry[e + 1]; ++i) {
      sums[e] = static_cast<T>(sums[e] + value[compressed.order[i]]);
    }
  }
  return SparseMatrix(columns, Array<std::int32_t>(compressed.first, stream),
                      Array<std::int32_t>(compressed.column, stream), Array<T>(sums, stream));
}

template <Element T>
template <class EigenMatrix>
SparseMatrix<T> SparseMatrix<T>::from_eigen(const EigenMatrix& matrix, runtime::StreamRef stream) {
  if (!matrix.isCompressed()) {
    EigenMatrix compressed = matrix;
    compressed.makeCompressed();
    return from_eigen(compressed, stream);
  }
  const auto count = static_cast<std::int64_t>(matrix.nonZeros());
  detail::check_index_range(matrix.rows(), matrix.cols(), count);
  const auto indices = [&](const auto* begin, std::int64_t length) {
    return Array<std::int32_t>(std::vector<std::int32_t>(begin, begin + length), stream);
  };
  constexpr bool has_rows = EigenMatrix::IsRowMajor;
  const SparseMatrix result(
      has_rows ? matrix.cols() : matrix.rows(),
      indices(matrix.outerIndexPtr(), (has_rows ? matrix.rows() : matrix.cols()) + 1),
      indices(matrix.innerIndexPtr(), count),
      Array<T>(std::vector<T>(matrix.valuePtr(), matrix.valuePtr() + count), stream));
  return has_rows ? result : result.transposed();
}

template <Element T>
Array<T> SparseMatrix<T>::to_dense() const {
  const std::vector<std::int32_t> first = any_.first().template to_vector<std::int32_t>();
  const std::vector<std::int32_t> column = any_.column().template to_vector<std::int32_t>();
  const std::vector<T> value = any_.value().template to_vector<T>();
  std::vector<T> dense(static_cast<std::size_t>(rows() * columns()));
  for (std::size_t row = 0; row + 1 < first.size(); ++row) {
    for (auto e = static_cast<std::size_t>(first[row]); std::cmp_less(e, first[row + 1]); ++e) {
      T& place =
          dense[row * static_cast<std::size_t>(columns()) + static_cast<std::size_t>(column[e])];
      place = static_cast<T>(place + value[e]);
    }
  }
  return Array<T>(dense, Extents{rows(), columns()}, any_.value().stream());
}

}  // namespace rtcg::arrays
