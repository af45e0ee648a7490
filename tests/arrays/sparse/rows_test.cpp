#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

struct DenseAndSparse {
  std::vector<double> dense;
  std::int64_t rows;
  std::int64_t columns;
  SparseMatrix<double> sparse;
};

/// Whole numbers; some rows are empty, one is full.
DenseAndSparse some_matrix(int rows, int columns) {
  std::mt19937 random(11);
  std::vector<double> dense(static_cast<std::size_t>(rows * columns));
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      if (i == rows / 2 || (i % 4 != 1 && random() % 5 == 0)) {
        const double number = static_cast<double>(random() % 9) - 4;
        row.push_back(i);
        column.push_back(j);
        value.push_back(number);
        dense[static_cast<std::size_t>(i * columns + j)] = number;
      }
    }
  }
  return {dense, rows, columns,
          SparseMatrix<double>::from_triplets(rows, columns, row, column, value)};
}

TEST(SparseRows, HaveDiagonalsAndSums) {
  on_every_device([] {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{30, 30}, {17, 40}, {40, 17}, {1, 1}}) {
      const DenseAndSparse a = some_matrix(rows, columns);
      std::vector<double> diagonal;
      std::vector<double> sums;
      for (int i = 0; i < rows; ++i) {
        sums.push_back(0);
        for (int j = 0; j < columns; ++j) {
          const double each = a.dense[static_cast<std::size_t>(i * columns + j)];
          sums.back() += each;
          if (i == j) {
            diagonal.push_back(each);
          }
        }
      }
      EXPECT_EQ(a.sparse.diagonal().to_vector(), diagonal);
      EXPECT_EQ(a.sparse.row_sums().to_vector(), sums);
    }
    const auto none = SparseMatrix<float>::from_triplets(3, 2, {}, {}, {});
    EXPECT_EQ(none.diagonal().to_vector(), (std::vector<float>{0, 0}));
    EXPECT_EQ(none.row_sums().to_vector(), (std::vector<float>{0, 0, 0}));
  });
}

TEST(SparseRows, AreScaledAndTransposed) {
  on_every_device([] {
    const DenseAndSparse a = some_matrix(23, 31);
    const Array<double> by_row = arange<double>(23) - 7;
    const Array<double> by_column = 3 - arange<double>(31);
    const Array<double> dense(a.dense, Extents{23, 31});
    const Array<double> row_scaled = dense * by_row.expand_dims(1);
    EXPECT_EQ(a.sparse.with_scaled_rows(by_row).to_dense().to_vector(), row_scaled.to_vector());
    const Array<double> column_scaled = dense * by_column;
    EXPECT_EQ(a.sparse.with_scaled_columns(by_column).to_dense().to_vector(),
              column_scaled.to_vector());
    const SparseMatrix<double> transposed = a.sparse.transposed();
    EXPECT_EQ(transposed.rows(), 31);
    EXPECT_EQ(transposed.columns(), 23);
    EXPECT_EQ(transposed.to_dense().to_vector(), dense.transposed().copy().to_vector());
    EXPECT_EQ(transposed.transposed().any().column().to_vector<std::int32_t>(),
              a.sparse.any().column().to_vector<std::int32_t>());
    const auto none = SparseMatrix<float>::from_triplets(3, 2, {}, {}, {});
    EXPECT_EQ(none.transposed().rows(), 2);
    EXPECT_EQ(none.with_scaled_rows(ones<float>({3})).entries(), 0);
    EXPECT_EQ(none.with_scaled_columns(ones<float>({2})).entries(), 0);
  });
}

TEST(SparseRows, RefuseFactorsThatDoNotFit) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto a = SparseMatrix<float>::from_triplets(3, 2, {}, {}, {});
  EXPECT_ERROR("arrays.sparse.shape_mismatch", a.with_scaled_rows(ones<float>({2})));
  EXPECT_ERROR("arrays.sparse.shape_mismatch", a.with_scaled_columns(ones<float>({3})));
  EXPECT_ERROR("arrays.sparse.dtype", a.any().with_scaled_rows(ones<double>({3})));
  EXPECT_ERROR("arrays.typed.wrong_dtype", SparseMatrix<double>(a.any()));
}

}  // namespace
}  // namespace rtcg::arrays
