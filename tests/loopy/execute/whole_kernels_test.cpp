// Fused, batched, buffered, aliased and mapped kernels keep the numbers, on every target.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/alias_temporaries.h"
#include "rtcg/loopy/transform/buffer_array.h"
#include "rtcg/loopy/transform/edit_instructions.h"
#include "rtcg/loopy/transform/fuse_kernels.h"
#include "rtcg/loopy/transform/inline_kernel.h"
#include "rtcg/loopy/transform/map_domain.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/rename_iname.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/swizzle.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "rtcg/loopy/transform/tile.h"
#include "rtcg/loopy/transform/to_batched.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

KernelOptions f32_whole_options(std::string arguments = {}) {
  KernelOptions options;
  options.default_type = cgen::f32;
  options.arguments = std::move(arguments);
  return options;
}

TEST(WholeKernels, FusedKernelsKeepTheNumbers) {
  const Kernel first =
      make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = t*t", f32_whole_options());
  const Kernel second =
      make_kernel("{[i]: 0 <= i < n}", "<> t = b[i] + 1\nc[i] = t*a[i]", f32_whole_options());
  const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]*a[i]\nc[i] = (b[i] + 1)*a[i]",
                                   f32_whole_options());
  Kernel fused = rename_iname(fuse_kernels(first, second), "i_b", "i");
  fused = split_iname(fused, "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(fused, plain, {{"n", 37}});
}

TEST(WholeKernels, FusedKernelsMeetAtAGlobalBarrier) {
  const Kernel first =
      split_iname(make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", f32_whole_options()), "i", 16,
                  {.outer_tag = "g.0", .inner_tag = "l.0"});
  const Kernel second = split_iname(
      make_kernel("{[i]: 0 <= i < n}", "c[i] = b[n - 1 - i]", f32_whole_options("b: f32[n]")), "i",
      8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  const Kernel plain = make_kernel("{[i, j]: 0 <= i, j < n}", "b[i] = 2*a[i]\nc[j] = b[n - 1 - j]",
                                   f32_whole_options());
  const Kernel fused = add_barrier(fuse_kernels(first, second), "id:set_b", "id:set_c");
  expect_same_everywhere(fused, plain, {{"n", 37}});
}

TEST(WholeKernels, BatchesKeepTheNumbers) {
  const Kernel one = make_kernel("{[i, k]: 0 <= i, k < n}", "b[i] = s*sum(k, m[i, k]*a[k])",
                                 f32_whole_options("m: f32[n, n]"));
  const Kernel plain =
      make_kernel("{[p, i, k]: 0 <= i, k < n and 0 <= p < q}",
                  "b[p, i] = s[p]*sum(k, m[i, k]*a[p, k])", f32_whole_options("m: f32[n, n]"));
  Kernel batched = to_batched(one, {"a", "b", "s"}, {.iname = "p", .count = "q", .tag = "g.1"});
  batched = split_iname(batched, "i", 8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(batched, plain, {{"n", 13}, {"q", 3}});
}

TEST(WholeKernels, BuffersKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
                  "c[i, j] = c[i, j] + a[i, k]*b[k, j]", f32_whole_options("c: f32[n, n]"));
  Kernel tiled = split_iname(plain, "i", 8, {.outer_tag = "g.1", .inner_tag = "l.1"});
  tiled = split_iname(tiled, "j", 16, {.outer_tag = "g.0"});
  tiled = split_iname(tiled, "j_inner", 8, {.outer_name = "j_lane", .inner_tag = "l.0"});
  expect_same_everywhere(buffer_array(tiled, "c", {"j_lane"}), plain, {{"n", 19}, {"m", 5}});
  expect_same_everywhere(buffer_array(tag_inames(tiled, "j_lane:ilp"), "c"), plain,
                         {{"n", 19}, {"m", 5}});
  // a buffer that the threads share
  const Kernel shared =
      buffer_array(tag_inames(tiled, "j_lane:unr"), "c", {"i_inner", "j_inner_inner", "j_lane"});
  expect_same_everywhere(shared, plain, {{"n", 19}, {"m", 5}});
}

TEST(WholeKernels, SharedStorageKeepsTheNumbers) {
  const Kernel plain = make_kernel("{[p, i, j]: 0 <= p < n and 0 <= i, j < 32}", R"(
      b[p, i] = a[p, 31 - i]
      c[p, j] = 2*b[p, (j + 5) % 32]
  )",
                                   f32_whole_options("a, b, c: f32[n, 32]"));
  Kernel staged = make_kernel("{[p, i, j, k, l]: 0 <= p < n and 0 <= i, j, k, l < 32}", R"(
      <f32> s[32]
      <f32> t[32]
      s[i] = a[p, i]
      b[p, j] = s[31 - j]
      t[k] = 2*a[p, k]
      c[p, l] = t[31 - (l + 5) % 32]
  )",
                              f32_whole_options("a, b, c: f32[n, 32]"));
  staged = set_temporary_address_space(staged, {"s", "t"}, "local");
  staged = tag_inames(staged, "p:g.0, i:l.0, j:l.0, k:l.0, l:l.0");
  expect_same_everywhere(staged, plain, {{"n", 5}});
  const Kernel aliased = alias_temporaries(staged, {"s", "t"});
  EXPECT_EQ(count_of("__syncthreads", generate_text(aliased, Target::cuda)), 3);
  expect_same_everywhere(aliased, plain, {{"n", 5}});
}

