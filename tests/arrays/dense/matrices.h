#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/arrays/core/array.h"

// Matrices of Eigen as arrays, and back.

namespace rtcg::arrays::testing {

// One type for all: Eigen's templates take minutes to compile.
using Matrix = Eigen::MatrixXcd;

template <class T>
using RealPart = decltype(std::abs(T()));

/// Of numbers that T holds.
template <class T>
Matrix random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<RealPart<T>> part(-1, 1);
  Matrix result(rows, columns);
  for (Eigen::Index i = 0; i < result.size(); ++i) {
    const double re = part(random);
    const bool is_real = std::is_floating_point_v<T>;
    result.data()[i] = {re, is_real ? 0 : part(random)};
  }
  return result;
}

/// Matrices one after the other.
template <class T>
Array<T> array_of(const std::vector<Matrix>& matrices) {
  std::vector<T> values;
  for (const Matrix& each : matrices) {
    for (Eigen::Index row = 0; row < each.rows(); ++row) {
      for (Eigen::Index column = 0; column < each.cols(); ++column) {
        const std::complex<double> value = each(row, column);
        if constexpr (std::is_floating_point_v<T>) {
          values.push_back(static_cast<T>(value.real()));
        } else {
          values.push_back(T(value));
        }
      }
    }
  }
  return Array<T>(
      values, {static_cast<std::int64_t>(matrices.size()), matrices[0].rows(), matrices[0].cols()});
}

template <class T>
std::vector<std::complex<double>> numbers_of(const AnyArray& array) {
  const std::vector<T> values = array.to_vector<T>();
  return {values.begin(), values.end()};
}

inline std::vector<std::complex<double>> numbers_of(const AnyArray& array) {
  switch (array.dtype()) {
    case DType::f32:
      return numbers_of<float>(array);
    case DType::f64:
      return numbers_of<double>(array);
    case DType::c64:
      return numbers_of<std::complex<float>>(array);
    default:
      return numbers_of<std::complex<double>>(array);
  }
}

/// Of an array of matrices.
inline Matrix matrix_of(const AnyArray& array, std::int64_t which) {
  const std::vector<std::complex<double>> values = numbers_of(array);
  Matrix result(array.shape()[1], array.shape()[2]);
  for (Eigen::Index row = 0; row < result.rows(); ++row) {
    for (Eigen::Index column = 0; column < result.cols(); ++column) {
      result(row, column) =
          values[static_cast<std::size_t>((which * result.rows() + row) * result.cols() + column)];
    }
  }
  return result;
}

template <class T>
std::vector<Matrix> random_matrices(std::size_t count, Eigen::Index rows, Eigen::Index columns) {
  std::vector<Matrix> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(random_matrix<T>(rows, columns, static_cast<unsigned>(17 * i + 3)));
  }
  return result;
}

inline Matrix identity_of(Eigen::Index n) {
  return Matrix::Identity(n, n);
}

/// What is on and above the diagonal, or below it.
inline Matrix triangle_of(const Matrix& a, bool is_upper) {
  Matrix result = a;
  for (Eigen::Index row = 0; row < a.rows(); ++row) {
    for (Eigen::Index column = 0; column < a.cols(); ++column) {
      if ((column >= row) != is_upper) {
        result(row, column) = 0;
      }
    }
  }
  return result;
}

/// 20 units in the last place for each row: more than any residual of these matrices has.
template <class T>
double tolerance(Eigen::Index rows) {
  return 20 * static_cast<double>(rows + 1) * std::numeric_limits<RealPart<T>>::epsilon();
}

template <class T>
void expect_near(const Matrix& found, const Matrix& expected, double scale, const char* what) {
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  EXPECT_LE((found - expected).norm(), tolerance<T>(std::max(found.rows(), found.cols())) * scale)
      << what << " of order " << found.rows();
}

}  // namespace rtcg::arrays::testing
