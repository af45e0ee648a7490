// Products of matrices of many kinds, by each way in which threads share rows.
#include "rtcg/arrays/sparse/row_sharing.h"

#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/loopy/codegen/generate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"

namespace rtcg::arrays {
namespace {

using detail::RowSharing;
using testing::on_every_device;

struct Kind {
  std::string name;
  std::int32_t rows;
  std::function<std::int32_t(std::int32_t row)> length;
};

/// Lengths of rows.
std::vector<Kind> kinds_of_matrices() {
  std::vector<Kind> kinds = {
      {"one entry", 1, [](auto) { return 1; }},
      {"stencil", 3000, [](auto row) { return 5 + (row % 3); }},
      {"band", 700, [](auto row) { return std::min(row, 20) + 1; }},
      {"one dense row", 400, [](auto row) { return row == 200 ? 9000 : 2; }},
      {"the first row dense", 300, [](auto row) { return row == 0 ? 7000 : 1; }},
      {"the last row dense", 300, [](auto row) { return row == 299 ? 7000 : 0; }},
      {"a dense row alone", 1, [](auto) { return 10000; }},
      {"empty rows", 5000, [](auto row) { return row % 7 == 0 ? 3 : 0; }},
      {"empty rows first", 5000, [](auto row) { return row < 4900 ? 0 : 40; }},
      {"empty rows last", 5000, [](auto row) { return row < 100 ? 40 : 0; }},
      {"rows of a tile less one", 6, [](auto) { return 2047; }},
      {"rows of a tile", 6, [](auto) { return 2048; }},
      {"rows of a tile and one", 6, [](auto) { return 2049; }},
      {"rows of two tiles", 5, [](auto) { return 4096; }},
      {"blocks", 640, [](auto row) { return row / 64 % 2 == 0 ? 64 : 3; }},
      {"a wedge", 200, [](auto row) { return row; }},
  };
  for (const int seed : {1, 2, 3, 4}) {
    kinds.push_back({"power law " + std::to_string(seed), 900, [seed](auto row) {
                       std::mt19937 random(static_cast<unsigned>(row * 31 + seed));
                       return std::min<std::int32_t>(
                           6000, 3000 / (1 + static_cast<std::int32_t>(random() % 3000)));
                     }});
  }
  return kinds;
}

/// Whole numbers, so that every order of additions gives the same.
struct Rows {
  explicit Rows(const Kind& kind) {
    for (std::int32_t row = 0; row < kind.rows; ++row) {
      for (std::int32_t entry = 0; entry < kind.length(row); ++entry) {
        column.push_back((row * 13 + entry * 7) % columns);
        value.push_back(static_cast<float>((row + entry * 5) % 9 - 4));
      }
      first.push_back(static_cast<std::int32_t>(column.size()));
    }
    for (std::int32_t place = 0; place < columns; ++place) {
      x.push_back(static_cast<float>(place * 5 % 11 - 5));
    }
  }
  [[nodiscard]] std::vector<float> product() const {
    std::vector<float> result(first.size() - 1);
    for (std::size_t row = 0; row < result.size(); ++row) {
      for (auto e = static_cast<std::size_t>(first[row]); std::cmp_less(e, first[row + 1]); ++e) {
        result[row] += value[e] * x[static_cast<std::size_t>(column[e])];
      }
    }
    return result;
  }
  [[nodiscard]] AnySparseMatrix matrix() const {
    return {columns, Array<std::int32_t>(first), Array<std::int32_t>(column), Array<float>(value)};
  }

