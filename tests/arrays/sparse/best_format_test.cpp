#include "rtcg/arrays/sparse/best_format.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/sparse/kinds.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

template <class T>
SparseMatrix<T> of_kind(const testing::MatrixKind& kind) {
  return SparseMatrix<T>::from_eigen(
      Eigen::SparseMatrix<T, Eigen::RowMajor>(kind.matrix.template cast<T>()));
}

testing::MatrixKind five_points(int side) {
  return testing::stencil_kind("stencil", side, side, 1, [](int dx, int dy, int) {
    return std::abs(dx) + std::abs(dy) <= 1;
  });
}

TEST(BestFormat, ReadsTheFewestBytes) {
  const std::vector<testing::MatrixKind> kinds = testing::twenty_kinds();
  on_every_device([&] {
    EXPECT_EQ(best_format(of_kind<float>(five_points(30))).format, SparseFormat::dia);
    const FormatChoice blocks = best_format(of_kind<float>(kinds[11]));
    EXPECT_EQ(blocks.format, SparseFormat::bsr);
    EXPECT_EQ(blocks.options.block, 6);
    for (const std::size_t mixed : {13, 15}) {
      const SparseMatrix<float> matrix = of_kind<float>(kinds[mixed]);
      // columns of 16 bits, where rows are long enough for a GPU
      const bool is_cpu = matrix.any().device().info().is_cpu;
      EXPECT_EQ(best_format(matrix).format, is_cpu ? SparseFormat::csr : SparseFormat::packets);
    }
    const auto none = SparseMatrix<float>::from_triplets(6, 4, {}, {}, {});
    EXPECT_EQ(best_format(none).format, SparseFormat::csr);
  });
}

TEST(BestFormat, IsRememberedForMatricesOfTheClass) {
  on_every_device([] {
    const auto a = of_kind<double>(five_points(22));
    remember_format(a, {.format = SparseFormat::ell});
    EXPECT_EQ(best_format(of_kind<double>(five_points(21))).format, SparseFormat::ell);
    EXPECT_EQ(best_format(of_kind<float>(five_points(20))).format, SparseFormat::dia);
    EXPECT_EQ(best_format(of_kind<double>(five_points(50))).format, SparseFormat::dia);
    EXPECT_EQ(in_best_format(a).format(), SparseFormat::ell);
  });
}

TEST(BestFormat, LeavesOutFormatsThatWouldStoreTooMuch) {
  on_every_device([] {
    // one long row, whose slice would be as long: 16 numbers for each entry
    constexpr int n = 4096;
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n; ++i) {
      entries.emplace_back(i, i, 1.0);
      entries.emplace_back(7, i, 1.0);
    }
    Eigen::SparseMatrix<double, Eigen::RowMajor> matrix(n, n);
    matrix.setFromTriplets(entries.begin(), entries.end());
    const auto a = SparseMatrix<double>::from_eigen(matrix);
    const FormatChoice choice = best_format(a, {.measures = true});
    EXPECT_EQ(a.in_format(choice.format, choice.options).entries(), a.entries());
  });
}

TEST(BestFormat, IsMeasuredWhenAsked) {
  on_every_device([] {
    const auto a = of_kind<double>(five_points(24));
    const FormatChoice choice = best_format(a, {.measures = true});
    EXPECT_EQ(best_format(a), choice);
    const Array<double> x = ones<double>({a.columns()});
    const auto b = a.in_format(choice.format, choice.options);
    EXPECT_EQ((b * x).to_vector<double>(), (a * x).to_vector<double>());
  });
}

}  // namespace
}  // namespace rtcg::arrays
