// Formats of sparse matrices: conversions and products, against Eigen.
#include <Eigen/Dense>
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "tests/arrays/sparse/kinds.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::MatrixKind;
using testing::on_every_device;
using testing::twenty_kinds;
using testing::Whole;

constexpr SparseFormat all_formats[] = {SparseFormat::csr, SparseFormat::coo,    SparseFormat::csc,
                                        SparseFormat::ell, SparseFormat::sell,   SparseFormat::dia,
                                        SparseFormat::bsr, SparseFormat::packets};

template <class T>
SparseMatrix<T> sent(const Whole& matrix) {
  return SparseMatrix<T>::from_eigen(
      Eigen::SparseMatrix<T, Eigen::RowMajor>(matrix.template cast<T>()));
}

template <class T>
std::vector<T> whole_numbers(std::int64_t count) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(static_cast<T>(static_cast<double>(i * 5 % 11 - 5)));
  }
  return result;
}

/// Row-major, of as many columns as `width`.
template <class T>
std::vector<T> by_eigen(const Whole& a, const std::vector<T>& x, int width) {
  Eigen::MatrixXd dense(a.cols(), width);
  for (Eigen::Index i = 0; i < dense.size(); ++i) {
    dense(i / width, i % width) = static_cast<double>(std::real(x[static_cast<std::size_t>(i)]));
  }
  const Eigen::MatrixXd product = a * dense;
  std::vector<T> result;
  for (Eigen::Index i = 0; i < product.size(); ++i) {
    result.push_back(static_cast<T>(product(i / width, i % width)));
  }
  return result;
}

Eigen::MatrixXd to_host(const AnySparseMatrix& a) {
  const std::vector<double> values = SparseMatrix<double>(a).to_dense().to_vector();
  Eigen::MatrixXd result(a.rows(), a.columns());
  for (Eigen::Index i = 0; i < result.size(); ++i) {
    result(i / result.cols(), i % result.cols()) = values[static_cast<std::size_t>(i)];
  }
  return result;
}

/// The options with which a matrix can be in that format; null: none.
std::optional<FormatOptions> options_for(const MatrixKind& kind, SparseFormat format) {
  FormatOptions options{.most_stored = 1000};
  if (format == SparseFormat::bsr) {
    for (const int block : {6, 3, 2}) {
      if (kind.matrix.rows() % block == 0 && kind.matrix.cols() % block == 0) {
        options.block = block;
        return options;
      }
    }
    return std::nullopt;
  }
  return options;
}

template <class T>
void check_products(const MatrixKind& kind, const AnySparseMatrix& a) {
  const std::vector<T> x = whole_numbers<T>(kind.matrix.cols());
  EXPECT_EQ(multiply(a, Array<T>(x)).template to_vector<T>(), by_eigen(kind.matrix, x, 1));
  const std::vector<T> wide = whole_numbers<T>(kind.matrix.cols() * 3);
  EXPECT_EQ(multiply(a, Array<T>(wide, Extents{kind.matrix.cols(), 3})).template to_vector<T>(),
            by_eigen(kind.matrix, wide, 3));
}

template <class T>
void check_formats(const MatrixKind& kind) {
  SCOPED_TRACE(kind.name);
  const AnySparseMatrix csr = sent<T>(kind.matrix);
  for (const SparseFormat format : all_formats) {
    SCOPED_TRACE(name(format));
    const std::optional<FormatOptions> options = options_for(kind, format);
    if (!options) {
      continue;
    }
    const AnySparseMatrix a = csr.in_format(format, *options);
    EXPECT_EQ(a.format(), format);
    EXPECT_EQ(a.rows(), kind.matrix.rows());
    EXPECT_EQ(a.columns(), kind.matrix.cols());
    EXPECT_EQ(a.entries(), kind.matrix.nonZeros());
    check_products<T>(kind, a);
    const AnySparseMatrix back = a.in_format(SparseFormat::csr);
    EXPECT_EQ(back.first().to_vector<std::int32_t>(), csr.first().to_vector<std::int32_t>());
    EXPECT_EQ(back.column().to_vector<std::int32_t>(), csr.column().to_vector<std::int32_t>());
    EXPECT_EQ(back.value().to_vector<T>(), csr.value().to_vector<T>());
  }
}

