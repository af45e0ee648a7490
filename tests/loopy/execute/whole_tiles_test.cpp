// Tiles that do not divide the loops: two versions, one for those that do.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel product(const KernelOptions& options) {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])", options);
}

const char* const lanes =
    "split_iname(i, 8, outer_tag=g.1); split_iname(i_inner, 2, outer_tag=l.1, inner_tag=ilp)\n"
    "split_iname(j, 8, outer_tag=g.0); split_iname(j_inner, 2, outer_tag=l.0, inner_tag=ilp)\n";
const char* const tiles =
    "split_iname(k, 4)\n"
    "add_prefetch(a, [k_inner, i_inner_inner, i_inner_outer])\n"
    "add_prefetch(b, [j_inner_inner, j_inner_outer, k_inner])\n";

TEST(WholeTiles, KeepTheNumbersBesideOthers) {
  const KernelOptions options{.default_type = cgen::f32};
  for (const std::string& recipe : {fmt::format("{}", lanes), fmt::format("{}{}", lanes, tiles)}) {
    const Kernel tiled = apply_recipe(product(options), recipe);
    EXPECT_GE(count_of("} else {", generate_text(tiled, Target::cuda)), 1);
    for (const int n : {3, 8, 19}) {
      expect_same_everywhere(tiled, product(options), {{"n", n}});
    }
  }
}

TEST(WholeTiles, OfPipelinesKeepTheNumbers) {
  const KernelOptions options{.default_type = cgen::f32, .fixed_parameters = {{"n", 19}}};
  expect_same_everywhere(
      apply_recipe(product(options),
                   fmt::format("{}{}pipeline([a_fetch, b_fetch], k_outer, 3)", lanes, tiles)),
      product(options), {});
}

TEST(WholeTiles, OfVectorsAndSumsKeepTheNumbers) {
  const KernelOptions options{.default_type = cgen::f32};
  const Kernel plain = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}",
                                   "y[i, j] = if(i + j < n, x[i, j], -x[i, j]) + 1.0", options);
  const Kernel tiled =
      apply_recipe(plain,
                   "split_iname(i, 8, outer_tag=g.1, inner_tag=ilp)\n"
                   "split_iname(j, 32, outer_tag=g.0); split_iname(j_inner, 4, outer_tag=l.0)\n"
                   "tag_inames(j_inner_inner:vec)");
  EXPECT_GE(count_of("} else {", generate_text(tiled, Target::cuda)), 1);
  for (const int n : {5, 17}) {
    expect_same_everywhere(tiled, plain, {{"n", n}, {"m", 40}});
  }
}

// A sum in as many segments as its caller wants, each a block's.
TEST(WholeTiles, OfLoopsWhoseEndTheKernelComputes) {
  const Kernel plain =
      make_kernel("{[s]: 0 <= s < segments} {[r]: 0 <= r < count} {[c]: 0 <= c < segments}", R"(
      <i32> first = s*segment_packs {id=first}
      <i32> count = min(4*segment_packs, length - 4*first) {id=count, dep=first}
      <f64> parts[segments]
      parts[s] = sum(r, x[4*first + r]) {id=block, dep=count}
      ... last_block {id=all, dep=block}
      out[0] = sum(c, parts[c]) {dep=all}
  )",
                  {.arguments = "x: f64[length]; out: f64[1]; length, segments, segment_packs: i32",
                   .assumptions = "length >= 1 and segments >= 1 and segment_packs >= 1"});
  const Kernel sliced = apply_recipe(plain, R"(
      set_temporary_address_space([parts], global)
      tag_inames(s:g.0)
      split_iname(r, 512)
      split_iname(r_inner, 128, outer_tag=ilp)
      split_iname(r_inner_inner, 2, outer_tag=l.0, inner_tag=vec)
      split_iname(c, 64, inner_tag=l.0)
  )");
  const std::string text = generate_text(sliced, Target::cuda);
  EXPECT_NE(text.find("if (512 * r_outer + 2 * r_inner_inner_outer + 385 < count) {"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("*(const double2 *)&x[512 * r_outer + 4 * first + 2 * r_inner_inner_outer]"),
            std::string::npos)
      << text;
  for (const auto& [length, segments, packs] : {std::array{3, 1, 1}, {1530, 3, 128}}) {
    expect_same_everywhere(sliced, plain,
                           {{"length", length}, {"segments", segments}, {"segment_packs", packs}});
  }
}

// The end of a loop that the tile around it computes is not known before the tile.
TEST(WholeTiles, AskNothingOfEndsWithinThem) {
  const Kernel plain = make_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < length}",
      "<i32> length = lengths[i] {id=length}\ny[i] = sum(j, x[i, j]) {dep=length}",
      {.arguments = "x: f64[n, 40]; y: f64[n]; lengths: i32[n]", .assumptions = "n >= 1"});
  const Kernel tiled = apply_recipe(plain,
                                    "split_iname(i, 16, outer_tag=g.0)\n"
                                    "split_iname(j, 4, inner_tag=ilp)\n");
  CompareOptions compare;
  compare.values["lengths"] = {0, 1, 4, 40, 7, 8};
  for (const int n : {16, 6}) {
    expect_same_everywhere(tiled, plain, {{"n", n}}, compare);
  }
}

}  // namespace
}  // namespace rtcg::loopy
