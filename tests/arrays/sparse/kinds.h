#pragma once

#include <Eigen/Sparse>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

// Twenty matrices of the kinds that collections of sparse matrices have.

namespace rtcg::arrays::testing {

using Whole = Eigen::SparseMatrix<double, Eigen::RowMajor>;

struct MatrixKind {
  std::string name;
  Whole matrix;
};

class KindMaker {
 public:
  KindMaker(int rows, int columns) : rows_(rows), columns_(columns) {}

  /// A whole number, so that every order of additions gives the same; never 0. Places outside of
  /// the matrix are left out.
  void add(int row, int column) {
    if (row >= 0 && row < rows_ && column >= 0 && column < columns_) {
      entries_.emplace_back(row, column, 1 + (row * 7 + column * 3) % 5);
    }
  }
  [[nodiscard]] MatrixKind made(std::string name) const {
    Whole matrix(rows_, columns_);
    matrix.setFromTriplets(entries_.begin(), entries_.end(),
                           [](double, double later) { return later; });
    return {std::move(name), std::move(matrix)};
  }

 private:
  int rows_;
  int columns_;
  std::vector<Eigen::Triplet<double>> entries_{};
};

/// The neighbours at these distances of each point of a box.
inline MatrixKind stencil_kind(const std::string& name, int nx, int ny, int nz,
                               const std::function<bool(int, int, int)>& is_neighbour) {
  KindMaker result(nx * ny * nz, nx * ny * nz);
  for (int row = 0; row < nx * ny * nz; ++row) {
    const int x = row % nx;
    const int y = row / nx % ny;
    const int z = row / nx / ny;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const bool is_inside = x + dx >= 0 && x + dx < nx && y + dy >= 0 && y + dy < ny &&
                                 z + dz >= 0 && z + dz < nz;
          if (is_inside && is_neighbour(dx, dy, dz)) {
            result.add(row, row + (dz * ny + dy) * nx + dx);
          }
        }
      }
    }
  }
  return result.made(name);
}

/// Rows of lengths that `length` gives, at random columns.
inline MatrixKind random_kind(const std::string& name, int rows, int columns,
                              const std::function<int(int row, std::mt19937&)>& length) {
  std::mt19937 random(11);
  KindMaker result(rows, columns);
  for (int row = 0; row < rows; ++row) {
    const int count = length(row, random);
    for (int entry = 0; entry < count; ++entry) {
      result.add(row, static_cast<int>(random() % static_cast<unsigned>(columns)));
    }
  }
  return result.made(name);
}

inline MatrixKind banded_kind(const std::string& name, int rows,
                              const std::vector<int>& distances) {
  KindMaker result(rows, rows);
  for (int row = 0; row < rows; ++row) {
    for (const int distance : distances) {
      result.add(row, row + distance);
    }
  }
  return result.made(name);
}

/// Dense blocks of `size`, each row of blocks with `across` of them.
inline MatrixKind block_kind(const std::string& name, int count, int size, int across) {
  KindMaker result(count * size, count * size);
  for (int block = 0; block < count; ++block) {
    for (int other = 0; other < across; ++other) {
      const int at = other == 0 ? block : (block * 5 + other * 17) % count;
      for (int i = 0; i < size * size; ++i) {
        result.add(block * size + i / size, at * size + i % size);
      }
    }
  }
  return result.made(name);
}

inline std::vector<MatrixKind> twenty_kinds() {
  const auto ends = [](int dx, int dy, int dz) {
    return std::abs(dx) + std::abs(dy) + std::abs(dz) <= 1;
  };
  const auto all = [](int, int, int) { return true; };
  const auto power = [](int, std::mt19937& random) {
    const double part = std::uniform_real_distribution<double>(0.01, 1)(random);
    return static_cast<int>(2 / part);
  };
  std::vector<MatrixKind> result;
  result.push_back(stencil_kind("stencil of 3", 300, 1, 1, ends));
  result.push_back(stencil_kind("stencil of 5", 17, 16, 1, ends));
  result.push_back(stencil_kind("stencil of 7", 7, 6, 8, ends));
  result.push_back(stencil_kind("stencil of 9", 16, 16, 1, all));
  result.push_back(stencil_kind("stencil of 27", 6, 6, 6, all));
  result.push_back(banded_kind("band", 260, {-4, -3, -2, -1, 0, 1, 2, 3, 4}));
  result.push_back(banded_kind("distant diagonals", 256, {-128, -16, 0, 16, 128}));
  result.push_back(banded_kind(
      "upper triangle", 24,
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  result.push_back(banded_kind("identity", 128, {0}));
  result.push_back(block_kind("blocks of 2", 60, 2, 3));
  result.push_back(block_kind("blocks of 3", 40, 3, 4));
  result.push_back(block_kind("blocks of 6", 20, 6, 2));
  result.push_back(random_kind("random", 200, 200, [](int, std::mt19937&) { return 6; }));
  result.push_back(random_kind("power law", 400, 400, power));
  result.push_back(random_kind("empty rows", 301, 150,
                               [](int row, std::mt19937&) { return row % 3 == 0 ? 4 : 0; }));
  result.push_back(random_kind("one dense row", 180, 180,
                               [](int row, std::mt19937&) { return row == 77 ? 400 : 2; }));
  result.push_back(random_kind("wide", 12, 500, [](int, std::mt19937&) { return 40; }));
  result.push_back(random_kind("tall", 500, 12, [](int, std::mt19937&) { return 3; }));
  result.push_back(random_kind("two lengths", 256, 256,
                               [](int row, std::mt19937&) { return row / 32 % 2 == 0 ? 1 : 20; }));
  result.push_back(
      random_kind("one entry", 9, 7, [](int row, std::mt19937&) { return row == 4 ? 1 : 0; }));
  return result;
}

}  // namespace rtcg::arrays::testing
