#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/arrays/lazy/expression.h"

namespace rtcg::arrays {

namespace detail {
class CusparseProduct;
class KnownRows;
}  // namespace detail

/// How a sparse matrix of n rows is stored: what the arrays of AnySparseMatrix hold.
enum class SparseFormat : std::uint8_t {
  /// Compressed rows: those of row i are the entries `first[i]` to before `first[i + 1]`.
  csr,
  /// Coordinates: `first` has the row of each entry. The rows ascend.
  coo,
  /// Compressed columns: as csr of the transposed matrix. `column` has the row of each entry.
  csc,
  /// Rows of equal length w: entry k of row i is at k*n + i. `first` is empty. The column of what
  /// fills short rows is -1.
  ell,
  /// Slices of some rows, each as ell with its own length: entry k of the row at place p is at
  /// first[p / slice] + k*slice + p % slice. With a window, rows are sorted by length within
  /// windows, and `order` has the row of each place.
  sell,
  /// Diagonals: `column` has their distances from the main one, in ascending order; the element of
  /// row i on diagonal d is at d*n + i.
  dia,
  /// Compressed rows of dense blocks, each row-major. `column` counts blocks.
  bsr,
  /// Compressed rows with columns of 16 bits: a packet of consecutive entries has some windows of
  /// columns, from 1 to 64, and `base` has the first column of each. `column` has the number of a
  /// window and the distance from its base: entry e is in column
  /// base[e/packet*windows + column[e]/width] + column[e]%width, where width is 65536/windows.
  packets,
};
/// `csr`
[[nodiscard]] std::string_view name(SparseFormat format);

/// Whose kernels multiply.
enum class SparseWay : std::uint8_t {
  generated,  ///< those of rtcg, on every device
  /// cuSPARSE's, on CUDA devices where it is found: compressed rows of f32, f64, c64 or c128. Last
  /// bits may differ from run to run.
  library,
};

struct FormatOptions {
  int slice = 32;  ///< of sell: rows of a slice, a power of two
  /// Of sell: rows among which rows are sorted by length; a multiple of `slice`, or 1: not sorted.
  int window = 1;
  int block =
      2;  ///< of bsr: rows and columns of a block, from 2 to 16, which divide those of the matrix
  int packet = 1024;  ///< of packets: entries of a packet, a power of two from 32 to 65536
  /// Of ell, sell, dia and bsr: numbers stored for each entry of the matrix, at most.
  double most_stored = 8;

  friend bool operator==(const FormatOptions&, const FormatOptions&) = default;
};

/// A matrix of mostly zeros on a device, in one of several formats. Its element type is known at
/// run time; SparseMatrix<T> is the same, typed.
///
/// A handle: copies share the entries.
class AnySparseMatrix {
 public:
  /// Compressed rows; shares the arrays. Entries of a row may have any order; several of one column
  /// are added up. What is in the index arrays is not looked at: products of a matrix with columns
  /// outside of it read foreign memory. It stays as it is from the first product on, which keeps
  /// what it finds out about the rows; values may change.
  ///
  /// @param first   i32, an element for each row and one more, ascending from 0
  /// @param column  i32, an element for each entry, from 0 to before `columns`
  /// @param value   numbers, as many
  /// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype,
  ///         arrays.evaluate.mixed_devices
  AnySparseMatrix(std::int64_t columns, AnyArray first, AnyArray column, AnyArray value);
  /// Coordinates whose rows ascend, and compressed columns; the same otherwise. @throws  as above
  [[nodiscard]] static AnySparseMatrix of_coordinates(std::int64_t rows, std::int64_t columns,
                                                      AnyArray row, AnyArray column,
                                                      AnyArray value);
  [[nodiscard]] static AnySparseMatrix of_columns(std::int64_t rows, AnyArray first, AnyArray row,
                                                  AnyArray value);
  /// Compressed rows of entries in any order, sorted on the device: those of one place are added
  /// up, the columns of a row ascend.
  ///
  /// @param row, column  of integers
  /// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype;
  ///         arrays.sparse.out_of_range: a row or column that the matrix does not have
  /// @cost   as sort_by_key() and reduce_by_key(); waits
  [[nodiscard]] static AnySparseMatrix from_triplets(std::int64_t rows, std::int64_t columns,
                                                     const AnyArray& row, const AnyArray& column,
                                                     const AnyArray& value);