TEST(SparseFormats, MultiplyAsEigenDoes) {
  const std::vector<MatrixKind> kinds = twenty_kinds();
  ASSERT_EQ(kinds.size(), 20U);
  on_every_device([&] {
    for (const MatrixKind& kind : kinds) {
      check_formats<float>(kind);
    }
  });
}

TEST(SparseFormats, OfEveryTypeMultiply) {
  const std::vector<MatrixKind> kinds = twenty_kinds();
  on_every_device([&] {
    check_formats<double>(kinds[10]);
    check_formats<std::int32_t>(kinds[10]);
  });
}

TEST(SparseFormats, OfComplexNumbersMultiply) {
  using Complex = std::complex<float>;
  const MatrixKind kind = testing::block_kind("blocks", 8, 2, 2);
  on_every_device([&] {
    const Eigen::SparseMatrix<Complex, Eigen::RowMajor> values =
        kind.matrix.cast<Complex>() * Complex(1, -2);
    const auto csr = SparseMatrix<Complex>::from_eigen(values);
    Eigen::VectorXcf x(kind.matrix.cols());
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      x[i] = Complex(static_cast<float>(i % 5), static_cast<float>(2 - i % 3));
    }
    const Eigen::VectorXcf expected = values * x;
    const Array<Complex> on_device(std::vector<Complex>(x.begin(), x.end()));
    for (const SparseFormat format : all_formats) {
      const auto a = csr.in_format(format, {.most_stored = 100});
      EXPECT_EQ(multiply(a, on_device).to_vector<Complex>(),
                std::vector<Complex>(expected.begin(), expected.end()))
          << name(format);
    }
  });
}

TEST(SparseFormats, SortRowsWithinWindows) {
  const std::vector<MatrixKind> kinds = twenty_kinds();
  on_every_device([&] {
    for (const std::size_t which : {13U, 14U, 18U}) {
      const MatrixKind& kind = kinds[which];
      SCOPED_TRACE(kind.name);
      const auto csr = sent<double>(kind.matrix);
      const AnySparseMatrix plain = csr.any().in_format(SparseFormat::sell, {.slice = 8});
      const AnySparseMatrix sorted =
          csr.any().in_format(SparseFormat::sell, {.slice = 8, .window = 64});
      EXPECT_LT(sorted.value().count(), plain.value().count());
      EXPECT_EQ(sorted.order().count(), kind.matrix.rows());
      check_products<double>(kind, plain);
      check_products<double>(kind, sorted);
      EXPECT_EQ(to_host(sorted), Eigen::MatrixXd(kind.matrix));
    }
  });
}

TEST(SparseFormats, ShareWhatIsTheSame) {
  on_every_device([] {
    const MatrixKind kind = testing::banded_kind("band", 50, {-1, 0, 2});
    const AnySparseMatrix csr = sent<float>(kind.matrix).any();
    const AnySparseMatrix coo = csr.in_format(SparseFormat::coo);
    EXPECT_EQ(coo.value().address(), csr.value().address());
    EXPECT_EQ(coo.column().address(), csr.column().address());
    EXPECT_EQ(coo.in_format(SparseFormat::csr).value().address(), csr.value().address());
    const AnySparseMatrix csc = csr.in_format(SparseFormat::csc);
    EXPECT_EQ(csc.transposed().value().address(), csc.value().address());
    EXPECT_EQ(csc.transposed().format(), SparseFormat::csr);
    EXPECT_EQ(csr.in_format(SparseFormat::csr).value().address(), csr.value().address());
    const Eigen::MatrixXd expected = Eigen::MatrixXd(kind.matrix).transpose();
    EXPECT_EQ(to_host(sent<double>(kind.matrix).transposed().any()), expected);
    // columns one after the other come from Eigen without a sort
    const Eigen::SparseMatrix<float> columns = kind.matrix.cast<float>();
    EXPECT_EQ(SparseMatrix<float>::from_eigen(columns).format(), SparseFormat::csc);
  });
}

