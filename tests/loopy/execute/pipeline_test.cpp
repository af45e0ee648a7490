// Copies that run ahead of their loop keep the numbers, on every target.
#include "rtcg/loopy/transform/pipeline.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel matmul(const cgen::Type& type) {
  return make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
                     "c[i, j] = sum(k, a[i, k]*b[k, j])", {.name = "matmul", .default_type = type});
}

Kernel tiled_matmul(const cgen::Type& type) {
  return apply_recipe(matmul(type),
                      "split_iname(i, 16, outer_tag=g.1)\n"
                      "split_iname(i_inner, 2, outer_tag=l.1, inner_tag=ilp)\n"
                      "split_iname(j, 16, outer_tag=g.0)\n"
                      "split_iname(j_inner, 2, outer_tag=l.0, inner_tag=ilp)\n"
                      "split_iname(k, 4)\n"
                      "add_prefetch(a, [k_inner, i_inner_inner, i_inner_outer])\n"
                      "add_prefetch(b, [j_inner_inner, j_inner_outer, k_inner])\n"
                      "tag_array_axes([a_fetch], F)\n"
                      "add_padding(a_fetch, 1, 4)");
}

TEST(Pipeline, KeepsTheNumbersOfAMatrixProduct) {
  const Kernel plain = matmul(cgen::f32);
  for (const int stages : {2, 4}) {
    const Kernel piped =
        pipeline(tiled_matmul(cgen::f32), {"a_fetch", "b_fetch"}, "k_outer", stages);
    // fewer iterations than stages, as many, more, and none
    for (const int m : {1, 9, 33, 0}) {
      expect_same_everywhere(piped, plain, {{"n", 21}, {"m", m}});
    }
  }
}

TEST(Pipeline, KeepsTheNumbersInDoublePrecision) {
  const Kernel piped = pipeline(tiled_matmul(cgen::f64), {"b_fetch"}, "k_outer", 2);
  expect_same_everywhere(piped, matmul(cgen::f64), {{"n", 16}, {"m", 16}});
}

TEST(Pipeline, KeepsTheNumbersOfARunningWindow) {
  const Kernel plain = make_kernel("{[i, k, w]: 0 <= i < n and 2 <= k < m and 0 <= w < 3}",
                                   "out[k, i] = sum(w, a[k - w, i])", {.default_type = cgen::f32});
  const Kernel fetched = apply_recipe(plain,
                                      "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                                      "add_prefetch(a, [w, i_inner], default_tag=l.auto)");
  expect_same_everywhere(pipeline(fetched, {"a_fetch"}, "k", 3), plain, {{"n", 40}, {"m", 11}});
}

}  // namespace
}  // namespace rtcg::loopy