  [[nodiscard]] SparseFormat format() const noexcept { return format_; }
  [[nodiscard]] const FormatOptions& format_options() const noexcept { return options_; }
  [[nodiscard]] DType dtype() const noexcept { return value_.dtype(); }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  /// Entries of the matrix. Formats that fill gaps store more numbers: `value().count()`.
  [[nodiscard]] std::int64_t entries() const noexcept { return entries_; }
  [[nodiscard]] runtime::Device device() const noexcept { return value_.device(); }
  /// Arrays as the format says; an array that it does not have is empty.
  [[nodiscard]] const AnyArray& first() const noexcept { return first_; }
  [[nodiscard]] const AnyArray& column() const noexcept { return column_; }
  [[nodiscard]] const AnyArray& value() const noexcept { return value_; }
  [[nodiscard]] const AnyArray& order() const noexcept { return order_; }
  [[nodiscard]] const AnyArray& base() const noexcept { return base_; }

  /// The matrix in another format; itself where it has that. csr and coo have the columns and
  /// values in common, and so do a matrix in csc and its transposed() in csr. From ell, sell, dia
  /// and bsr zeros do not come back.
  ///
  /// @throws InvalidInput  arrays.sparse.format: options that the format does not have, or blocks
  ///         that do not divide the matrix; arrays.sparse.padding: more numbers would be stored for
  ///         each entry than `most_stored`; arrays.sparse.spread: a packet needs more windows of
  ///         columns than 16 bits tell apart
  /// @cost   some launches on the device, and waits for the sizes of arrays; dia, bsr, and packets
  ///         of several windows sort the entries
  [[nodiscard]] AnySparseMatrix in_format(SparseFormat format,
                                          const FormatOptions& options = {}) const;

  /// The matrix with products by the kernels of another; those of matrices that are made from it,
  /// such as scaled ones, are generated.
  ///
  /// @throws Unsupported  arrays.sparse.no_library: cuSPARSE is not found, or the matrix is not on
  /// a
  ///         CUDA device, or its elements are integers
  /// @cost   SparseWay::library as in_format(csr)
  [[nodiscard]] AnySparseMatrix by(SparseWay way) const;
  [[nodiscard]] SparseWay way() const noexcept {
    return library_ == nullptr ? SparseWay::generated : SparseWay::library;
  }

  /// The elements (i, i), as many as the shorter side has. @cost  asynchronous, and in_format(csr)
  [[nodiscard]] AnyArray diagonal() const;
  /// The sum of each row. @cost  asynchronous
  [[nodiscard]] AnyArray row_sums() const;
  /// The product of a diagonal matrix and this one, in its format; the indices are shared in csr.
  ///
  /// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype
  /// @cost   asynchronous; but in csr, in_format() there and back
  [[nodiscard]] AnySparseMatrix with_scaled_rows(const AnyArray& factors) const;
  /// The product of this one and a diagonal matrix. @throws, @cost  as above
  [[nodiscard]] AnySparseMatrix with_scaled_columns(const AnyArray& factors) const;
  /// In csr. That of a matrix in csc shares its arrays; otherwise the columns of each row ascend.
  ///
  /// @cost  in_format(csc)
  [[nodiscard]] AnySparseMatrix transposed() const;