TEST(SparseFormats, TakeArraysOfOthersWithoutACopy) {
  on_every_device([] {
    const Array<std::int32_t> row(std::vector<std::int32_t>{0, 0, 2});
    const Array<std::int32_t> column(std::vector<std::int32_t>{1, 3, 0});
    const Array<float> value(std::vector<float>{2, 3, 4});
    const auto coo = SparseMatrix<float>::of_coordinates(3, 4, row, column, value);
    const Array<float> x(std::vector<float>{1, 10, 100, 1000});
    EXPECT_EQ(multiply(coo, x).to_vector<float>(), (std::vector<float>{3020, 0, 4}));
    value.assign(2 * value);  // the matrix has the array itself
    EXPECT_EQ(multiply(coo, x).to_vector<float>(), (std::vector<float>{6040, 0, 8}));
    const Array<std::int32_t> first(std::vector<std::int32_t>{0, 1, 1, 3});
    const auto csc = SparseMatrix<float>::of_columns(4, first, row, value);
    EXPECT_EQ(multiply(csc, x(Slice{0, 3})).to_vector<float>(),
              (std::vector<float>{604, 0, 800, 0}));
  });
}

TEST(SparseFormats, OfNothingGiveZeros) {
  on_every_device([] {
    const auto none = SparseMatrix<float>::from_triplets(6, 4, {}, {}, {});
    for (const SparseFormat format : all_formats) {
      const auto a = none.in_format(format);
      EXPECT_EQ(multiply(a, ones<float>({4})).to_vector<float>(), std::vector<float>(6))
          << name(format);
      EXPECT_EQ(a.in_format(SparseFormat::csr).to_dense().to_vector(), std::vector<float>(24));
    }
  });
}

TEST(SparseFormats, LeaveInfinitiesOutsideOfGapsAlone) {
  on_every_device([] {
    const MatrixKind kind = testing::banded_kind("band", 40, {-3, 0, 5});
    std::vector<float> x(40, 1);
    x[0] = INFINITY;
    x[39] = NAN;
    const auto csr = sent<float>(kind.matrix);
    const std::vector<float> expected = multiply(csr, Array<float>(x)).to_vector<float>();
    EXPECT_TRUE(std::isfinite(expected[1]));
    for (const SparseFormat format : {SparseFormat::ell, SparseFormat::sell, SparseFormat::dia}) {
      const std::vector<float> found =
          multiply(csr.in_format(format), Array<float>(x)).to_vector<float>();
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
            << name(format) << " " << i;
      }
    }
  });
}

TEST(SparseFormats, ScaleRowsAndColumns) {
  on_every_device([] {
    const MatrixKind kind = testing::block_kind("blocks", 10, 2, 2);
    const std::vector<double> factors = whole_numbers<double>(20);
    const Array<double> on_device(factors);
    const Eigen::Map<const Eigen::VectorXd> diagonal(factors.data(), 20);
    const Eigen::MatrixXd dense(kind.matrix);
    for (const SparseFormat format : all_formats) {
      SCOPED_TRACE(name(format));
      const auto a = sent<double>(kind.matrix).in_format(format, {.most_stored = 100});
      const auto rows = a.with_scaled_rows(on_device);
      EXPECT_EQ(rows.format(), format);
      EXPECT_EQ(to_host(rows.any()), Eigen::MatrixXd(diagonal.asDiagonal() * dense));
      EXPECT_EQ(to_host(a.with_scaled_columns(on_device).any()),
                Eigen::MatrixXd(dense * diagonal.asDiagonal()));
      const Eigen::VectorXd of_eigen = dense.diagonal();
      EXPECT_EQ(a.diagonal().to_vector(), std::vector<double>(of_eigen.begin(), of_eigen.end()));
    }
  });
}

TEST(SparseFormats, AddUpAndMultiplyWithEachOther) {
  const std::vector<MatrixKind> kinds = twenty_kinds();
  on_every_device([&] {
    for (const std::size_t which : {1U, 9U, 12U, 13U, 15U}) {
      SCOPED_TRACE(kinds[which].name);
      const Whole& left = kinds[which].matrix;
      const Whole right = Whole(left.transpose()) * 2.0;
      const auto a = sent<double>(left);
      const auto b = sent<double>(right).in_format(SparseFormat::csc);
      EXPECT_EQ(to_host((a * b).any()), Eigen::MatrixXd(left * right));
      EXPECT_EQ(to_host((a + b).any()), Eigen::MatrixXd(left + right));
      EXPECT_EQ(to_host((a - b).any()), Eigen::MatrixXd(left - right));
    }
    const auto none = SparseMatrix<double>::from_triplets(3, 5, {}, {}, {});
    const auto some = SparseMatrix<double>::from_triplets(5, 2, std::vector<std::int32_t>{1},
                                                          std::vector<std::int32_t>{1}, {4.0});
    EXPECT_EQ((none * some).entries(), 0);
    EXPECT_EQ((none * some).rows(), 3);
    EXPECT_EQ((none * some).columns(), 2);
    EXPECT_EQ((none + none).entries(), 0);
  });
}

