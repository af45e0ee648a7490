// Items of threads that are exchanged through shared memory.
#include "rtcg/loopy/transform/exchange_items.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel items_kernel(std::string_view domains, std::string_view statements,
                    const std::string& arguments) {
  return make_kernel(domains, statements, {.arguments = arguments, .assumptions = "n >= 1"});
}

/// `threads` with `items` each, in vectors of `lanes`.
std::string in_items(int threads, int items, int lanes) {
  std::string recipe = "split_iname(i, " + std::to_string(threads * items) + ", outer_tag=g.0)\n" +
                       "split_iname(i_inner, " + std::to_string(items) + ", outer_tag=l.0)\n";
  if (lanes == items) {
    recipe += "tag_inames(i_inner_inner:vec)\n";
  } else if (lanes > 1) {
    recipe +=
        "split_iname(i_inner_inner, " + std::to_string(lanes) + ", outer_tag=unr, inner_tag=vec)\n";
  }
  return recipe + "exchange_items(i_inner_outer)\n";
}

constexpr const char* by_look_back = "scan_over_grid(i_outer, how=look_back)\n";
constexpr const char* of_items = "{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < i}";

TEST(ExchangeItems, LoadsAndStoresNeighboursByNeighbours) {
  const Kernel kernel =
      items_kernel("{[i]: 0 <= i < n}", "y[i] = 2*x[i] + 1", "x, y: i32[n]; n: i32");
  const Kernel exchanged = apply_recipe(kernel, in_items(64, 8, 4));
  const std::string text = generate_text(exchanged, Target::cuda);
  EXPECT_EQ(count_of("__shared__", text), 2) << text;
  EXPECT_EQ(count_of("__syncthreads", text), 2) << text;
  EXPECT_NE(text.find("*(int4 *)&y[512 * i_outer + 4 * i_inner_outer] ="), std::string::npos)
      << text;
  for (const int n : {1, 2500}) {
    expect_same_everywhere(exchanged, kernel, {{"n", n}});
  }
}

TEST(ExchangeItems, IsNoTagOfUsers) {
  const Kernel kernel = items_kernel("{[i]: 0 <= i < n}", "y[i] = 2*x[i]  {tags=exchange_items}",
                                     "x, y: f32[n]; n: i32");
  const std::string text = generate_text(
      apply_recipe(kernel,
                   "split_iname(i, 512, outer_tag=g.0)\nsplit_iname(i_inner, 8, outer_tag=l.0)"),
      Target::cuda);
  EXPECT_EQ(count_of("__shared__", text), 0) << text;
}

TEST(ExchangeItems, LeavesAloneWhatOthersTouch) {
  const Kernel kernel = items_kernel("{[i]: 0 <= i < n}", "y[i] = x[i] if i < 7 else z[i] + z[i]",
                                     "x, y, z: f32[n]; n: i32");
  const Kernel exchanged = apply_recipe(kernel, in_items(32, 4, 1));
  expect_same_everywhere(exchanged, kernel, {{"n", 300}});
  const std::string text = generate_text(exchanged, Target::cuda);
  EXPECT_EQ(count_of("__shared__", text), 1) << text;  // for y
  const Kernel updated = items_kernel("{[i]: 0 <= i < n}", "y[i] = y[i] + 1", "y: f32[n]; n: i32");
  EXPECT_EQ(count_of("__shared__",
                     generate_text(apply_recipe(updated, in_items(32, 4, 1)), Target::cuda)),
            0);
}

TEST(ExchangeItems, TakesRowsThatAreNotAligned) {
  const Kernel kernel = items_kernel("{[r, i]: 0 <= r < 3 and 0 <= i < n}",
                                     "y[r, i] = x[r, i]*x[r, i] + r", "x, y: f64[3, n]; n: i32");
  for (const int items : {2, 6}) {
    const Kernel exchanged = apply_recipe(kernel, in_items(32, items, 2) + "tag_inames(r:g.1)\n");
    expect_same_everywhere(exchanged, kernel, {{"n", 333}});
  }
}

