// Tiles that do not divide the loops: two versions, one for those that do.
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

}  // namespace
}  // namespace rtcg::loopy
