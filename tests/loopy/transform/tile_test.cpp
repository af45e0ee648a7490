#include "rtcg/loopy/transform/tile.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/pad_bank_conflicts.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel matrix_product() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32});
}
Kernel transposition() {
  return make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[j, i]", {.default_type = cgen::f32});
}

TEST(Tile, TilesAMatrixProduct) {
  const Kernel tiled = tile(matrix_product(), {{"i", 16}, {"j", 16}}, {.reductions = {{"k", 16}}});
  EXPECT_EQ(to_string(tiled), R"(kernel loopy_kernel
arguments:
  a: f32[n, n]
  b: f32[n, n]
  c: f32[n, n]
  n: i32
domains:
  {[i_outer, i_inner]: i_outer >= 0 and 16*i_outer + i_inner < n and i_inner >= 0 and i_inner <= 15}
  {[j_outer, j_inner]: j_outer >= 0 and 16*j_outer + j_inner < n and j_inner >= 0 and j_inner <= 15}
  {[k_outer, k_inner]: k_outer >= 0 and 16*k_outer + k_inner < n and k_inner >= 0 and k_inner <= 15}
  {[a_fetch_0, a_fetch_1]: a_fetch_0 >= 0 and a_fetch_0 <= 15 and a_fetch_1 >= 0 and a_fetch_1 <= 15}
  {[b_fetch_0, b_fetch_1]: b_fetch_0 >= 0 and b_fetch_0 <= 15 and b_fetch_1 >= 0 and b_fetch_1 <= 15}
inames:
  i_outer: g.1
  i_inner: l.1
  j_outer: g.0
  j_inner: l.0
  k_outer: for
  k_inner: for
  a_fetch_0: l.auto
  a_fetch_1: l.auto
  b_fetch_0: l.auto
  b_fetch_1: l.auto
temporaries:
  a_fetch: f32[16, 16]
  b_fetch: f32[16, 16]
statements:
  fill_a_fetch: a_fetch[a_fetch_0, a_fetch_1] = if(16*i_outer + a_fetch_0 < n and 16*k_outer + a_fetch_1 < n, a[16*i_outer + a_fetch_0, 16*k_outer + a_fetch_1], 0)  {inames=a_fetch_0:a_fetch_1:i_outer:k_outer}
  fill_b_fetch: b_fetch[b_fetch_0, b_fetch_1] = if(16*k_outer + b_fetch_0 < n and 16*j_outer + b_fetch_1 < n, b[16*k_outer + b_fetch_0, 16*j_outer + b_fetch_1], 0)  {inames=b_fetch_0:b_fetch_1:j_outer:k_outer}
  set_c: c[16*i_outer + i_inner, 16*j_outer + j_inner] = sum((k_outer, k_inner), a_fetch[i_inner, k_inner]*b_fetch[k_inner, j_inner])  {inames=i_inner:i_outer:j_inner:j_outer, dep=fill_a_fetch:fill_b_fetch}
recipe:
  tile([i:16, j:16], reductions=[k:16])
)");
  expect_recipe(matrix_product(), tiled, "tile([i:16, j:16], reductions=[k:16])\n");
}

