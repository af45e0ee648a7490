// Columns of 16 bits in packets of entries.
#include "rtcg/arrays/sparse/packets.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/fused_product.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/loopy/codegen/generate.h"
#include "tests/arrays/sparse/kinds.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::MatrixKind;
using testing::on_every_device;

/// Rows with runs of columns from each of the beginnings on, which move with the row.
MatrixKind clustered(int rows, int columns, const std::vector<int>& beginnings, int run) {
  testing::KindMaker result(rows, columns);
  for (int row = 0; row < rows; ++row) {
    for (const int begin : beginnings) {
      for (int entry = 0; entry < run; ++entry) {
        result.add(row, begin + row + entry);
      }
    }
  }
  return result.made("clusters");
}

template <class T>
SparseMatrix<T> sent(const MatrixKind& kind) {
  return SparseMatrix<T>::from_eigen(
      Eigen::SparseMatrix<T, Eigen::RowMajor>(kind.matrix.template cast<T>()));
}

struct Clusters {
  std::vector<int> beginnings;
  int windows;  // that packets of 64 entries need
};

/// Of 400,000 columns; each cluster is far from the others.
const Clusters clusters[] = {
    {{5}, 1},
    {{5, 70'000}, 2},
    {{5, 150'000, 399'000}, 4},
    {{5, 80'000, 160'000, 240'000, 320'000, 330'000, 340'000, 350'000, 360'000}, 16}};

TEST(ColumnPackets, HaveTheWindowsThatColumnsNeed) {
  on_every_device([] {
    for (const Clusters& each : clusters) {
      SCOPED_TRACE(each.windows);
      const MatrixKind kind = clustered(90, 400'000, each.beginnings, 3);
      const SparseMatrix<float> csr = sent<float>(kind);
      const SparseMatrix<float> a = csr.in_format(SparseFormat::packets, {.packet = 64});
      EXPECT_EQ(detail::packets_of(a), (detail::ColumnPackets{64, each.windows}));
      EXPECT_EQ(a.any().column().dtype(), DType::u16);
      EXPECT_EQ(a.any().value().address(), csr.any().value().address());
      const AnySparseMatrix back = a.any().in_format(SparseFormat::csr);
      EXPECT_EQ(back.column().to_vector<std::int32_t>(),
                csr.any().column().to_vector<std::int32_t>());
      std::vector<float> x;
      for (int i = 0; i < 400'000; ++i) {
        x.push_back(static_cast<float>(i % 13 - 6));
      }
      const Eigen::VectorXf expected =
          kind.matrix.cast<float>() * Eigen::Map<const Eigen::VectorXf>(x.data(), 400'000);
      const Array<float> on_device(x);
      EXPECT_EQ(multiply(a, on_device).to_vector<float>(),
                std::vector<float>(expected.begin(), expected.end()));
      if (each.windows != 4) {
        continue;  // kernels of expressions differ only in numbers
      }
      std::vector<float> less;
      for (const float value : expected) {
        less.push_back(1 - value);
      }
      EXPECT_EQ((1 - a * on_device).to_vector<float>(), less);
    }
  });
}

TEST(ColumnPackets, AreRefusedWhereColumnsAreInTooManyPlaces) {
  on_every_device([] {
    std::mt19937 random(3);
    std::vector<std::int32_t> row;
    std::vector<std::int32_t> column;
    for (int entry = 0; entry < 3000; ++entry) {
      row.push_back(entry / 8);
      column.push_back(static_cast<std::int32_t>(random() % 1'000'000'000));
    }
    const auto a = SparseMatrix<float>::from_triplets(375, 1'000'000'000, row, column,
                                                      std::vector<float>(3000, 1));
    EXPECT_ERROR("arrays.sparse.spread", static_cast<void>(a.in_format(SparseFormat::packets)));
    // those of 32 entries need no more windows than there are
    const auto packed = a.in_format(SparseFormat::packets, {.packet = 32});
    EXPECT_EQ(packed.in_format(SparseFormat::csr).any().column().to_vector<std::int32_t>(),
              a.any().column().to_vector<std::int32_t>());
    for (const int packet : {16, 48, 1 << 17}) {
      EXPECT_ERROR("arrays.sparse.format",
                   static_cast<void>(a.in_format(SparseFormat::packets, {.packet = packet})));
    }
  });
}

/// In several packets.
TEST(ColumnPackets, AreReadByEveryKernel) {
  const std::vector<MatrixKind> kinds = testing::twenty_kinds();
  on_every_device([&] {
    for (const std::size_t which : {3U, 15U}) {
      SCOPED_TRACE(kinds[which].name);
      const auto csr = sent<double>(kinds[which]);
      const auto a = csr.in_format(SparseFormat::packets, {.packet = 32});
      std::vector<double> x;
      for (std::int64_t i = 0; i < a.columns(); ++i) {
        x.push_back(static_cast<double>(i % 7 - 3));
      }
      const Array<double> on_device(x);
      const std::vector<double> expected = multiply(csr, on_device).to_vector<double>();
      const Array<double> y = zeros<double>({a.rows()});
      detail::multiply_by_tiles(current_stream(), a, on_device, y, {});
      EXPECT_EQ(y.to_vector(), expected);
      if (a.rows() == a.columns()) {
        const AnyArray product = zeros(DType::f64, Extents{});
        detail::multiply_and_dot(current_stream(), a, on_device, y, product);
        EXPECT_EQ(y.to_vector(), expected);
        EXPECT_EQ(product.item<double>(), dot(on_device, y).item<double>());
      }
      EXPECT_EQ(a.transposed().to_dense().to_vector(), csr.transposed().to_dense().to_vector());
      EXPECT_EQ(a.diagonal().to_vector(), csr.diagonal().to_vector());
    }
  });
}

TEST(ColumnPackets, AreMultipliedBySolvers) {
  const MatrixKind kind = testing::stencil_kind(
      "stencil", 12, 11, 1, [](int dx, int dy, int) { return std::abs(dx) + std::abs(dy) <= 1; });
  Eigen::SparseMatrix<double, Eigen::RowMajor> matrix = kind.matrix;
  for (int row = 0; row < matrix.rows(); ++row) {
    for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator entry(matrix, row); entry;
         ++entry) {
      entry.valueRef() = entry.col() == row ? 5 : -1;
    }
  }
  on_every_device([&] {
    const auto csr = SparseMatrix<double>::from_eigen(matrix);
    const Array<double> b = ones<double>({csr.rows()});
    const Solution expected = conjugate_gradients(csr, b, {.tolerance = 1e-12});
    const Solution found = conjugate_gradients(csr.in_format(SparseFormat::packets, {.packet = 64}),
                                               b, {.tolerance = 1e-12});
    EXPECT_EQ(found.x.to_vector<double>(), expected.x.to_vector<double>());
  });
}

TEST(ColumnPackets, AreTwoBytesInCudaText) {
  const loopy::Kernel kernel =
      detail::chunked_product_kernel(DType::f32, {256, 7}, {.entries = 1024, .windows = 4});
  const std::string text = loopy::generate_text(kernel, loopy::Target::cuda);
  taken_by_nvrtc(text);
  EXPECT_NE(text.find("unsigned short"), std::string::npos) << text;
  EXPECT_NE(text.find(">> 14"), std::string::npos) << text;
  EXPECT_NE(text.find("& 16383"), std::string::npos) << text;
}

template <class T>
loopy::ArrayData bytes_of(const std::vector<T>& data, cgen::ScalarKind kind) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
  return {kind, {bytes, bytes + data.size() * sizeof(T)}};
}

/// Packets of 64 entries with the bases 0, 100, 200 and 300, of which each entry takes the last
/// that is not greater than its column.
TEST(ColumnPackets, RunAsCudaText) {
  constexpr std::int32_t rows = 501;
  std::vector<std::int32_t> first = {0};
  std::vector<std::uint16_t> code;
  std::vector<float> value;
  std::vector<float> x;
  std::vector<double> expected(rows);
  for (std::int32_t row = 0; row < rows; ++row) {
    x.push_back(static_cast<float>(row * 5 % 11 - 5));
  }
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t entry = 0; entry < 5 + row % 3; ++entry) {
      const std::int32_t column = (row * 13 + entry * 7) % rows;
      const std::int32_t window = std::min(column / 100, 3);
      code.push_back(static_cast<std::uint16_t>(window << 14 | (column - 100 * window)));
      value.push_back(static_cast<float>((row + entry * 5) % 9 - 4));
      expected[static_cast<std::size_t>(row)] +=
          static_cast<double>(value.back()) * x[static_cast<std::size_t>(column)];
    }
    first.push_back(static_cast<std::int32_t>(code.size()));
  }
  const auto entries = static_cast<std::int64_t>(code.size());
  std::vector<std::int32_t> base;
  for (std::int64_t packet = 0; packet * 64 < entries; ++packet) {
    base.insert(base.end(), {0, 100, 200, 300});
  }
  const detail::ColumnPackets packets{64, 4};
  loopy::ArgumentData arrays = {{"value", bytes_of(value, cgen::ScalarKind::f32)},
                                {"x", bytes_of(x, cgen::ScalarKind::f32)},
                                {"y", bytes_of(std::vector<float>(rows), cgen::ScalarKind::f32)},
                                {"first", bytes_of(first, cgen::ScalarKind::i32)},
                                {"column", bytes_of(code, cgen::ScalarKind::u16)},
                                {"base", bytes_of(base, cgen::ScalarKind::i32)}};
  const loopy::IntegerValues numbers = {
      {"n", rows}, {"m", rows}, {"nz", entries}, {"bases", static_cast<std::int64_t>(base.size())}};
  for (const detail::ChunkShape& shape : {detail::ChunkShape{256, 7}, detail::ChunkShape{64, 12}}) {
    const loopy::Kernel kernel = detail::chunked_product_kernel(DType::f32, shape, packets);
    taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
    const loopy::ArgumentData found = loopy::CudaTextOnCpu(kernel).run(numbers, arrays);
    for (std::int32_t row = 0; row < rows; ++row) {
      ASSERT_EQ(found.at("y").element(row), expected[static_cast<std::size_t>(row)]);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
