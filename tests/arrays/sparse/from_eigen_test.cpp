#include <Eigen/Sparse>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

template <class Matrix>
void check_eigen_matrix(Matrix matrix) {
  using Value = typename Matrix::Scalar;
  matrix.insert(0, 3) = Value(5);
  matrix.insert(2, 1) = Value(-2);
  matrix.insert(0, 0) = Value(7);
  EXPECT_FALSE(matrix.isCompressed());
  const std::vector<Value> expected = {7, 0, 0, 5, 0, 0, 0, 0, 0, -2, 0, 0};
  EXPECT_EQ(SparseMatrix<Value>::from_eigen(matrix).to_dense().to_vector(), expected);
  matrix.makeCompressed();
  const auto sent = SparseMatrix<Value>::from_eigen(matrix);
  EXPECT_EQ(sent.entries(), 3);
  EXPECT_EQ(sent.to_dense().to_vector(), expected);
}

TEST(SparseMatrix, CopiesMatricesOfEigen) {
  on_every_device([] {
    check_eigen_matrix(Eigen::SparseMatrix<double, Eigen::RowMajor>(3, 4));
    check_eigen_matrix(Eigen::SparseMatrix<float, Eigen::ColMajor>(3, 4));
    check_eigen_matrix(Eigen::SparseMatrix<std::int32_t, Eigen::RowMajor, long>(3, 4));
  });
}

TEST(SparseMatrix, RefusesMoreThanItsIndicesTellApart) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_ERROR("arrays.sparse.shape_mismatch", detail::check_index_range(3, most, 1));
  EXPECT_ERROR("arrays.sparse.shape_mismatch", detail::check_index_range(3, 3, most + 1));
  detail::check_index_range(3, 3, most);
}

}  // namespace
}  // namespace rtcg::arrays
