#include "rtcg/arrays/sparse/sparse_matrix.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

template <class T>
struct Triplets {
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> column;
  std::vector<T> value;
};

/// Whole numbers, so that every order of additions gives the same. Rows have very different
/// lengths, some none; some places come twice.
template <class T>
Triplets<T> some_triplets(int rows, int columns, int entries) {
  std::mt19937 random(7);
  Triplets<T> result;
  for (int i = 0; i < entries; ++i) {
    const bool is_in_long_row = random() % 3 == 0;
    result.row.push_back(is_in_long_row ? rows / 2 : static_cast<int>(random() % rows));
    result.column.push_back(static_cast<int>(random() % columns));
    result.value.push_back(static_cast<T>(static_cast<int>(random() % 9) - 4));
  }
  return result;
}

template <class T>
std::vector<T> plain_product(const Triplets<T>& a, int rows, const std::vector<T>& x, int width) {
  std::vector<T> y(static_cast<std::size_t>(rows * width));
  for (std::size_t e = 0; e < a.row.size(); ++e) {
    for (int j = 0; j < width; ++j) {
      y[static_cast<std::size_t>(a.row[e] * width + j)] +=
          a.value[e] * x[static_cast<std::size_t>(a.column[e] * width + j)];
    }
  }
  return y;
}

template <class T>
std::vector<T> some_numbers(int count) {
  std::vector<T> result;
  for (int i = 0; i < count; ++i) {
    result.push_back(static_cast<T>(i * 5 % 11 - 5));
  }
  return result;
}

template <class T>
void check_products(int rows, int columns, int entries) {
  const Triplets<T> triplets = some_triplets<T>(rows, columns, entries);
  const auto a =
      SparseMatrix<T>::from_triplets(rows, columns, triplets.row, triplets.column, triplets.value);
  EXPECT_EQ(a.rows(), rows);
  EXPECT_EQ(a.columns(), columns);
  EXPECT_LE(a.entries(), entries);
  const std::vector<T> x = some_numbers<T>(columns);
  EXPECT_EQ(multiply(a, Array<T>(x)).template to_vector<T>(), plain_product(triplets, rows, x, 1));
  const std::vector<T> wide = some_numbers<T>(columns * 5);
  const Array<T> product = multiply(a, Array<T>(wide, Extents{columns, 5}));
  EXPECT_EQ(product.shape(), (Extents{rows, 5}));
  EXPECT_EQ(product.to_vector(), plain_product(triplets, rows, wide, 5));
}

TEST(SparseMatrix, TimesAVectorAndAMatrixOfEveryType) {
  on_every_device([] {
    check_products<float>(37, 50, 400);
    check_products<double>(300, 7, 2000);
    check_products<std::int32_t>(5, 5, 9);
    check_products<std::complex<float>>(20, 30, 100);
  });
}

TEST(SparseMatrix, OfOtherSizesRunsAsWell) {
  on_every_device([] {
    for (const int rows : {1, 2, 33, 1000}) {
      for (const int entries : {1, 40, 3000}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(entries));
        check_products<float>(rows, 64, entries);
      }
    }
  });
}

TEST(SparseMatrix, AddsUpTripletsOfOnePlaceAndSortsTheOthers) {
  on_every_device([] {
    const std::vector<std::int32_t> row = {2, 0, 2, 0, 2};
    const std::vector<std::int32_t> column = {1, 3, 1, 0, 0};
    const auto a =
        SparseMatrix<double>::from_triplets(3, 4, row, column, {1.0, 2.0, 4.0, 8.0, 16.0});
    EXPECT_EQ(a.entries(), 4);
    EXPECT_EQ(a.any().first().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 2, 4}));
    EXPECT_EQ(a.any().column().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 3, 0, 1}));
    EXPECT_EQ(a.to_dense().to_vector(), (std::vector<double>{8, 0, 0, 2, 0, 0, 0, 0, 16, 5, 0, 0}));
  });
}

TEST(SparseMatrix, OfNothingGivesZeros) {
  on_every_device([] {
    const auto none = SparseMatrix<float>::from_triplets(3, 2, {}, {}, {});
    EXPECT_EQ(multiply(none, Array<float>(std::vector<float>{1, 2})).to_vector<float>(),
              (std::vector<float>{0, 0, 0}));
    const auto no_rows = SparseMatrix<float>::from_triplets(0, 2, {}, {}, {});
    EXPECT_EQ(Array<float>(multiply(no_rows, Array<float>(std::vector<float>{1, 2}))).count(), 0);
  });
}

TEST(SparseMatrix, TakesViewsAndForeignArrays) {
  on_every_device([] {
    const Array<std::int32_t> first(std::vector<std::int32_t>{0, 1, 3});
    const Array<std::int32_t> column(std::vector<std::int32_t>{1, 0, 1});
    const SparseMatrix<float> a(2, first, column, Array<float>(std::vector<float>{2, 3, 4}));
    const Array<float> every_second(std::vector<float>{1, 100, 10, 100});
    EXPECT_EQ(multiply(a, every_second(Slice{0, 4, 2})).to_vector<float>(),
              (std::vector<float>{20, 43}));
  });
}

TEST(SparseMatrix, RefusesWhatDoesNotFit) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::vector<std::int32_t> two = {0, 1};
  const auto a = SparseMatrix<float>::from_triplets(2, 3, two, two, {1.0F, 2.0F});
  EXPECT_ERROR("arrays.sparse.shape_mismatch", static_cast<void>(multiply(a, zeros<float>({2}))));
  EXPECT_ERROR("arrays.sparse.dtype",
               static_cast<void>(multiply(a.any(), zeros<double>({3}).any())));
  EXPECT_ERROR("arrays.sparse.shape_mismatch",
               multiply_into(a, zeros<float>({3}), zeros<float>({3})));
  EXPECT_ERROR("arrays.sparse.dtype", multiply_into(a, zeros<float>({3}), zeros<double>({2})));
  EXPECT_ERROR("arrays.sparse.out_of_range",
               static_cast<void>(SparseMatrix<float>::from_triplets(1, 3, two, two, {1.0F, 2.0F})));
  EXPECT_ERROR("arrays.sparse.shape_mismatch",
               static_cast<void>(SparseMatrix<float>::from_triplets(2, 3, two, two, {1.0F})));
  const Array<std::int32_t> index(two);
  EXPECT_ERROR("arrays.sparse.shape_mismatch",
               SparseMatrix<float>(3, index, index, zeros<float>({3})));
  EXPECT_ERROR("arrays.sparse.dtype",
               AnySparseMatrix(3, zeros<float>({3}), index, zeros<float>({2})));
  EXPECT_ERROR("arrays.sparse.dtype", AnySparseMatrix(3, index, index, zeros<bool>({2})));
}

}  // namespace
}  // namespace rtcg::arrays