  static constexpr std::int32_t columns = 501;
  std::vector<std::int32_t> first = {0};
  std::vector<std::int32_t> column{};
  std::vector<float> value{};
  std::vector<float> x{};
};

template <class Product>
void check_all_kinds(const Product& product) {
  on_every_device([&] {
    for (const Kind& kind : kinds_of_matrices()) {
      SCOPED_TRACE(kind.name);
      const Rows rows(kind);
      const AnySparseMatrix a = rows.matrix();
      const Array<float> x(rows.x);
      const Array<float> y(std::vector<float>(rows.first.size() - 1, -1.0F));
      product(current_stream(), a, x, y);
      ASSERT_EQ(y.to_vector(), rows.product());
    }
  });
}

TEST(RowSharing, TilesMultiplyMatricesOfAllKinds) {
  for (const detail::TileShape& shape :
       {detail::TileShape{},
        detail::TileShape{.items = 1024, .threads = 128, .keeps_ends = true}}) {
    check_all_kinds([&](runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                        const AnyArray& y) { detail::multiply_by_tiles(stream, a, x, y, shape); });
  }
}

std::int32_t longest_of(const Rows& rows) {
  std::int32_t result = 0;
  for (std::size_t row = 0; row + 1 < rows.first.size(); ++row) {
    result = std::max(result, rows.first[row + 1] - rows.first[row]);
  }
  return result;
}

TEST(RowSharing, ChunksMultiplyMatricesOfShortRows) {
  on_every_device([&] {
    int kinds = 0;
    for (const Kind& kind : kinds_of_matrices()) {
      SCOPED_TRACE(kind.name);
      const Rows rows(kind);
      const std::int64_t longest = longest_of(rows);
      if (longest > 64) {
        continue;
      }
      const detail::ChunkShape shape =
          longest <= 7 ? detail::ChunkShape{512, 7} : detail::ChunkShape{32, 64};
      ++kinds;
      const AnySparseMatrix a = rows.matrix();
      const Array<float> x(rows.x);
      const Array<float> y(std::vector<float>(rows.first.size() - 1, -1.0F));
      detail::multiply_by_chunks(current_stream(), a, x, y, shape);
      ASSERT_EQ(y.to_vector(), rows.product());
    }
    EXPECT_GE(kinds, 6);
  });
}

/// Small chunks and few blocks, so that blocks take several and the last chunk is a part of one.
TEST(RowSharing, ChunksAddUpWhatTheirRowsContribute) {
  on_every_device([&] {
    for (const std::int32_t count : {1, 255, 256, 257, 501}) {
      for (const detail::ChunkShape& shape :
           {detail::ChunkShape{512, 7}, detail::ChunkShape{32, 64}}) {
        SCOPED_TRACE(std::to_string(count) + " rows, " + std::to_string(shape.rows) + " a chunk");
        Rows rows({"square", count, [](auto row) { return 5 + row % 3; }});
        for (std::int32_t& column : rows.column) {
          column %= count;
        }
        rows.x.resize(static_cast<std::size_t>(count));
        const AnySparseMatrix a(count, Array<std::int32_t>(rows.first),
                                Array<std::int32_t>(rows.column), Array<float>(rows.value));
        const Array<float> x(rows.x);
        const Array<float> y(std::vector<float>(static_cast<std::size_t>(count), -1.0F));
        const AnyArray product = zeros(DType::f32, Extents{});
        detail::multiply_by_chunks_and_dot(current_stream(), a, x, y, product, shape);
        const std::vector<float> expected = rows.product();
        ASSERT_EQ(y.to_vector(), expected);
        float dot = 0;
        for (std::size_t row = 0; row < expected.size(); ++row) {
          dot += rows.x[row] * expected[row];
        }
        EXPECT_EQ(product.item<float>(), dot);
      }
    }
  });
}

TEST(RowSharing, TilesOfOtherTypesMultiplyAsWell) {
  on_every_device([&] {
    const Rows rows(kinds_of_matrices()[3]);
    const std::vector<float> expected = rows.product();
    for (const DType dtype : {DType::i64, DType::c64}) {
      SCOPED_TRACE(std::string(name(dtype)));
      const AnySparseMatrix a(rows.columns, Array<std::int32_t>(rows.first),
                              Array<std::int32_t>(rows.column),
                              Array<float>(rows.value).any().as_type(dtype));
      const AnyArray y(dtype, {a.rows()}, current_stream());
      detail::multiply_by_tiles(current_stream(), a, Array<float>(rows.x).any().as_type(dtype), y,
                                {});
      const AnyArray real = dtype == DType::c64 ? evaluate(arrays::real(Expression(y))) : y;
      EXPECT_EQ(real.as_type(DType::f32).to_vector<float>(), expected);
    }
  });
}

TEST(RowSharing, GivesTheSameBitsEachTime) {
  on_every_device([&] {
    Rows rows(kinds_of_matrices().back());
    for (std::size_t e = 0; e < rows.value.size(); ++e) {
      rows.value[e] = 1.0F / static_cast<float>(e % 1000 + 1);
    }
    const AnySparseMatrix a = rows.matrix();
    const Array<float> x(rows.x);
    std::vector<std::vector<float>> found;
    for (int turn = 0; turn < 2; ++turn) {
      const Array<float> y(std::vector<float>(rows.first.size() - 1));
      detail::multiply_by_tiles(current_stream(), a, x, y, {});
      found.push_back(y.to_vector());
    }
    EXPECT_EQ(found[0], found[1]);
  });
}

TEST(RowSharing, FollowsTheLengthsOfTheRows) {
  const std::int64_t rows = 1 << 20;
  EXPECT_EQ(detail::row_sharing(rows, 7 * rows, 7, 4), RowSharing::chunks);
  EXPECT_EQ(detail::row_sharing(rows, 41 * rows, 41, 8), RowSharing::chunks);
  EXPECT_EQ(detail::row_sharing(rows, 65 * rows, 65, 4), RowSharing::planned);
  // most rows are much shorter than the longest, but that one is short
  EXPECT_EQ(detail::row_sharing(rows, 2 * rows, 12, 4), RowSharing::planned);
  EXPECT_EQ(detail::row_sharing(rows, 27 * rows, 30000, 4), RowSharing::tiles);
  EXPECT_EQ(detail::row_sharing(rows, 1 << 30, 30000, 4), RowSharing::tiles);
  // more than indices of 32 bits count
  EXPECT_EQ(detail::row_sharing(rows, 0x7fffffff, 1 << 30, 4), RowSharing::planned);
}

TEST(RowSharing, ChunksHaveProductsForSharedMemory) {
  using Shape = detail::ChunkShape;
  const std::int64_t rows = 1 << 20;
  EXPECT_EQ(detail::chunk_shape(rows, 7 * rows, 7, 8), (Shape{256, 7}));
  EXPECT_EQ(detail::chunk_shape(rows, 7 * rows, 7, 4), (Shape{512, 7}));
  EXPECT_EQ(detail::chunk_shape(rows, 27 * rows, 27, 8), (Shape{64, 28}));
  EXPECT_EQ(detail::chunk_shape(rows, 64 * rows, 64, 16), (Shape{16, 64}));
  EXPECT_EQ(detail::chunk_shape(rows, rows, 1, 4), (Shape{1024, 1}));
  EXPECT_FALSE(detail::chunk_shape(rows, 7 * rows, 15, 4));
  EXPECT_FALSE(detail::chunk_shape(std::int64_t{1} << 31, std::int64_t{1} << 31, 1, 4));
}

/// Every fourth row has 20 entries: those of 512 rows are as many everywhere.
TEST(RowSharing, GivesMixedRowsToChunks) {
  on_every_device([&] {
    const auto shape_of = [](const AnySparseMatrix& a) {
      return detail::chunk_shape(current_stream(), a);
    };
    const Rows rows({"mixed", 5000, [](auto row) { return row % 4 == 0 ? 20 : 0; }});
    const AnySparseMatrix a = rows.matrix();
    ASSERT_EQ(shape_of(a), (detail::ChunkShape{512, 5}));
    EXPECT_EQ(a.known_rows().most_of_rows(current_stream(), a.first(), 512), 2560);
    const Array<float> x(rows.x);
    const Array<float> y(std::vector<float>(5000, -1.0F));
    detail::multiply_by_chunks(current_stream(), a, x, y, *shape_of(a));
    EXPECT_EQ(y.to_vector(), rows.product());
    // all entries in a part of the rows, and a row too long
    EXPECT_FALSE(
        shape_of(Rows({"first", 5000, [](auto row) { return row < 600 ? 20 : 0; }}).matrix()));
    EXPECT_FALSE(
        shape_of(Rows({"long", 5000, [](auto row) { return row == 7 ? 70 : 1; }}).matrix()));
  });
}

TEST(RowSharing, KnowsTheLongestRowOfMatricesThatShareIndices) {
  on_every_device([&] {
    const AnySparseMatrix a = Rows(kinds_of_matrices()[3]).matrix();
    EXPECT_EQ(a.known_rows().longest(current_stream(), a.first()), 9000);
    const Array<float> factors(std::vector<float>(400, 2.0F));
    EXPECT_EQ(&a.with_scaled_rows(factors).known_rows(), &a.known_rows());
  });
}

loopy::ArrayData bytes_of(const void* data, std::size_t count, cgen::ScalarKind kind) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {kind, {bytes, bytes + count * 4}};
}

TEST(RowSharing, ChunksRunAsCudaText) {
  const auto floats = [](const std::vector<float>& data) {
    return bytes_of(data.data(), data.size(), cgen::ScalarKind::f32);
  };
  const auto integers = [](const std::vector<std::int32_t>& data) {
    return bytes_of(data.data(), data.size(), cgen::ScalarKind::i32);
  };
  Rows rows({"square", Rows::columns, [](auto row) { return 5 + row % 3; }});
  const auto count = static_cast<std::int32_t>(rows.first.size()) - 1;
  const auto entries = static_cast<std::int32_t>(rows.column.size());
  const std::vector<float> expected = rows.product();
  double dot = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    dot += static_cast<double>(rows.x[row]) * expected[row];
  }
  for (const detail::ChunkShape& shape : {detail::ChunkShape{256, 7}, detail::ChunkShape{64, 12}}) {
    for (const std::int64_t blocks : {0, shape.rows == 256 ? 20 : 2}) {
      SCOPED_TRACE(std::to_string(shape.rows) + " rows, " + std::to_string(blocks) + " blocks");
      const loopy::Kernel kernel =
          blocks == 0 ? detail::chunked_product_kernel(DType::f32, shape)
                      : detail::chunked_product_and_dot_kernel(DType::f32, shape, blocks);
      EXPECT_EQ(loopy::generate(kernel, loopy::Target::cuda).launches.size(), 1U);
      taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
      loopy::CudaTextOnCpu text(kernel);
      loopy::ArgumentData arrays = {
          {"value", floats(rows.value)},
          {"x", floats(rows.x)},
          {"y", floats(std::vector<float>(static_cast<std::size_t>(count)))},
          {"first", integers(rows.first)},
          {"column", integers(rows.column)}};
      loopy::IntegerValues numbers = {{"n", count}, {"nz", entries}};
      if (blocks == 0) {
        numbers["m"] = Rows::columns;
      } else {
        arrays.emplace("product", floats({-1.0F}));
      }
      const loopy::ArgumentData found = text.run(numbers, arrays);
      for (std::int32_t row = 0; row < count; ++row) {
        ASSERT_EQ(found.at("y").element(row), expected[static_cast<std::size_t>(row)]);
      }
      if (blocks != 0) {
        EXPECT_EQ(found.at("product").element(0), dot);
      }
    }
  }
}