TEST(Tile, GivesThreadsLanes) {
  const Kernel tiled =
      tile(matrix_product(), {{"i", 8, 4}, {"j", 16, 2}}, {.reductions = {{"k", 8}}, .pad = false});
  EXPECT_EQ(to_string(tiled), R"(kernel loopy_kernel
arguments:
  a: f32[n, n]
  b: f32[n, n]
  c: f32[n, n]
  n: i32
domains:
  {[i_outer, i_lane, i_inner]: i_outer >= 0 and 32*i_outer + 8*i_lane + i_inner < n and i_lane >= 0 and i_lane <= 3 and i_inner >= 0 and i_inner <= 7}
  {[j_outer, j_lane, j_inner]: j_outer >= 0 and 32*j_outer + 16*j_lane + j_inner < n and j_lane >= 0 and j_lane <= 1 and j_inner >= 0 and j_inner <= 15}
  {[k_outer, k_inner]: k_outer >= 0 and 8*k_outer + k_inner < n and k_inner >= 0 and k_inner <= 7}
  {[a_fetch_0, a_fetch_1]: a_fetch_0 >= 0 and a_fetch_0 <= 31 and a_fetch_1 >= 0 and a_fetch_1 <= 7}
  {[b_fetch_0, b_fetch_1]: b_fetch_0 >= 0 and b_fetch_0 <= 7 and b_fetch_1 >= 0 and b_fetch_1 <= 31}
inames:
  i_outer: g.1
  i_lane: ilp
  i_inner: l.1
  j_outer: g.0
  j_lane: ilp
  j_inner: l.0
  k_outer: for
  k_inner: for
  a_fetch_0: l.auto
  a_fetch_1: l.auto
  b_fetch_0: l.auto
  b_fetch_1: l.auto
temporaries:
  a_fetch: f32[32, 8]
  b_fetch: f32[8, 32]
statements:
  fill_a_fetch: a_fetch[a_fetch_0, a_fetch_1] = if(32*i_outer + a_fetch_0 < n and 8*k_outer + a_fetch_1 < n, a[32*i_outer + a_fetch_0, 8*k_outer + a_fetch_1], 0)  {inames=a_fetch_0:a_fetch_1:i_outer:k_outer}
  fill_b_fetch: b_fetch[b_fetch_0, b_fetch_1] = if(8*k_outer + b_fetch_0 < n and 32*j_outer + b_fetch_1 < n, b[8*k_outer + b_fetch_0, 32*j_outer + b_fetch_1], 0)  {inames=b_fetch_0:b_fetch_1:j_outer:k_outer}
  set_c: c[32*i_outer + 8*i_lane + i_inner, 32*j_outer + 16*j_lane + j_inner] = sum((k_outer, k_inner), a_fetch[8*i_lane + i_inner, k_inner]*b_fetch[k_inner, 16*j_lane + j_inner])  {inames=i_inner:i_lane:i_outer:j_inner:j_lane:j_outer, dep=fill_a_fetch:fill_b_fetch}
recipe:
  tile([i:8*4, j:16*2], pad=no, reductions=[k:8])
)");
  expect_recipe(matrix_product(), tiled, "tile([i:8*4, j:16*2], pad=no, reductions=[k:8])\n");
}

TEST(Tile, FetchesWhatNeighboursReadFromFarApart) {
  const Kernel tiled = tile(transposition(), {{"i", 32}, {"j", 32}});
  EXPECT_EQ(bank_conflicts(tiled, "a_fetch"), 1);
  // copies read and write side by side: nothing to gain
  const Kernel copy =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[i, j]", {.default_type = cgen::f32});
  EXPECT_TRUE(tile(copy, {{"i", 8}, {"j", 32}}).temporaries.empty());
}

TEST(Tile, FetchesWhatIsAskedForAndNoMore) {
  const Kernel all = tile(matrix_product(), {{"i", 16}, {"j", 16}}, {.reductions = {{"k", 16}}});
  EXPECT_EQ(all.temporaries.size(), 2U);
  const TileOptions one = {.reductions = {{"k", 16}}, .fetch = {{"b"}}};
  const Kernel tiled = tile(matrix_product(), {{"i", 16}, {"j", 16}}, one);
  ASSERT_EQ(tiled.temporaries.size(), 1U);
  EXPECT_EQ(tiled.temporaries.front().name, "b_fetch");
  const TileOptions none = {.fetch = std::vector<std::string>{}};
  const Kernel plain = tile(matrix_product(), {{"i", 16}, {"j", 16}}, none);
  EXPECT_TRUE(plain.temporaries.empty());
  expect_recipe(matrix_product(), plain, "tile([i:16, j:16], fetch=[])\n");
  // without pieces of k, an element at a time would be fetched
  EXPECT_TRUE(tile(matrix_product(), {{"i", 16}, {"j", 16}}).temporaries.empty());
}

TEST(Tile, TakesNoTemporaryForAFetchByItsName) {
  // one element at a time would be fetched: refused, unless an array was fetched before
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}",
                  "<> a_fetch_of_mine = 2*x[i] {inames=i:j}\n"
                  "c[i, j] = sum(k, a[i, k]*b[k, j]) + a_fetch_of_mine {inames=i:j}",
                  {.default_type = cgen::f32});
  const Kernel tiled = tile(kernel, {{"i", 16}, {"j", 16}}, {.fetch = {{"a"}}});
  EXPECT_NE(find_temporary(tiled, "a_fetch"), nullptr);
}

