// Scans along an axis of the grid, in three launches.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/scan_over_grid.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel grid_scans(std::string_view domains, std::string_view statements,
                  const std::string& arguments) {
  return make_kernel(
      domains, statements,
      {.arguments = arguments,
       .assumptions = arguments.find("n: i32") == std::string::npos ? "" : "n >= 1"});
}

constexpr const char* in_blocks_of_8 = "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n";

TEST(GridScans, GiveWhatTheLoopGives) {
  const Kernel kernel = grid_scans(
      "{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < i}",
      "s[i] = scan(sum, j, a[j])\ng[i] = 2*scan(sum, k, a[k]*a[k]) + 1\nm[i] = scan(max, j, a[j])",
      "a, s, g, m: i64[n]; n: i32");
  const Kernel sliced = apply_recipe(kernel, in_blocks_of_8);
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 3U);
  for (const int n : {1, 8, 9, 41}) {
    expect_same_everywhere(sliced, kernel, {{"n", n}});
  }
}

TEST(GridScans, HaveFewerBlocksThanOneIterationOfTheSecondLaunchScans) {
  const Kernel kernel = grid_scans("{[i, j]: 0 <= i < 301 and 0 <= j <= i}",
                                   "s[i] = scan(sum, j, a[j])", "a, s: i32[301]");
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 4, outer_tag=g.0, inner_tag=l.0)\n"),
                         kernel, {});
}

TEST(GridScans, GoAlongLoopsWithinBlocksAndRows) {
  const Kernel kernel = grid_scans("{[r, i, j]: 0 <= r < 3 and 0 <= i < n and 0 <= j <= i}",
                                   "s[r, i] = scan(sum, j, a[r, j])", "a, s: f64[3, n]; n: i32");
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(i, 12, outer_tag=g.0)\n"
                                      "split_iname(i_inner, 4, inner_tag=l.0)\n"
                                      "tag_inames(r:g.1)\n"
                                      "scan_over_grid(i_outer, threads=4)"),
                         kernel, {{"n", 70}});
  // a block for each element, and blocks without threads
  const Kernel row = grid_scans("{[i, j]: 0 <= i < n and 0 <= j <= i}",
                                "s[i] = scan(product, j, 1 + a[j])", "a, s: f64[n]; n: i32");
  expect_same_everywhere(apply_recipe(row, "tag_inames(i:g.0)"), row, {{"n", 20}});
  expect_same_everywhere(apply_recipe(row, "split_iname(i, 5, outer_tag=g.0)"), row, {{"n", 23}});
}

// three of one's own: places of maxima, segments, and lines of affine maps
TEST(GridScans, TakeTuplesAndRules) {
  const Kernel places =
      grid_scans("{[i, j]: 0 <= i < n and 0 <= j <= i}", "v[i], p[i] = scan(argmax, j, a[j], j)",
                 "a, v: f64[n]; p: i32[n]; n: i32");
  expect_same_everywhere(apply_recipe(places, in_blocks_of_8), places, {{"n", 29}});
  // a flag begins a segment
  const Kernel segments = grid_scans(
      "{[i, j]: 0 <= i < n and 0 <= j <= i}",
      "joined(a, f, b, g) := make_tuple(b if g > 0 else a + b, max(f, g))  {neutral=0:0}\n"
      "s[i], t[i] = scan(joined, j, a[j], flag[j] // 7)",
      "a, s: f64[n]; t, flag: i32[n]; n: i32");
  expect_same_everywhere(apply_recipe(segments, in_blocks_of_8), segments, {{"n", 53}});
  const Kernel maps = grid_scans("{[i, j]: 0 <= i < n and 0 <= j <= i}",
                                 "after(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n"
                                 "u[i], v[i] = scan(after, j, a[j], b[j])",
                                 "a, b, u, v: f64[n]; n: i32");
  expect_same_everywhere(apply_recipe(maps, in_blocks_of_8), maps, {{"n", 30}});
}

