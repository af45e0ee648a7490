#pragma once

#include <Eigen/Sparse>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "rtcg/arrays/sparse/sparse_matrix.h"

// Matrices of the kinds that collections of sparse matrices have, and what Eigen makes of them.

namespace rtcg::arrays::testing {

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using EigenVector = Eigen::VectorXd;

class MatrixMaker {
 public:
  explicit MatrixMaker(int rows) : rows_(rows) {}
  void add(int row, int column, double value) { entries_.emplace_back(row, column, value); }
  void add_symmetric(int row, int column, double value) {
    add(row, column, value);
    if (row != column) {
      add(column, row, value);
    }
  }
  [[nodiscard]] EigenMatrix made() const {
    EigenMatrix result(rows_, rows_);
    result.setFromTriplets(entries_.begin(), entries_.end());
    return result;
  }

 private:
  int rows_;
  std::vector<Eigen::Triplet<double>> entries_{};
};

/// The five-point Laplacian on a square, `wind` of which makes it nonsymmetric, `shift` indefinite.
inline EigenMatrix stencil(int side, double wind = 0, double shift = 0) {
  MatrixMaker result(side * side);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int row = y * side + x;
      result.add(row, row, 4 - shift);
      if (x > 0) result.add(row, row - 1, -1 - wind);
      if (x + 1 < side) result.add(row, row + 1, -1 + wind);
      if (y > 0) result.add(row, row - side, -1);
      if (y + 1 < side) result.add(row, row + side, -1);
    }
  }
  return result.made();
}

/// Graph Laplacian plus one of a graph in which few vertices have most of the edges.
inline EigenMatrix power_law(int rows) {
  std::mt19937 random(3);
  MatrixMaker result(rows);
  for (int row = 1; row < rows; ++row) {
    for (int edge = 0; edge < 3; ++edge) {
      const double part = std::uniform_real_distribution<double>(0, 1)(random);
      const int other = static_cast<int>(part * part * part * row);
      result.add_symmetric(row, other, -1);
      result.add(row, row, 1);
      result.add(other, other, 1);
    }
  }
  for (int row = 0; row < rows; ++row) {
    result.add(row, row, 1);
  }
  return result.made();
}

inline EigenMatrix banded(int rows, int width) {
  MatrixMaker result(rows);
  for (int row = 0; row < rows; ++row) {
    result.add(row, row, 1 + 2.5 * width);
    for (int distance = 1; distance <= width && row + distance < rows; ++distance) {
      result.add_symmetric(row, row + distance, std::cos(row + 3.0 * distance));
    }
  }
  return result.made();
}

/// Blocks on the diagonal, weakly coupled, with elements of very different sizes.
inline EigenMatrix blocks(int count, int size) {
  std::mt19937 random(5);
  MatrixMaker result(count * size);
  for (int block = 0; block < count; ++block) {
    const double scale = std::pow(10, block % 4);
    for (int i = 0; i < size; ++i) {
      result.add(block * size + i, block * size + i, 1.2 * scale * size);
      for (int j = 0; j < i; ++j) {
        result.add_symmetric(block * size + i, block * size + j,
                             scale * std::uniform_real_distribution<double>(0.5, 1)(random));
      }
    }
    if (block > 0) {
      result.add_symmetric(block * size, (block - 1) * size, 0.1);
    }
  }
  return result.made();
}

/// One full row and column.
inline EigenMatrix arrow(int rows) {
  MatrixMaker result(rows);
  for (int row = 0; row < rows; ++row) {
    result.add(row, row, row == 0 ? rows : 3 + row % 5);
    if (row > 0) {
      result.add_symmetric(0, row, 0.5);
    }
  }
  return result.made();
}

struct NamedMatrix {
  std::string name;
  EigenMatrix matrix;
};
/// Symmetric and positive definite.
inline std::vector<NamedMatrix> definite_matrices() {
  return {{"stencil", stencil(14)},  {"power law", power_law(200)}, {"banded", banded(200, 5)},
          {"blocks", blocks(40, 5)}, {"arrow", arrow(150)},         {"one row", banded(1, 0)}};
}

template <class T>
SparseMatrix<T> to_device(const EigenMatrix& matrix) {
  return SparseMatrix<T>::from_eigen(
      Eigen::SparseMatrix<T, Eigen::RowMajor>(matrix.template cast<T>()));
}

inline EigenVector some_vector(Eigen::Index count) {
  EigenVector result(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    result[i] = std::sin(1.7 * static_cast<double>(i) + 0.3);
  }
  return result;
}

template <class T>
Array<T> to_device(const EigenVector& vector) {
  std::vector<T> values(static_cast<std::size_t>(vector.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(vector[static_cast<Eigen::Index>(i)]);
  }
  return Array<T>(values);
}

inline EigenVector to_host(const AnyArray& array) {
  const std::vector<double> values = array.to_vector<double>();
  return Eigen::Map<const EigenVector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// The solution by a direct method.
inline EigenVector solved_by_eigen(const EigenMatrix& matrix, const EigenVector& right) {
  const Eigen::SparseMatrix<double> columns = matrix;
  Eigen::SparseLU<Eigen::SparseMatrix<double>> factors(columns);
  return factors.solve(right);
}

}  // namespace rtcg::arrays::testing
