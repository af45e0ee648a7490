#include "rtcg/loopy/transform/separate_loop_head_tail_slab.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel doubled() {
  return make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]",
                     {.default_type = cgen::f32, .assumptions = "n >= 1"});
}

TEST(SeparateLoopHeadTailSlab, GivesTheLastPieceCodeOfItsOwn) {
  const Kernel split = split_iname(doubled(), "i", 16);
  const Kernel apart = separate_loop_head_tail_slab(split, "i_outer", 0, 1);
  EXPECT_EQ(statements_of(apart),
            "b[16*i_outer + i_inner] = 2*a[16*i_outer + i_inner]\n"
            "b[16*i_outer_tail + i_inner_tail] = 2*a[16*i_outer_tail + i_inner_tail]\n");
  for (const std::int64_t n : {1, 15, 16, 17, 100}) {
    expect_same_results(doubled(), apart, {{"n", n}});
  }
  expect_recipe(doubled(), apart,
                "split_iname(i, 16)\nseparate_loop_head_tail_slab(i_outer, 0, 1)\n");
  // whole pieces need no test
  EXPECT_TRUE(constraints_of(apart, {"i_outer", "i_inner"})
                  .implies_nonnegative(Affine("n") - Affine("i_outer", 16) - 16));
}

TEST(SeparateLoopHeadTailSlab, DoesNothingTwice) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 20}", "a[i] = 2*a[i] + i", {.arguments = "a: f64[20]"});
  for (const char* recipe :
       {"split_iname(i, 4, slabs=0:1)", "split_iname(i, 4, slabs=1:1, inner_tag=unr)",
        "split_iname(i, 3, slabs=2:2)", "split_iname(i, 32, slabs=1:1)"}) {
    const Kernel apart = apply_recipe(kernel, recipe);
    expect_same_results(kernel, apart, {});
    expect_recipe(kernel, apart,
                  std::string(recipe) == "split_iname(i, 4, slabs=1:1, inner_tag=unr)"
                      ? "split_iname(i, 4, inner_tag=unr, slabs=1:1)\n"
                      : std::string(recipe) + "\n");
  }
}

TEST(SeparateLoopHeadTailSlab, TakesTheLoopsWithinAlong) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel split = split_iname(split_iname(kernel, "i", 4), "j", 4);
  const Kernel apart = separate_loop_head_tail_slab(split, "i_outer", 1, 1);
  EXPECT_EQ(apart.instructions.size(), 3U);
  expect_same_results(kernel, apart, {{"n", 3}});
  expect_same_results(kernel, apart, {{"n", 10}});
}

TEST(SeparateLoopHeadTailSlab, CopiesNothingOnAxes) {
  const SplitOptions options{.outer_tag = "g.0", .inner_tag = "l.0", .tail_slabs = 1};
  const Kernel kernel = split_iname(doubled(), "i", 16, options);
  EXPECT_EQ(kernel.instructions.size(), 1U);
  EXPECT_TRUE(kernel.instructions.front().predicates.empty());
  expect_same_results(doubled(), kernel, {{"n", 40}});
}

TEST(SeparateLoopHeadTailSlab, CombinesReductions) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < 3 and 0 <= k < n}",
                  "f(x) := sum(k, a[k]*x)\nb[i] = f(i)\nc[i] = reduce(max, k, a[k])",
                  {.default_type = cgen::f64, .assumptions = "n >= 1"});
  for (const char* recipe : {"split_iname(k, 4, slabs=0:1)", "split_iname(k, 4, slabs=1:1)",
                             "split_iname(k, 16, slabs=1:0)"}) {
    const Kernel apart = apply_recipe(kernel, recipe);
    EXPECT_EQ(apart.instructions.size(), 2U);
    for (const std::int64_t n : {1, 3, 8, 18}) {
      expect_same_results(kernel, apart, {{"n", n}});
    }
  }
  const Kernel tail = apply_recipe(kernel, "split_iname(k, 4, slabs=0:1)");
  EXPECT_EQ(to_string(get_if<Assignment>(tail.instructions.back())->value),
            "max(reduce(max, (k_outer, k_inner), a[4*k_outer + k_inner]), reduce(max, "
            "(k_outer_tail, k_inner_tail), a[4*k_outer_tail + k_inner_tail]))");
}

TEST(SeparateLoopHeadTailSlab, PrecedesAPrefetch) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i, k < n}", "c[i] = sum(k, a[i, k]*b[k])",
                                    {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel apart = apply_recipe(kernel,
                                    "split_iname(k, 4, slabs=0:1)\n"
                                    "add_prefetch(b, [k_inner])\nadd_prefetch(b, [k_inner_tail])");
  ASSERT_EQ(apart.instructions.size(), 3U);
  EXPECT_EQ(apart.instructions[2].depends_on, (NameSet{"fill_b_fetch", "fill_b_fetch_1"}));
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.torn_apart",
               apply_recipe(kernel,
                            "split_iname(k, 4)\nadd_prefetch(b, [k_inner])\n"
                            "separate_loop_head_tail_slab(k_outer, 0, 1)"));
}

TEST(SeparateLoopHeadTailSlab, RefusesWhatItCannotSeparate) {
  const Kernel split = split_iname(doubled(), "i", 16);
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.unknown_iname",
               separate_loop_head_tail_slab(split, "q", 0, 1));
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.bad_count",
               separate_loop_head_tail_slab(split, "i_outer", 0, 0));
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.bad_count",
               separate_loop_head_tail_slab(split, "i_outer", -1, 1));
  const Kernel place = make_kernel("{[k]: 0 <= k < n}", "m[0], p[0] = argmax(k, a[k], k)",
                                   {.arguments = "a: f32[n]; m: f32[1]; p: i32[1]"});
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.reduced",
               separate_loop_head_tail_slab(place, "k", 0, 1));
  const Kernel both = make_kernel("{[i]: 0 <= i < n and i < m}", "b[i] = 2*a[i]",
                                  {.arguments = "a, b: f32[n]; n, m: i32"});
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.several_bounds",
               separate_loop_head_tail_slab(both, "i", 0, 1));
  EXPECT_EQ(why_not([&] { return separate_loop_head_tail_slab(both, "i", 1, 0); }), std::nullopt);
  const Kernel triangle =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "b[i, j] = 1\nc[j] = 2 {inames=j}",
                  {.arguments = "b: f32[n, n]; c: f32[n]; n: i32"});
  EXPECT_ERROR("loopy.separate_loop_head_tail_slab.torn_apart",
               separate_loop_head_tail_slab(triangle, "i", 0, 1));
}

TEST(SplitIname, SplitsForSomeStatements) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i] {id=first}\nc[i] = 3*a[i] {id=second}",
                  {.default_type = cgen::f32});
  const Kernel split = split_iname(kernel, "i", 4, {.inner_tag = "unr", .within = "id:second"});
  EXPECT_EQ(statements_of(split),
            "b[i] = 2*a[i]\nc[4*i_outer + i_inner] = 3*a[4*i_outer + i_inner]\n");
  expect_same_results(kernel, split, {{"n", 7}});
  expect_recipe(kernel, split, "split_iname(i, 4, inner_tag=unr, within=id:second)\n");
  EXPECT_NE(why_not([&] { return split_iname(kernel, "i", 4, {.within = "id:"}); }), std::nullopt);
}

TEST(SplitIname, RefusesSlabsThatAreNone) {
  EXPECT_ERROR("loopy.apply_recipe.bad_arguments",
               apply_recipe(doubled(), "split_iname(i, 4, slabs=1)"));
}

}  // namespace
}  // namespace rtcg::loopy
