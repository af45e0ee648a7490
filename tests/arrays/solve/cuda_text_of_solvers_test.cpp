// The CUDA texts of the fused kernels of conjugate gradients, compiled for a GPU and run on the
// CPU.
#include <utility>

#include <gtest/gtest.h>

#include "rtcg/arrays/solve/vector_loops.h"
#include "rtcg/arrays/sparse/fused_product.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"

namespace rtcg::arrays {
namespace {

loopy::ArrayData data_of(const std::vector<double>& numbers) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  return {cgen::ScalarKind::f64, {bytes, bytes + numbers.size() * sizeof(double)}};
}
loopy::ArrayData data_of(const std::vector<std::int32_t>& numbers) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  return {cgen::ScalarKind::i32, {bytes, bytes + numbers.size() * sizeof(std::int32_t)}};
}

/// Whole numbers, so that sums are exact in any order.
std::vector<double> some_whole_numbers(std::size_t count, int seed) {
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(seed)) % 11) - 5;
  }
  return result;
}

void check_one_launch(const loopy::Kernel& kernel) {
  EXPECT_EQ(loopy::generate(kernel, loopy::Target::cuda).launches.size(), 1U);
  EXPECT_EQ(loopy::generate(kernel, loopy::Target::host).launches.size(), 1U);
  taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
}

void check_step(bool has_rho, std::int64_t blocks, std::int64_t elements) {
  const loopy::Kernel kernel = detail::step_kernel(DType::f64, has_rho, blocks, elements);
  check_one_launch(kernel);
  loopy::CudaTextOnCpu text(kernel);
  for (const std::size_t count : {1, 1023, 2500}) {
    for (const double limit : {0.0, 100.0}) {  // the method goes on, or is at its end
      SCOPED_TRACE(std::to_string(count) + ", limit " + std::to_string(limit));
      const auto x = some_whole_numbers(count, 1);
      const auto p = some_whole_numbers(count, 2);
      const auto image = some_whole_numbers(count, 3);
      const auto r = some_whole_numbers(count, 4);
      const auto diagonal = some_whole_numbers(count, 5);
      loopy::ArgumentData arrays = {{"x", data_of(x)},
                                    {"p", data_of(p)},
                                    {"image", data_of(image)},
                                    {"r", data_of(r)},
                                    {"next_r", data_of(std::vector<double>(count))},
                                    {"rho", data_of(std::vector<double>{6})},
                                    {"square", data_of(std::vector<double>{50})},
                                    {"image_product", data_of(std::vector<double>{3})},
                                    {"limit", data_of(std::vector<double>{limit})},
                                    {"next_square", data_of(std::vector<double>{-1})}};
      if (has_rho) {
        arrays.emplace("diagonal", data_of(diagonal));
        arrays.emplace("next_rho", data_of(std::vector<double>{-1}));
      }
      const loopy::ArgumentData found = text.run({{"n", static_cast<std::int64_t>(count)}}, arrays);
      const double alpha = limit == 0 ? 2 : 0;
      double square = 0;
      double rho = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double next = r[i] - alpha * image[i];
        square += next * next;
        rho += diagonal[i] * next * next;
        ASSERT_EQ(found.at("x").element(i), x[i] + alpha * p[i]);
        ASSERT_EQ(found.at("next_r").element(i), next);
      }
      EXPECT_EQ(found.at("next_square").element(0), square);
      if (has_rho) {
        EXPECT_EQ(found.at("next_rho").element(0), rho);
      }
    }
  }
}

TEST(CudaTextOfSolvers, StepsInOneLaunch) {
  check_step(true, 0, 1024);
  check_step(true, 2, 1024);
  check_step(false, 3, 256);
}

void check_fused_product(std::int64_t rows_of_block) {
  const loopy::Kernel kernel = detail::fused_product_kernel(DType::f64, rows_of_block);
  check_one_launch(kernel);
  loopy::CudaTextOnCpu text(kernel);
  for (const std::int32_t count : {1, 128, 333, 1300}) {
    std::vector<std::int32_t> first = {0};
    std::vector<std::int32_t> column;
    for (std::int32_t row = 0; row < count; ++row) {
      for (std::int32_t entry = 0; entry < row % 4; ++entry) {
        column.push_back((row * 5 + entry * 3) % count);
      }
      first.push_back(static_cast<std::int32_t>(column.size()));
    }
    column.push_back(0);  // at least one entry
    ++first.back();
    const auto value = some_whole_numbers(column.size(), 6);
    const auto x = some_whole_numbers(static_cast<std::size_t>(count), 7);
    const loopy::ArgumentData found =
        text.run({{"n", count}, {"nz", static_cast<std::int64_t>(column.size())}},
                 {{"value", data_of(value)},
                  {"x", data_of(x)},
                  {"y", data_of(std::vector<double>(x.size()))},
                  {"first", data_of(first)},
                  {"column", data_of(column)},
                  {"product", data_of(std::vector<double>{-1})}});
    double product = 0;
    for (std::size_t row = 0; row < x.size(); ++row) {
      double sum = 0;
      for (auto e = static_cast<std::size_t>(first[row]); std::cmp_less(e, first[row + 1]); ++e) {
        sum += value[e] * x[static_cast<std::size_t>(column[e])];
      }
      product += sum * x[row];
      ASSERT_EQ(found.at("y").element(row), sum);
    }
    EXPECT_EQ(found.at("product").element(0), product);
  }
}

TEST(CudaTextOfSolvers, MultipliesAndAddsUpInOneLaunch) {
  for (const std::int64_t rows_of_block : {128, 1024}) {
    check_fused_product(rows_of_block);
  }
}

}  // namespace
}  // namespace rtcg::arrays