TEST(RowSharing, TilesRunAsCudaText) {
  const Rows rows(kinds_of_matrices()[3]);
  const auto count = static_cast<std::int32_t>(rows.first.size()) - 1;
  const auto entries = static_cast<std::int32_t>(rows.column.size());
  const auto tiles = static_cast<std::int32_t>(detail::tile_count(count, entries, 2048));
  std::vector<std::int32_t> row_of;
  for (std::int32_t tile = 0; tile <= tiles; ++tile) {
    std::int32_t row = 0;
    while (row < count && rows.first[static_cast<std::size_t>(row)] + row < tile * 2048) {
      ++row;
    }
    row_of.push_back(row);
  }
  const auto floats = [](const std::vector<float>& data) {
    return bytes_of(data.data(), data.size(), cgen::ScalarKind::f32);
  };
  const auto integers = [](const std::vector<std::int32_t>& data) {
    return bytes_of(data.data(), data.size(), cgen::ScalarKind::i32);
  };
  for (const auto& [threads, keeps_ends] :
       std::initializer_list<std::pair<int, bool>>{{1, false}, {1, true}, {4, false}, {32, true}}) {
    SCOPED_TRACE(threads);
    const loopy::Kernel kernel = detail::tiled_product_kernel(
        DType::f32, {.threads_of_row = threads, .keeps_ends = keeps_ends});
    taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
    loopy::CudaTextOnCpu text(kernel);
    const loopy::ArgumentData found =
        text.run({{"n", count}, {"m", rows.columns}, {"nz", entries}, {"tiles", tiles}},
                 {{"value", floats(rows.value)},
                  {"x", floats(rows.x)},
                  {"y", floats(std::vector<float>(static_cast<std::size_t>(count)))},
                  {"carried", floats(std::vector<float>(static_cast<std::size_t>(tiles)))},
                  {"first", integers(rows.first)},
                  {"column", integers(rows.column)},
                  {"row_of", integers(row_of)}});
    const std::vector<float> expected = rows.product();
    double carried = 0;
    for (std::int32_t tile = 0; tile < tiles; ++tile) {
      carried += found.at("carried").element(tile);
    }
    for (std::int32_t row = 0; row < count; ++row) {
      ASSERT_EQ(found.at("y").element(row) + (row == 200 ? carried : 0),
                expected[static_cast<std::size_t>(row)]);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