  /// Internal: what products have found out.
  [[nodiscard]] detail::KnownRows& known_rows() const noexcept { return *known_rows_; }
  /// Internal: null where products are generated.
  [[nodiscard]] detail::CusparseProduct* library_product() const noexcept { return library_.get(); }
  /// Internal. @param product  of this matrix, in compressed rows
  [[nodiscard]] AnySparseMatrix with_product(
      std::shared_ptr<detail::CusparseProduct> product) const;
  /// Internal.
  struct Parts {
    SparseFormat format = SparseFormat::csr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t entries = 0;
    AnyArray first;
    AnyArray column;
    AnyArray value;
    std::optional<AnyArray> order{};
    std::optional<AnyArray> base{};
    FormatOptions options{};
  };
  explicit AnySparseMatrix(Parts parts);

 private:
  /// With the indices of this one, in compressed rows.
  [[nodiscard]] AnySparseMatrix with_values(const AnyArray& value) const;

  SparseFormat format_;
  FormatOptions options_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t entries_;
  AnyArray first_;
  AnyArray column_;
  AnyArray value_;
  AnyArray order_;
  AnyArray base_;
  std::shared_ptr<detail::KnownRows> known_rows_;
  std::shared_ptr<detail::CusparseProduct> library_{};
};

/// The product with a vector, or with a matrix of so many rows, as an expression: `b - A * x` and
/// `dot(p, A * p)` are one kernel each where a thread for each row suits the matrix: its rows are
/// short and of about the same length, or it is in ell, sell without a window, dia or bsr. The
/// product of another matrix runs before, by its own kernel; so does a product that is all there
/// is.
///
/// Kernels of products with compressed rows, csr and packets, are those of the loop engine, sliced
/// as wisdom knows for numbers of rows and entries within a factor of two, otherwise as the cost
/// model ranks: a thread, a part of a warp, a warp or a block for each row. Times a vector on a
/// GPU, blocks take consecutive rows of up to 64 entries and about the same length, and read these
/// in their order; blocks share rows of very different lengths so that each has the same number of
/// rows and entries. Other formats have a thread for each row, but coo and csc: these run as
/// compressed rows, which a product makes of them once; of csc it copies the values, which must not
/// change from then on. The same operands give the same bits each time.
///
/// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype: x has other elements;
///         where it runs: arrays.evaluate.mixed_devices
/// @throws  what compiling and launching throw
/// @cost   asynchronous; a copy of x before, if it is an expression. The first product with a
///         matrix in csr or coo on a GPU, and of one in an expression anywhere, waits for the
///         lengths of the rows, unless it is captured
[[nodiscard]] Expression multiply(const AnySparseMatrix& a, const Expression& x);
[[nodiscard]] inline Expression operator*(const AnySparseMatrix& a, const Expression& x) {
  return multiply(a, x);
}
/// The same into `y`, which must be contiguous and have no elements in common with x.
///
/// @throws InvalidInput  as above; arrays.buffer_on.not_contiguous
void multiply_into(const AnySparseMatrix& a, const AnyArray& x, const AnyArray& y);

/// The product of two sparse matrices in compressed rows, whose columns ascend. Zeros that sums
/// give are entries.
///
/// @throws InvalidInput  arrays.sparse.shape_mismatch, arrays.sparse.dtype,
///         arrays.evaluate.mixed_devices
/// @cost   memory for all products of entries, which are sorted as in from_triplets(); waits
[[nodiscard]] AnySparseMatrix multiply(const AnySparseMatrix& a, const AnySparseMatrix& b);
/// alpha A + beta B, in compressed rows. @throws  as above @cost  as from_triplets()
[[nodiscard]] AnySparseMatrix sum_of(const AnySparseMatrix& a, const AnySparseMatrix& b,
                                     double alpha = 1, double beta = 1);

/// A sparse matrix with elements of type T. See AnySparseMatrix.
///
///     const std::vector<std::int32_t> row = {0, 0, 1}, column = {0, 2, 1};
///     const auto a = SparseMatrix<float>::from_triplets(2, 3, row, column, {{1.0F, 2.0F, 3.0F}});
///     const Array<float> rest = b - a * x;
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
  /// The same of arrays on a device. @throws, @cost  as AnySparseMatrix::from_triplets
  [[nodiscard]] static SparseMatrix from_triplets(std::int64_t rows, std::int64_t columns,
                                                  const Array<std::int32_t>& row,
                                                  const Array<std::int32_t>& column,
                                                  const Array<T>& value) {
    return SparseMatrix(AnySparseMatrix::from_triplets(rows, columns, row, column, value));
  }
  /// As of AnySparseMatrix.
  [[nodiscard]] static SparseMatrix of_coordinates(std::int64_t rows, std::int64_t columns,
                                                   const Array<std::int32_t>& row,
                                                   const Array<std::int32_t>& column,
                                                   const Array<T>& value) {
    return SparseMatrix(AnySparseMatrix::of_coordinates(rows, columns, row, column, value));
  }
  [[nodiscard]] static SparseMatrix of_columns(std::int64_t rows, const Array<std::int32_t>& first,
                                               const Array<std::int32_t>& row,
                                               const Array<T>& value) {
    return SparseMatrix(AnySparseMatrix::of_columns(rows, first, row, value));
  }

