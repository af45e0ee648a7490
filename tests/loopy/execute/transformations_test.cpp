// Transformations keep the numbers, on every target.
#include <array>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/chunk_iname.h"
#include "rtcg/loopy/transform/extract_subst.h"
#include "rtcg/loopy/transform/join_inames.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/prioritize_loops.h"
#include "rtcg/loopy/transform/rename_iname.h"
#include "rtcg/loopy/transform/split_array_axis.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/split_reduction.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

KernelOptions f32_transformation_options(std::string arguments = {}) {
  KernelOptions options;
  options.default_type = cgen::f32;
  options.arguments = std::move(arguments);
  return options;
}

TEST(Transformations, JoinedLoopsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j]: 0 <= i < n and 2 <= j < 10}", "out[i, j] = 2*a[i, j]",
                                   f32_transformation_options("a, out: f32[n, 10]"));
  Kernel joined = join_inames(plain, {"i", "j"});
  joined = split_iname(joined, "i_j", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  for (const int n : {1, 4, 7}) {
    expect_same_everywhere(joined, plain, {{"n", n}});
  }
}

TEST(Transformations, LoopsJoinedByParametersKeepTheNumbers) {
  KernelOptions options =
      f32_transformation_options("a: f32[n, m, p + 1]; out: f32[p, n, m]; b: f32[m]");
  options.assumptions = "m >= 1 and p >= 1";
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < m and 1 <= k <= p}",
                                   "out[k - 1, i, j] = 2*a[i, j, k] + b[j]", options);
  Kernel joined = join_inames(plain, {"i", "j", "k"}, {.name = "q"});
  joined = split_iname(joined, "q", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  for (const auto& [n, m, p] : {std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{13, 1, 2}}) {
    expect_same_everywhere(joined, plain, {{"n", n}, {"m", m}, {"p", p}});
  }
}

TEST(Transformations, LoopsJoinedByParametersMayUpdateInPlace) {
  KernelOptions options = f32_transformation_options("a: f32[n, m]");
  options.assumptions = "m >= 1";
  const Kernel plain =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "a[i, j] = 3*a[i, j] + j", options);
  Kernel joined = join_inames(plain, {"i", "j"}, {.name = "q"});
  joined = split_iname(joined, "q", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(joined, plain, {{"n", 9}, {"m", 7}});
}

TEST(Transformations, JoinedReductionsKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[i, x, y]: 0 <= i < n and 0 <= x < m and -1 <= y < 4}",
                  "out[i] = sum((x, y), a[i, x, y + 1]*y)", f32_transformation_options());
  Kernel joined = join_inames(plain, {"x", "y"}, {.name = "xy"});
  joined = split_iname(joined, "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(joined, plain, {{"n", 20}, {"m", 3}});
}

TEST(Transformations, ChunkedLoopsKeepTheNumbers) {
  for (const int length : {3, 20, 23}) {
    KernelOptions options = f32_transformation_options();
    options.fixed_parameters = {{"n", length}};
    const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", options);
    expect_same_everywhere(chunk_iname(plain, "i", 3, {.outer_tag = "g.0", .inner_tag = "l.0"}),
                           plain, {});
  }
}

TEST(Transformations, SplitReductionsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 6 and 0 <= k <= j}",
                                   "out[i] = sum((j, k), a[i, j, k])",
                                   f32_transformation_options("a: f32[n, 6, 6]"));
  for (const char* iname : {"j", "k"}) {
    for (Kernel split :
         {split_reduction_inward(plain, {iname}), split_reduction_outward(plain, {iname})}) {
      split = split_iname(split, "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
      expect_same_everywhere(split, plain, {{"n", 20}});
    }
  }
}

TEST(Transformations, RenamedAndUnitedLoopsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k, l]: 0 <= i, j, k, l < n}",
                                   "b[i] = sum(k, a[i, k])\nc[j] = b[j] + sum(l, a[l, j])",
                                   f32_transformation_options("a: f32[n, n]"));
  Kernel united = rename_iname(rename_iname(plain, "j", "i"), "l", "k");
  united = rename_iname(united, "i", "row");
  united = split_iname(united, "row", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(united, plain, {{"n", 20}});
}