/// Of 32 threads with `items` elements each, that look back.
Kernel looking_back(const Kernel& kernel, int items, const std::string& tag = "unr") {
  const std::string recipe = items == 1 ? "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                                        : "split_iname(i, " + std::to_string(32 * items) +
                                              ", outer_tag=g.0)\n" + "split_iname(i_inner, " +
                                              std::to_string(items) +
                                              ", outer_tag=l.0, inner_tag=" + tag + ")\n";
  return apply_recipe(kernel, recipe + "scan_over_grid(i_outer, how=look_back)");
}

constexpr const char* running = "{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < i}";

TEST(GridScansThatLookBack, AreOneLaunchOnCudaAndThreeElsewhere) {
  const Kernel kernel = looking_back(
      grid_scans(running, "s[i] = scan(sum, j, a[j])", "a, s: i32[n]; n: i32"), 4, "vec");
  const GeneratedProgram program = generate(kernel, Target::cuda);
  EXPECT_EQ(program.launches.size(), 1U);
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_EQ(count_of("atomicAdd(&look_back_state[0], 1ull)", text), 1) << text;
  EXPECT_EQ(count_of("blockIdx", text), 0) << text;
  EXPECT_EQ(count_of("__launch_bounds__(32, 16)", text), 1) << text;  // of few registers
  EXPECT_EQ(generate(kernel, Target::opencl).launches.size(), 3U);
  EXPECT_EQ(generate(kernel, Target::host).launches.size(), 3U);
  // a tag that comes later decides again
  EXPECT_EQ(generate(apply_recipe(kernel,
                                  "untag_inames(i_inner_outer)\n"
                                  "tag_inames(i_inner_outer:l.1)"),
                     Target::cuda)
                .launches.size(),
            3U);
}

TEST(GridScansThatLookBack, GiveWhatTheLoopGives) {
  const Kernel kernel =
      grid_scans(running,
                 "s[i] = scan(sum, j, a[j])\n"
                 "g[i] = 2*scan(sum, k, a[k]*a[k]) + 1\nm[i] = scan(max, j, a[j])",
                 "a, s, g, m: i64[n]; n: i32");
  for (const int n : {1, 31, 37, 1500}) {
    expect_same_everywhere(looking_back(kernel, n < 1000 ? 1 : 4, "vec"), kernel, {{"n", n}});
  }
  const Kernel words = grid_scans(running, "s[i] = scan(product, j, a[j])", "a, s: u8[n]; n: i32");
  expect_same_everywhere(looking_back(words, 2), words, {{"n", 700}});
}

TEST(GridScansThatLookBack, TakeTuplesRulesAndRows) {
  const Kernel places = grid_scans(running, "v[i], p[i] = scan(argmax, j, a[j], j)",
                                   "a, v: f64[n]; p: i32[n]; n: i32");
  expect_same_everywhere(looking_back(places, 2), places, {{"n", 500}});
  // products of matrices do not commute: the order is kept
  const Kernel maps = grid_scans(running,
                                 "after(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n"
                                 "u[i], v[i] = scan(after, j, a[j], b[j])",
                                 "a, b, u, v: i32[n]; n: i32");
  expect_same_everywhere(looking_back(maps, 1), maps, {{"n", 1500}});
  const Kernel rows = grid_scans(
      "{[r, q, i, j]: 0 <= r < 3 and 0 <= q < 2 and 0 <= i < n and "
      "0 <= j <= i}",
      "s[r, q, i] = scan(sum, j, a[q, r, j])", "a: i32[2, 3, n]; s: i32[3, 2, n]; n: i32");
  expect_same_everywhere(looking_back(apply_recipe(rows, "tag_inames(r:g.1, q:g.2)"), 2), rows,
                         {{"n", 300}});
}

// 1024 blocks are a group of groups
TEST(GridScansThatLookBack, PassOnWhatManyBlocksHave) {
  const Kernel maps = grid_scans(running,
                                 "after(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n"
                                 "u[i], v[i] = scan(after, j, a[j], b[j])",
                                 "a, b, u, v: i32[n]; n: i32");
  constexpr int block = 32;
  expect_same_everywhere(looking_back(maps, 1), maps, {{"n", 1057 * block + 3}});
}

/// Blocks of 64 that add up their elements, for a scan of the elements before each block.
Kernel blocks_with_totals() {
  return apply_recipe(
      grid_scans("{[b, t]: 0 <= b and 0 <= t < 64 and 64*b + t < n} {[u]: 0 <= u < 64 and "
                 "64*b + u < n} {[j]: 0 <= j < 64*b}",
                 "<i64> own = sum(u, a[64*b + u]) {id=own, inames=b}\n"
                 "<i64> before = scan(sum, j, a[j]) {id=before, inames=b, dep=own}\n"
                 "s[64*b + t] = a[64*b + t]*(before - own) {dep=before}",
                 "a, s: i64[n]; n: i32"),
      "tag_inames(b:g.0, t:l.0, u:l.0)\n");
}

TEST(GridScansThatLookBack, TakeWhatTheKernelHasComputed) {
  const Kernel kernel = blocks_with_totals();
  const Kernel looking = apply_recipe(kernel, "scan_over_grid(b, how=look_back, totals=[own])\n");
  EXPECT_EQ(generate(looking, Target::cuda).launches.size(), 1U);
  EXPECT_EQ(generate(looking, Target::opencl).launches.size(), 3U);
  // elements are read for the block's sum and for the result
  const std::string text = generate_text(looking, Target::cuda);
  EXPECT_EQ(count_of("a[", text), 2) << text;
  for (const int n : {1, 65, 2500}) {
    expect_same_everywhere(looking, kernel, {{"n", n}});
  }
}

TEST(GridScansThatLookBack, RefuseTotalsOfOtherScans) {
  const Kernel kernel = blocks_with_totals();
  const auto with = [&](const Kernel& which, const char* totals) {
    return apply_recipe(which,
                        std::string("scan_over_grid(b, how=look_back, totals=[") + totals + "])\n");
  };
  EXPECT_ERROR("loopy.scan_over_grid.totals", with(kernel, "other"));
  EXPECT_ERROR("loopy.scan_over_grid.totals", with(kernel, "own, own"));
  EXPECT_ERROR("loopy.scan_over_grid.totals",
               apply_recipe(kernel, "scan_over_grid(b, totals=[own])\n"));
  EXPECT_ERROR("loopy.scan_over_grid.look_back",
               with(apply_recipe(kernel,
                                 "untag_inames(t)\n"
                                 "split_iname(t, 2, outer_tag=l.0, inner_tag=l.1)\n"),
                    "own"));
  const Kernel within = apply_recipe(
      grid_scans("{[b, t]: 0 <= b and 0 <= t < 64 and 64*b + t < n} {[j]: 0 <= j <= 64*b + t}",
                 "<i64> own = 1 {id=own, inames=b}\n"
                 "s[64*b + t] = scan(sum, j, a[j]) {dep=own}",
                 "a, s: i64[n]; n: i32"),
      "tag_inames(b:g.0, t:l.0)\n");
  EXPECT_ERROR("loopy.scan_over_grid.totals", with(within, "own"));
}

TEST(GridScansThatLookBack, AreRefusedForOtherBlocks) {
  const Kernel kernel = grid_scans(running, "s[i] = scan(sum, j, a[j])", "a, s: i32[n]; n: i32");
  const auto look_back = [](const Kernel& described, const std::string& recipe) {
    return apply_recipe(described, recipe + "scan_over_grid(i_outer, how=look_back)");
  };
  constexpr const char* code = "loopy.scan_over_grid.look_back";
  EXPECT_ERROR(code, look_back(kernel, in_blocks_of_8));
  EXPECT_ERROR(code, look_back(kernel, "split_iname(i, 32, outer_tag=g.0)\n"));
  EXPECT_ERROR(code, look_back(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.1)\n"));
  EXPECT_ERROR(code, look_back(kernel,
                               "split_iname(i, 128, outer_tag=g.0)\n"
                               "split_iname(i_inner, 32, inner_tag=l.0)\n"));
  EXPECT_ERROR("loopy.apply_recipe.bad_arguments",
               apply_recipe(kernel,
                            "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                            "scan_over_grid(i_outer, how=guess)"));
}

TEST(GridScans, AreRefusedWhereBlocksDoNotFollowEachOther) {
  const auto sliced = [](const std::string& domains, const std::string& statements,
                         const std::string& recipe) {
    return apply_recipe(grid_scans(domains, statements, "a, s: f64[n]; n: i32"), recipe);
  };
  const std::string one_loop = "{[i, j]: 0 <= i < n and 0 <= j <= i}";
  const std::string sum = "s[i] = scan(sum, j, a[j])";
  const Kernel kernel = sliced(one_loop, sum, in_blocks_of_8);
  EXPECT_ERROR("loopy.scan_over_grid.unknown_iname", scan_over_grid(kernel, "q"));
  EXPECT_ERROR("loopy.scan_over_grid.not_on_grid", scan_over_grid(kernel, "i_inner"));
  EXPECT_ERROR("loopy.scan_over_grid.threads", scan_over_grid(kernel, "i_outer", {.threads = 0}));
  EXPECT_ERROR("loopy.scan_over_grid.no_scan",
               scan_over_grid(sliced(one_loop, "s[i] = sum(j, a[j])", in_blocks_of_8), "i_outer"));
  EXPECT_ERROR("loopy.scan_over_grid.bounds",
               scan_over_grid(sliced("{[i, j]: 0 <= i < n and 0 <= j <= i + 3 and 0 <= j < n}", sum,
                                     in_blocks_of_8),
                              "i_outer"));
  EXPECT_ERROR(
      "loopy.scan_over_grid.surroundings",
      scan_over_grid(sliced(one_loop, "s[i] = scan(sum, j, a[j])  {if=a[i] > 0}", in_blocks_of_8),
                     "i_outer"));
  EXPECT_ERROR("loopy.scan_over_grid.surroundings",
               scan_over_grid(sliced("{[r, i, j]: 0 <= r < 2 and 0 <= i < n and 0 <= j <= i}",
                                     "s[i] = scan(sum, j, a[j]*r)", in_blocks_of_8),
                              "i_outer"));
}

}  // namespace
}  // namespace rtcg::loopy