TEST(ExchangeItemsOfScans, GiveWhatTheLoopGives) {
  const Kernel kernel = items_kernel(of_items, "s[i] = scan(sum, j, a[j])", "a, s: i32[n]; n: i32");
  const Kernel exchanged = apply_recipe(kernel, in_items(32, 8, 4) + by_look_back);
  const std::string text = generate_text(exchanged, Target::cuda);
  EXPECT_NE(text.find("*(const int4 *)&a[256 * i_outer + 4 * i_inner_outer + 128]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("*(int4 *)&s[256 * i_outer + 4 * i_inner_outer + 128]"), std::string::npos)
      << text;
  EXPECT_EQ(count_of("int a_items", text), 1) << text;
  EXPECT_EQ(count_of("int s_items", text), 0) << text;  // the same memory
  for (const int n : {1, 700}) {
    expect_same_everywhere(exchanged, kernel, {{"n", n}});
  }
  expect_same_everywhere(apply_recipe(kernel, in_items(64, 12, 4)), kernel, {{"n", 900}});
  const Kernel others =
      items_kernel(of_items, "s[i] = scan(sum, k, a[k])\nm[i] = scan(max, j, b[j])",
                   "a, s: i64[n]; b, m: u8[n]; n: i32");
  expect_same_everywhere(apply_recipe(others, in_items(32, 4, 2) + by_look_back), others,
                         {{"n", 300}});
}

TEST(ExchangeItemsOfScans, TakeSegmentsAndLoopsOfBlocks) {
  const Kernel segments = items_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}",
                                       "s[i] = segmented_scan(flag[j] > 0, sum, j, a[j])",
                                       "a, s: f64[n]; flag: i32[n]; n: i32");
  expect_same_everywhere(apply_recipe(segments, in_items(32, 4, 2)), segments, {{"n", 500}});
  const Kernel rows = items_kernel("{[r, i, j]: 0 <= r < 3 and 0 <= i < n and 0 <= j <= i}",
                                   "s[r, i] = scan(sum, j, a[r, j])", "a, s: f32[3, n]; n: i32");
  expect_same_everywhere(apply_recipe(rows,
                                      "split_iname(i, 128)\n"
                                      "split_iname(i_inner, 4, outer_tag=l.0, inner_tag=vec)\n"
                                      "tag_inames(r:g.0)\n"
                                      "exchange_items(i_inner_outer)"),
                         rows, {{"n", 300}});
}

TEST(ExchangeItemsOfScans, TakeScansWhoseValuesStayInRegisters) {
  const Kernel kernel =
      items_kernel(of_items, "<i32> place = scan(sum, j, x[j])\ny[i] = 3*place {if=place > 4}",
                   "x, y: i32[n]; n: i32");
  const Kernel exchanged = apply_recipe(kernel, in_items(64, 8, 1));
  const std::string text = generate_text(exchanged, Target::cuda);
  EXPECT_NE(text.find("x_items"), std::string::npos) << text;
  expect_same_everywhere(exchanged, kernel, {{"n", 1300}});
}

TEST(ExchangeItemsOfScans, LoadOnceWhatSeveralStatementsRead) {
  const Kernel kernel = items_kernel(
      of_items, "<i32> place = scan(sum, j, x[j])\n<i32> own = x[i]\ny[i] = 3*place + own",
      "x, y: i32[n]; n: i32");
  const Kernel exchanged = apply_recipe(kernel, in_items(64, 8, 1));
  const std::string text = generate_text(exchanged, Target::cuda);
  EXPECT_EQ(count_of("__shared__ __align__(16) int x_items", text), 1) << text;
  expect_same_everywhere(exchanged, kernel, {{"n", 1300}});
}

TEST(ExchangeItems, EndsWithWholeRunsOfItems) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 1000}", "y[i] = 2*x[i]", {.arguments = "x, y: f32[1000]"});
  const Kernel exchanged = apply_recipe(kernel, in_items(32, 4, 4));
  EXPECT_EQ(count_of("__shared__", generate_text(exchanged, Target::cuda)), 2);
  expect_same_everywhere(exchanged, kernel, {});
}

TEST(ExchangeItems, IsRefusedWithoutItems) {
  const Kernel kernel =
      items_kernel("{[i]: 0 <= i < n}", "y[i] = 2*x[i] + 1", "x, y: i32[n]; n: i32");
  const Kernel cut = apply_recipe(kernel, "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)\n");
  EXPECT_ERROR("loopy.exchange_items.unknown_iname", exchange_items(cut, "q"));
  EXPECT_ERROR("loopy.exchange_items.not_threads", exchange_items(cut, "i_outer"));
  EXPECT_ERROR("loopy.exchange_items.no_items", exchange_items(cut, "i_inner"));
}

}  // namespace
}  // namespace rtcg::loopy
