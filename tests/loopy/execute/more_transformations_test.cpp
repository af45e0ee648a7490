// Peeled loops, loops made one, values kept between launches, tables: the numbers of the kernel as
// described, on every back end.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_einsum.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

void expect_same(const Kernel& kernel, const char* recipe, const IntegerValues& parameters) {
  SCOPED_TRACE(recipe);
  expect_same_everywhere(apply_recipe(kernel, recipe), kernel, parameters);
}

TEST(MoreTransformations, PeelLoopsOnEveryBackEnd) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*b[i] + a[i]",
                                    {.arguments = "a, b: f64[n]; n: i32", .assumptions = "n >= 1"});
  for (const std::int64_t n : {1, 15, 16, 17, 100}) {
    expect_same(kernel, "split_iname(i, 16, slabs=0:1, inner_tag=unr)", {{"n", n}});
    expect_same(kernel, "split_iname(i, 16, slabs=1:1, outer_tag=g.0, inner_tag=l.0)", {{"n", n}});
  }
  expect_same(kernel, "split_iname(i, 16)\nseparate_loop_head_tail_slab(i_outer, 2, 1)",
              {{"n", 70}});
}

TEST(MoreTransformations, MultiplyMatricesWithAPeeledReduction) {
  const Kernel kernel =
      make_einsum("ik,kj->ij", {"a", "b"},
                  {.default_type = cgen::f64, .assumptions = "Ni >= 1 and Nj >= 1 and Nk >= 1"});
  expect_same(kernel,
              "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0, slabs=0:1)\n"
              "split_iname(j, 8)",
              {{"Ni", 19}, {"Nj", 11}, {"Nk", 9}});
}

TEST(MoreTransformations, MakeOneLoopOfSeveral) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n} {[k]: 0 <= k < n}",
                  "b[i] = 2*a[i]\nc[j] = b[j] + 1\nd[k] = b[k + 1]",
                  {.arguments = "a, c, d: f64[n]; b: f64[n + 1]; n: i32", .assumptions = "n >= 1"});
  expect_same(kernel, "fuse_loops()", {{"n", 33}});
  expect_same(kernel, "rename_inames([i, j], one)", {{"n", 33}});
}

TEST(MoreTransformations, KeepValuesForTheNextLaunch) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}",
                  "<> t = 3*a[i] {inames=i}\n... gbarrier\n"
                  "b[n - 1 - i] = t {inames=i}",
                  {.arguments = "a, b: f64[n]; n: i32", .assumptions = "n >= 1 and n mod 16 = 0"});
  const Kernel plain =
      make_kernel("{[i]: 0 <= i < n}", "b[n - 1 - i] = 3*a[i]",
                  {.arguments = "a, b: f64[n]; n: i32", .assumptions = "n >= 1 and n mod 16 = 0"});
  expect_same_everywhere(
      apply_recipe(
          kernel,
          "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\nsave_and_reload_temporaries()"),
      plain, {{"n", 64}});
}

TEST(MoreTransformations, ReadTables) {
  const Kernel with_table =
      make_kernel("{[i]: 0 <= i < n} {[k]: 0 <= k < 3}",
                  "<f64> w[3] = table(0.25, 0.5, 1)\nout[i] = sum(k, w[k]*a[i + k])",
                  {.arguments = "a: f64[n + 2]; out: f64[n]; n: i32", .assumptions = "n >= 1"});
  const Kernel plain =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = 0.25*a[i] + 0.5*a[i + 1] + a[i + 2]",
                  {.arguments = "a: f64[n + 2]; out: f64[n]; n: i32", .assumptions = "n >= 1"});
  expect_same_everywhere(with_table, plain, {{"n", 20}});
  expect_same_everywhere(
      apply_recipe(with_table, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"), plain,
      {{"n", 20}});
}

TEST(Attack03, CopiesOfOuterLoopsKnowTheirLanes) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i] {id=one}\nc[i] = 3*a[i]",
                                    {.default_type = cgen::f32});
  for (const char* tag : {"ilp.seq", "ilp", "vec"}) {
    SCOPED_TRACE(tag);
    const std::string split = std::string("split_iname(i, 7, inner_tag=") + tag + ")\n";
    for (const char* then :
         {"duplicate_inames(i_outer)", "duplicate_inames(i_outer, within=id:one)",
          "duplicate_inames([i_outer, i_inner])", "duplicate_inames(i_inner, within=id:one)"}) {
      SCOPED_TRACE(then);
      expect_same_everywhere(apply_recipe(kernel, split + then), kernel, {{"n", 30}});
    }
  }
}

TEST(Attack03, ReductionsOverAutomaticAxesAreDeclared) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 12}",
                                    "b[i] = sum(k, a[i, k]) + max(reduce(max, k, a[i, k]), 0)",
                                    {.default_type = cgen::f32});
  for (const char* recipe :
       {"tag_inames(k:l.auto)", "tag_inames(k:l.auto, i:g.0)",
        "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\ntag_inames(k:l.auto)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 21}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