TEST(WholeKernels, MappedLoopsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[i + j] + i",
                                   f32_whole_options());
  Kernel skewed = map_domain(plain, {{"d", "i + j"}, {"e", "j"}});
  expect_same_everywhere(skewed, plain, {{"n", 9}, {"m", 5}});
  skewed = split_iname(skewed, "d", 4, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(skewed, plain, {{"n", 9}, {"m", 5}});
  // a wavefront: all points of a diagonal at once
  const Kernel front =
      make_kernel("{[i, j]: 1 <= i, j < n}", "b[i, j] = 0.5*(b[i - 1, j] + b[i, j - 1])",
                  f32_whole_options("b: f32[n, n]"));
  expect_same_everywhere(map_domain(front, {{"d", "i + j"}, {"e", "j"}}), front, {{"n", 9}});
}

TEST(WholeKernels, SwizzledBlocksKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i < n and 2 <= j < m and 0 <= k < l}",
                                   "c[i, j] = sum(k, a[i, k]*b[k, j])", f32_whole_options());
  const Kernel tiled = tile(plain, {{"i", 4}, {"j", 4}}, {.reductions = {{"k", 4}}});
  for (const int rows : {1, 3, 100}) {
    expect_same_everywhere(swizzle(tiled, rows), plain, {{"n", 19}, {"m", 15}, {"l", 3}});
  }
}

TEST(WholeKernels, InlinedKernelsKeepTheNumbers) {
  const Kernel row = make_kernel("{[k]: 0 <= k < m} {[l]: 0 <= l < m}",
                                 "<> largest = reduce(max, l, x[l])\ny[k] = s*x[k] - largest",
                                 f32_whole_options("x, y: f32[m]"));
  const Kernel rows = make_kernel("{[i]: 0 <= i < n}", "<> t = c[i]\n... nop {id=call, inames=i}",
                                  f32_whole_options("a, b: f32[n, 12]; c: f32[n]"));
  const Kernel plain = make_kernel("{[i, k, l]: 0 <= i < n and 0 <= k, l < 12}",
                                   "b[i, k] = c[i]*a[i, k] - reduce(max, l, a[i, l])",
                                   f32_whole_options("a: f32[n, 12]"));
  Kernel inlined = inline_kernel(rows, row, "call",
                                 {{"x", "a[i, _0]"}, {"y", "b[i, _0]"}, {"s", "t"}, {"m", "12"}});
  inlined = split_iname(inlined, "i", 8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(inlined, plain, {{"n", 13}});
}

TEST(WholeKernels, CTextKeepsTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 4}", "b[i] = 0.5f*a[i, 2] + sum(k, a[i, k])",
                  f32_whole_options("a: f32[n, 4]"));
  Kernel with_text = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 4}", R"(
      <f32> t = 0 {inames=i}
      ... c "${t} = 0.5f*${a[i, 2]};" {writes=t}
      <> s = sum(k, a[i, k])
      ... c "if (${s} < 0) { ${b[i]} = ${t} + ${s}; }\nelse { ${b[i]} = ${s} + ${t}; }" {writes=b}
  )",
                                 f32_whole_options("a: f32[n, 4]; b: f32[n]"));
  expect_same_everywhere(with_text, plain, {{"n", 21}});
  with_text = split_iname(with_text, "i", 16, {.outer_tag = "g.0"});
  with_text = split_iname(with_text, "i_inner", 2, {.outer_tag = "l.0", .inner_tag = "ilp"});
  expect_same_everywhere(with_text, plain, {{"n", 21}});
  with_text = add_prefetch(with_text, "a", {"i_inner_outer", "i_inner_inner", "k"});
  expect_same_everywhere(with_text, plain, {{"n", 21}});
}

}  // namespace
}  // namespace rtcg::loopy