TEST(Transformations, OrderedLoopsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "out[i, j, k] = a[k, j, i] + i",
                                   f32_transformation_options());
  expect_same_everywhere(prioritize_loops(plain, {"k", "i", "j"}), plain, {{"n", 6}});
}

TEST(Transformations, PrivatizedTemporariesKeepTheNumbers) {
  const Kernel plain =
      make_kernel("{[p, i]: 0 <= p < n and 2 <= i < 10}", "<f32> t = a[p, i]\nb[p, i] = t*t + 1",
                  f32_transformation_options("a, b: f32[n, 10]"));
  Kernel changed = privatize_temporaries(plain, {"i"});
  changed = split_iname(changed, "p", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  expect_same_everywhere(changed, plain, {{"n", 20}});
  expect_same_everywhere(tag_inames(changed, "i:unr"), plain, {{"n", 20}});
  // one element for each thread of a block, in shared memory
  Kernel shared = privatize_temporaries(plain, {"i"});
  shared = set_temporary_address_space(shared, {"t"}, "local");
  shared = tag_inames(shared, "p:g.0, i:l.0");
  expect_same_everywhere(shared, plain, {{"n", 5}});
}

Kernel transposition() {
  return make_kernel("{[i, j]: 0 <= i, j < 40}", "b[i, j] = a[j, i]", f32_transformation_options());
}
Kernel tiled_transposition() {
  Kernel tiled = split_iname(transposition(), "i", 16, {.outer_tag = "g.0", .inner_tag = "l.1"});
  tiled = split_iname(tiled, "j", 16, {.outer_tag = "g.1", .inner_tag = "l.0"});
  return add_prefetch(tiled, "a", {"i_inner", "j_inner"});
}

TEST(Transformations, ChangedLayoutsOfTemporariesKeepTheNumbers) {
  const Kernel tiled = tiled_transposition();
  expect_same_everywhere(add_padding(tiled, "a_fetch", 0, 1), transposition(), {});
  expect_same_everywhere(tag_array_axes(tiled, {"a_fetch"}, "F"), transposition(), {});
  expect_same_everywhere(tag_array_axes(tiled, {"a_fetch"}, "stride:20,stride:1"), transposition(),
                         {});
  expect_same_everywhere(split_array_axis(tiled, "a_fetch", 1, 4), transposition(), {});
}

TEST(Transformations, FillsOfRulesWithOuterInamesKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < 8}",
                                   "f(x) := a[x, j]*c[j]\nout[i, j] = sum(k, f(k))*b[i]",
                                   f32_transformation_options());
  Kernel filled = split_iname(plain, "j", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  filled = precompute(filled, "f", {"k"});
  expect_same_everywhere(filled, plain, {{"n", 20}});
}

TEST(Transformations, FillsOfRulesWithinReductionsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 5 and 0 <= k < 8}",
                                   "f(x) := a[x]*c[j]\nout[i] = sum((j, k), f(k))*b[i]",
                                   f32_transformation_options());
  Kernel filled = split_iname(plain, "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  filled = precompute(filled, "f", {"k"});
  expect_same_everywhere(filled, plain, {{"n", 20}});
}

TEST(Transformations, FillsFromOtherFillsKeepTheNumbers) {
  const Kernel plain = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                   "f(x) := a[x]*2\nout[i] = sum(k, f(k))*b[i]",
                                   f32_transformation_options("a: f32[m + 3]"));
  Kernel filled = split_iname(plain, "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  filled = precompute(split_iname(filled, "k", 4), "f", {"k_inner"});
  filled = extract_subst(filled, "g", "f_store[y]", {"y"});
  filled = precompute(filled, "g", {"k_inner"});
  expect_same_everywhere(filled, plain, {{"n", 20}, {"m", 10}});
}

TEST(Transformations, FetchesOfWhatChangesKeepTheNumbers) {
  const Kernel plain = make_kernel("{[t, i, j]: 0 <= t < 3 and 0 <= i, j < 8}", R"(
      for t
        out[t, i] = sum(j, a[j])*i
        a[0] = 0.5*out[t, 3]
      end
  )",
                                   f32_transformation_options("a: f32[8]"));
  expect_same_everywhere(add_prefetch(plain, "a", {"j"}), plain, {});
}

}  // namespace
}  // namespace rtcg::loopy