TEST(SparseFormats, SortTripletsOnTheDevice) {
  on_every_device([] {
    const Array<std::int32_t> row(std::vector<std::int32_t>{2, 0, 2, 0, 2});
    const Array<std::int32_t> column(std::vector<std::int32_t>{1, 3, 0, 0, 1});
    const auto a = SparseMatrix<double>::from_triplets(
        3, 4, row, column, Array<double>(std::vector<double>{1, 2, 4, 8, 16}));
    EXPECT_EQ(a.any().first().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 2, 4}));
    EXPECT_EQ(a.any().column().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 3, 0, 1}));
    EXPECT_EQ(a.any().value().to_vector<double>(), (std::vector<double>{8, 2, 4, 17}));
    using Complex = std::complex<double>;
    const auto c = SparseMatrix<Complex>::from_triplets(
        3, 4, row, column,
        Array<Complex>(std::vector<Complex>{{1, 1}, {2, 0}, {4, 0}, {8, -1}, {16, 2}}));
    EXPECT_EQ(c.any().value().to_vector<Complex>(),
              (std::vector<Complex>{{8, -1}, {2, 0}, {4, 0}, {17, 3}}));
    const Array<float> three = zeros<float>({3});
    EXPECT_ERROR("arrays.sparse.shape_mismatch",
                 static_cast<void>(AnySparseMatrix::from_triplets(3, 4, row, column, three)));
    EXPECT_ERROR("arrays.sparse.dtype",
                 static_cast<void>(AnySparseMatrix::from_triplets(3, 4, three, three, three)));
    EXPECT_ERROR("arrays.sparse.out_of_range", static_cast<void>(AnySparseMatrix::from_triplets(
                                                   2, 4, row, column, zeros<float>({5}))));
  });
}

TEST(SparseFormats, AreRefusedWhereTheyDoNotFit) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::vector<MatrixKind> kinds = twenty_kinds();
  const auto dense_row = sent<float>(kinds[15].matrix);
  EXPECT_ERROR("arrays.sparse.padding", static_cast<void>(dense_row.in_format(SparseFormat::ell)));
  EXPECT_ERROR("arrays.sparse.padding", static_cast<void>(dense_row.in_format(SparseFormat::dia)));
  EXPECT_ERROR(
      "arrays.sparse.format",
      static_cast<void>(sent<float>(kinds[18].matrix).in_format(SparseFormat::bsr, {.block = 3})));
  EXPECT_ERROR("arrays.sparse.format",
               static_cast<void>(dense_row.in_format(SparseFormat::bsr, {.block = 1})));
  EXPECT_ERROR("arrays.sparse.format",
               static_cast<void>(dense_row.in_format(SparseFormat::sell, {.slice = 12})));
  EXPECT_ERROR("arrays.sparse.format", static_cast<void>(dense_row.in_format(
                                           SparseFormat::sell, {.slice = 32, .window = 48})));
  const Array<std::int32_t> index(std::vector<std::int32_t>{0, 1});
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(AnySparseMatrix::of_coordinates(
                                                   3, 3, index, index, zeros<float>({3}))));
  EXPECT_ERROR("arrays.sparse.dtype", static_cast<void>(AnySparseMatrix::of_columns(
                                          3, zeros<float>({3}), index, zeros<float>({2}))));
  const auto a = sent<float>(kinds[0].matrix);
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(a * sent<float>(kinds[1].matrix)));
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(a + sent<float>(kinds[1].matrix)));
  EXPECT_ERROR("arrays.sparse.dtype",
               static_cast<void>(multiply(a.any(), sent<double>(kinds[0].matrix).any())));
}

}  // namespace
}  // namespace rtcg::arrays