TEST(Tile, FetchesOneArrayForSeveralReads) {
  const Kernel squares =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*a[j, k])",
                  {.default_type = cgen::f32});
  const Kernel tiled = tile(squares, {{"i", 16}, {"j", 16}}, {.reductions = {{"k", 16}}});
  EXPECT_EQ(
      statements_of(tiled),
      R"(a_fetch[a_fetch_0, a_fetch_1] = if(16*i_outer + a_fetch_0 < n and 16*k_outer + a_fetch_1 < n, a[16*i_outer + a_fetch_0, 16*k_outer + a_fetch_1], 0)
a_fetch_2[a_fetch_2_0, a_fetch_2_1] = if(16*j_outer + a_fetch_2_0 < n and 16*k_outer + a_fetch_2_1 < n, a[16*j_outer + a_fetch_2_0, 16*k_outer + a_fetch_2_1], 0)
c[16*i_outer + i_inner, 16*j_outer + j_inner] = sum((k_outer, k_inner), a_fetch[i_inner, k_inner]*a_fetch_2[j_inner, k_inner])
)");
  const Kernel symmetric = make_kernel("{[i, j]: 0 <= i, j < n}", "c[i, j] = a[i, j] + a[j, i]",
                                       {.default_type = cgen::f32});
  EXPECT_EQ(
      statements_of(tile(symmetric, {{"i", 16}, {"j", 16}})),
      R"(a_fetch[a_fetch_0, a_fetch_1] = if(16*i_outer + a_fetch_0 < n and 16*j_outer + a_fetch_1 < n, a[16*i_outer + a_fetch_0, 16*j_outer + a_fetch_1], 0)
a_fetch_2[a_fetch_2_0, a_fetch_2_1] = if(16*j_outer + a_fetch_2_0 < n and 16*i_outer + a_fetch_2_1 < n, a[16*j_outer + a_fetch_2_0, 16*i_outer + a_fetch_2_1], 0)
c[16*i_outer + i_inner, 16*j_outer + j_inner] = a_fetch[i_inner, j_inner] + a_fetch_2[j_inner, i_inner]
)");
}

TEST(Tile, ExpandsRules) {
  const Kernel stencil = make_kernel("{[i, j]: 1 <= i, j < n - 1}", R"(
      u(x, y) := a[x, y]
      b[i, j] = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4*u(i, j)
  )",
                                     {.arguments = "a, b: f32[n, n]", .default_type = cgen::f32});
  const Kernel tiled = tile(stencil, {{"i", 16}, {"j", 16}});
  ASSERT_EQ(tiled.temporaries.size(), 1U);
  EXPECT_EQ(to_string(tiled.temporaries.front().shape[0]), "18");
  expect_recipe(stencil, tiled, "tile([i:16, j:16])\n");
}

TEST(Tile, RefusesInamesThatCannotBeTiled) {
  EXPECT_ERROR("loopy.tile.unknown_iname", tile(matrix_product(), {{"q", 16}}));
  EXPECT_ERROR("loopy.tile.unknown_iname",
               tile(matrix_product(), {{"i", 16}}, {.reductions = {{"q", 16}}}));
  EXPECT_ERROR("loopy.tile.is_reduced", tile(matrix_product(), {{"k", 16}}));
  EXPECT_ERROR("loopy.tile.tagged_already",
               tile(tag_inames(matrix_product(), "i:g.0"), {{"i", 16}}));
  EXPECT_EQ(why_not([&] {
              return tile(matrix_product(), {{"q", 16}});
            }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j, k");
  EXPECT_EQ(why_not([&] { return tile(matrix_product(), {{"i", 16}}); }), std::nullopt);
}

TEST(Tile, RefusesBadLengths) {
  EXPECT_ERROR("loopy.tile.bad_length", tile(matrix_product(), {}));
  EXPECT_ERROR("loopy.tile.bad_length", tile(matrix_product(), {{"i", 0}}));
  EXPECT_ERROR("loopy.tile.bad_length", tile(matrix_product(), {{"i", 64}, {"j", 32}}));
  EXPECT_ERROR("loopy.tile.bad_length",
               tile(matrix_product(), {{"i", 16}}, {.reductions = {{"k", 0}}}));
}

TEST(Tile, RefusesArraysThatItCannotFetch) {
  const std::vector<TiledIname> inames = {{"i", 16}, {"j", 16}};
  EXPECT_ERROR("loopy.tile.unknown_array", tile(matrix_product(), inames, {.fetch = {{"q"}}}));
  EXPECT_ERROR("loopy.tile.unknown_array", tile(matrix_product(), inames, {.fetch = {{"c"}}}));
  const Kernel far = make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[p[i]] + j",
                                 {.arguments = "a: f32[n]; p: i32[n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.footprint.not_affine", tile(far, inames, {.fetch = {{"a"}}}));
}

TEST(Tile, RefusesTextThatIsNoTile) {
  EXPECT_ERROR("loopy.tile.syntax", parse_tiled_iname("i"));
  EXPECT_ERROR("loopy.tile.syntax", parse_tiled_iname("i:x"));
  EXPECT_ERROR("loopy.tile.syntax", apply_recipe(matrix_product(), "tile([i:16*y])"));
}

}  // namespace
}  // namespace rtcg::loopy