  /// A copy of an `Eigen::SparseMatrix<T>`, or of another type with its members; in csc where
  /// columns are stored one after the other.
  ///
  /// @throws InvalidInput  arrays.sparse.shape_mismatch: more than indices of 32 bits tell apart
  /// @cost   copies
  template <class EigenMatrix>
  [[nodiscard]] static SparseMatrix from_eigen(const EigenMatrix& matrix,
                                               runtime::StreamRef stream = current_stream());

  // NOLINTNEXTLINE(google-explicit-constructor): as of Array
  operator const AnySparseMatrix&() const noexcept { return any_; }
  [[nodiscard]] const AnySparseMatrix& any() const noexcept { return any_; }
  [[nodiscard]] SparseFormat format() const noexcept { return any_.format(); }
  [[nodiscard]] std::int64_t rows() const noexcept { return any_.rows(); }
  [[nodiscard]] std::int64_t columns() const noexcept { return any_.columns(); }
  [[nodiscard]] std::int64_t entries() const noexcept { return any_.entries(); }
  /// As of AnySparseMatrix.
  [[nodiscard]] SparseMatrix in_format(SparseFormat format,
                                       const FormatOptions& options = {}) const {
    return SparseMatrix(any_.in_format(format, options));
  }
  [[nodiscard]] SparseMatrix by(SparseWay way) const { return SparseMatrix(any_.by(way)); }
  [[nodiscard]] SparseWay way() const noexcept { return any_.way(); }
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

  friend SparseMatrix operator*(const SparseMatrix& a, const SparseMatrix& b) {
    return SparseMatrix(multiply(a.any(), b.any()));
  }
  friend SparseMatrix operator+(const SparseMatrix& a, const SparseMatrix& b) {
    return SparseMatrix(sum_of(a.any(), b.any()));
  }
  friend SparseMatrix operator-(const SparseMatrix& a, const SparseMatrix& b) {
    return SparseMatrix(sum_of(a.any(), b.any(), 1, -1));
  }

 private:
  AnySparseMatrix any_;
};

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
  const Array<std::int32_t> first =
      indices(matrix.outerIndexPtr(), (has_rows ? matrix.rows() : matrix.cols()) + 1);
  const Array<std::int32_t> place = indices(matrix.innerIndexPtr(), count);
  const Array<T> value(std::vector<T>(matrix.valuePtr(), matrix.valuePtr() + count), stream);
  return has_rows ? SparseMatrix(matrix.cols(), first, place, value)
                  : of_columns(matrix.rows(), first, place, value);
}

template <Element T>
Array<T> SparseMatrix<T>::to_dense() const {
  const AnySparseMatrix in_rows = any_.in_format(SparseFormat::csr);
  const std::vector<std::int32_t> first = in_rows.first().template to_vector<std::int32_t>();
  const std::vector<std::int32_t> column = in_rows.column().template to_vector<std::int32_t>();
  const std::vector<T> value = in_rows.value().template to_vector<T>();
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
