// Chains of reductions in one pass: on every target, over threads, warps and blocks, and with
// infinite values, NaNs and large numbers.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

Kernel softmax(const std::string& length) {
  return make_kernel("{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < " + length + "}",
                     "<> top = reduce(max, j, x[i, j])\n"
                     "<> total = sum(k, exp(x[i, k] - top))\n"
                     "s[i] = top + log(total)\n"
                     "y[i, l] = exp(x[i, l] - top)/total",
                     {.arguments = "x, y: f32[n, " + length + "]; s: f32[n]",
                      .default_type = cgen::f32,
                      .assumptions = length == "m" ? "m >= 1" : ""});
}
Kernel variance(const std::string& length) {
  return make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j, k < " + length + "}",
                     "<> mean = sum(j, x[i, j])/" + length + "\n" +
                         "y[i] = sum(k, (x[i, k] - mean)**2)/" + length + "\nz[i] = mean",
                     {.arguments = "x: f32[n, " + length + "]; y, z: f32[n]",
                      .default_type = cgen::f32,
                      .assumptions = length == "m" ? "m >= 1" : ""});
}
constexpr const char* fuse = "rename_inames([j, k], j)\nfuse_reductions([j])\n";

TEST(OnlineReductions, AreSharedByLoopsAndThreads) {
  const std::string warps = "tag_inames(i:g.0)\nsplit_iname(j, 64, inner_tag=l.0)";
  const std::string tree =
      "split_iname(i, 2, outer_tag=g.0, inner_tag=l.1)\nsplit_iname(j, 8, inner_tag=l.0)";
  for (const std::string& recipe : {std::string("split_iname(j, 4, inner_tag=unr)"), warps, tree}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(softmax("m"), fuse + recipe), softmax("m"),
                           {{"n", 3}, {"m", 70}});
  }
  expect_same_everywhere(apply_recipe(variance("m"), fuse + warps), variance("m"),
                         {{"n", 3}, {"m", 70}});
}

TEST(OnlineReductions, AreWordsOfSlicings) {
  const Kernel kernel = softmax("72");
  for (const char* words :
       {"i: g.0 l.1*2; j: for l.0*8; l: for l.0*8; online j,k",
        "i: g.0; j: unr_hint l.0*9 unr*2; l: unr_hint l.0*9 vec*2; keep x vec 2; online j,k"}) {
    expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {{"n", 3}});
  }
}

TEST(OnlineReductions, AreSharedByBlocks) {
  // what a later launch reads is in global memory
  const std::string recipe =
      "fix_parameters(n:3)\nsplit_iname(j, 32, outer_tag=g.0, inner_tag=l.0)\n"
      "privatize_temporaries([i], temporaries=[top_run, total_run])\n"
      "set_temporary_address_space([top_run, total_run], global)";
  expect_same_everywhere(apply_recipe(softmax("m"), fuse + recipe), softmax("m"),
                         {{"n", 3}, {"m", 70}});
}

/// Rows of ordinary numbers, a few of which are infinite, NaN, or large.
ArgumentData special_rows(const Kernel& kernel, std::size_t rows, std::size_t length) {
  ArgumentData data = random_arguments(kernel, {{"n", rows}, {"m", length}}, 1);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      const float ordinary = static_cast<float>(random() % 1000) / 100 - 5;
      const bool is_special = random() % 8 < i % 9;  // all of them in some rows
      const float special = std::array{-infinity, -infinity, infinity, no_number, 3e38F, -3e38F}
          [i % 4 == 0   ? 0
           : i % 4 == 1 ? random() % 4 / 3 * 3
           : i % 4 == 2 ? 4 + random() % 2
                        : random() % 6];
      data.at("x").set_element(i * length + j, is_special ? special : ordinary);
    }
  }
  return data;
}

/// Equal within 64 roundings of f32 and those of the exponential of a difference, or both NaN.
void expect_equal_rows(const ArgumentData& found, const ArgumentData& expected,
                       const std::string& array, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double left = found.at(array).element(i);
    const double right = expected.at(array).element(i);
    const bool is_same = left == right || (std::isnan(left) && std::isnan(right)) ||
                         std::fabs(left - right) <= 64 * 1.2e-7 * (std::fabs(right) + 1e-30);
    ASSERT_TRUE(is_same) << array << "[" << i << "] is " << left << ", not " << right;
  }
}

TEST(OnlineReductions, KeepInfiniteValuesAndNaNs) {
  constexpr std::size_t rows = 72;
  for (const std::size_t length : {1U, 2U, 5U, 48U}) {
    const Kernel kernel = softmax("m");
    const IntegerValues sizes = {{"n", rows}, {"m", length}};
    const ArgumentData data = special_rows(kernel, rows, length);
    const ArgumentData expected = run_kernel(kernel, sizes, data, runtime::Device::host());
    for (const std::string& recipe :
         {std::string(fuse),
          fuse + std::string("tag_inames(i:g.0)\nsplit_iname(j, 8, inner_tag=l.0)"),
          std::string("rename_inames([j, k], j)\nsplit_iname(j, 4)\nreduce_online(j_outer)")}) {
      SCOPED_TRACE(recipe);
      const ArgumentData found =
          run_kernel(apply_recipe(kernel, recipe), sizes, data, runtime::Device::host());
      expect_equal_rows(found, expected, "s", rows);
      expect_equal_rows(found, expected, "y", rows * length);
    }
  }
}

TEST(OnlineReductions, AreExactForVariancesOfLargeNumbers) {
  // the sum of squares less the square of the sum would lose all digits
  const Kernel kernel = variance("m");
  const IntegerValues sizes = {{"n", 1}, {"m", 1000}};
  ArgumentData data = random_arguments(kernel, sizes, 1);
  for (std::size_t j = 0; j < 1000; ++j) {
    data.at("x").set_element(j, 1e4 + static_cast<double>(j % 2));
  }
  const ArgumentData found =
      run_kernel(apply_recipe(kernel, fuse), sizes, data, runtime::Device::host());
  EXPECT_NEAR(found.at("y").element(0), 0.25, 1e-4);
}

}  // namespace
}  // namespace rtcg::loopy
