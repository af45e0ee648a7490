// Tiles, paddings and vectors keep the numbers, on every target.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/tile.h"
#include "rtcg/loopy/transform/vectorize.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

KernelOptions f32_options(std::string arguments = {}) {
  KernelOptions options;
  options.default_type = cgen::f32;
  options.arguments = std::move(arguments);
  return options;
}

TEST(Tiling, TiledMatrixProductsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}",
                                   "c[i, j] = sum(k, a[i, k]*b[k, j])", f32_options());
  for (const Kernel& tiled :
       {tile(plain, {{"i", 8}, {"j", 16}}, {.reductions = {{"k", 8}}}),
        tile(plain, {{"i", 4, 4}, {"j", 8, 2}}, {.reductions = {{"k", 4}}})}) {
    EXPECT_EQ(count_of("__syncthreads", generate_text(tiled, Target::cuda)), 2);
    expect_same_everywhere(tiled, plain, {{"n", 37}, {"m", 19}, {"l", 21}});
  }
}

TEST(Tiling, TiledStencilsKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, j]: 1 <= i < n - 1 and 1 <= j < m - 1}",
                  "b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4*a[i, j]",
                  f32_options("a, b: f32[n, m]"));
  const Kernel tiled = tile(plain, {{"i", 8}, {"j", 16}});
  EXPECT_EQ(count_of("__syncthreads", generate_text(tiled, Target::cuda)), 1);
  expect_same_everywhere(tiled, plain, {{"n", 37}, {"m", 19}});
  expect_same_everywhere(tile(plain, {{"i", 8, 2}, {"j", 16}}), plain, {{"n", 37}, {"m", 19}});
}

TEST(Tiling, TiledTranspositionsKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[j, i]", f32_options());
  expect_same_everywhere(tile(plain, {{"i", 16}, {"j", 16}}), plain, {{"n", 37}, {"m", 19}});
  const Kernel symmetric =
      make_kernel("{[i, j]: 0 <= i, j < n}", "c[i, j] = a[i, j] + a[j, i]", f32_options());
  expect_same_everywhere(tile(symmetric, {{"i", 8}, {"j", 8}}), symmetric, {{"n", 21}});
}

TEST(Tiling, TilesInThreeDimensionsKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[x, y, z]: 1 <= x, y, z < n - 1}",
                  "b[x, y, z] = a[x - 1, y, z] + a[x + 1, y, z] + a[x, y, z - 1] + a[x, y + 1, z]",
                  f32_options("a, b: f32[n, n, n]"));
  expect_same_everywhere(tile(plain, {{"x", 2}, {"y", 4}, {"z", 8}}), plain, {{"n", 13}});
}

TEST(Tiling, VectorsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i] + b[i] + a[3*i] + i",
                                   f32_options("a: f32[3*n]"));
  Kernel vectors = split_iname(plain, "i", 128, {.outer_tag = "g.0"});
  vectors = split_iname(vectors, "i_inner", 4, {.inner_name = "v", .outer_tag = "l.0"});
  vectors = vectorize(vectors, "v", {"b"});
  EXPECT_EQ(count_of("float4", generate_text(vectors, Target::cuda)), 6);
  for (const int n : {1, 128, 131, 255}) {
    expect_same_everywhere(vectors, plain, {{"n", n}});
  }
}

TEST(Tiling, VectorsOfPrivateAndSharedValuesKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 32}",
                  "<> t = a[i, j]\n<> s = t*t\nb[i, j] = s - t", f32_options("a, b: f32[n, 32]"));
  Kernel vectors = split_iname(plain, "j", 4, {.inner_name = "v", .outer_tag = "l.0"});
  vectors = vectorize(tag_inames(vectors, "i:g.0"), "v", {"a", "b"});
  expect_same_everywhere(vectors, plain, {{"n", 3}});
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32, .assumptions = "n mod 16 = 0"});
  Kernel tiled = split_iname(product, "i", 8, {.outer_tag = "g.1", .inner_tag = "l.1"});
  tiled = split_iname(tiled, "j", 16, {.outer_tag = "g.0"});
  tiled = split_iname(tiled, "j_inner", 4, {.inner_name = "v", .outer_tag = "l.0"});
  tiled = split_iname(tiled, "k", 8);
  tiled = add_prefetch(tiled, "a", {"i_inner", "k_inner"});
  tiled = add_prefetch(tiled, "b", {"k_inner", "j_inner_outer", "v"});
  tiled = vectorize(tiled, "v", {"b_fetch", "c"});
  EXPECT_EQ(count_of("float4", generate_text(tiled, Target::cuda)), 4);
  expect_same_everywhere(tiled, product, {{"n", 32}});
}

}  // namespace
}  // namespace rtcg::loopy
