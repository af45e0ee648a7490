// reduce_updates on every device, and as CUDA text on the CPU with checks for races and bounds.
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

const char* const turns =
    "split_iname(i, 512, outer_name=turn, inner_name=of_turn)\n"
    "split_iname(of_turn, 128, outer_name=block, outer_tag=g.0, inner_name=of_block)\n"
    "split_iname(of_block, 64, outer_name=item, outer_tag=unr, inner_name=lane, inner_tag=l.0)\n";

Kernel described(const std::string& domain, const std::string& statements,
                 const std::string& arguments) {
  KernelOptions options;
  options.arguments = arguments;
  options.assumptions = "n >= 1";
  return make_kernel(domain, statements, options);
}

TEST(ReducedUpdates, AreTheSameEverywhere) {
  const Kernel kernel = described("{[i]: 0 <= i < n}",
                                  "s[0] = 0 {id=start}\n"
                                  "y[i] = 2*x[i] {id=scale}\n"
                                  "s[0] += x[i]*y[i] {atomic, dep=start:scale}\n"
                                  "m[0] = max(m[0], x[i]) {atomic}",
                                  "x, y: f32[n]; s: f64[1]; m: f32[1]; n: i32");
  const Kernel sliced =
      apply_recipe(kernel, std::string(turns) + "reduce_updates(s)\nreduce_updates(m)");
  for (const std::int64_t n : {1, 65, 512, 1500}) {
    expect_same_everywhere(sliced, kernel, {{"n", n}});
  }
}

TEST(ReducedUpdates, OfRowsLanesAndComplexNumbers) {
  const Kernel rows = described("{[r, i]: 0 <= r < 5 and 0 <= i < n}",
                                "s[r] = 1j {id=start}\n"
                                "s[r] += a[r, i]*a[r, i] {atomic, dep=start}",
                                "a: c64[5, n]; s: c64[5]; n: i32");
  for (const char* recipe :
       {"tag_inames(r:g.1)\n%reduce_updates(s)",
        "tag_inames(r:g.0)\nsplit_iname(i, 128)\n"
        "split_iname(i_inner, 32, outer_tag=ilp, inner_tag=l.0)\nreduce_updates(s)",
        "split_iname(i, 16, outer_tag=g.0, inner_tag=l.1)\ntag_inames(r:g.1)\n"
        "reduce_updates(s)"}) {
    SCOPED_TRACE(recipe);
    std::string text = recipe;
    if (const std::size_t at = text.find('%'); at != std::string::npos) {
      text.replace(at, 1, turns);
    }
    expect_same_everywhere(apply_recipe(rows, text), rows, {{"n", 700}});
  }
}

TEST(ReducedUpdates, OfValuesThatThreadsShare) {
  // the update is not spread over all threads of its block
  const Kernel kernel = described("{[i, j]: 0 <= i < n and 0 <= j < 32}",
                                  "<> row = sum(j, a[i, j]) {id=row}\n"
                                  "y[i] = row {dep=row, id=y}\n"
                                  "s[0] = 0 {id=start}\n"
                                  "s[0] += row*y[i] {atomic, dep=row:start:y}",
                                  "a: f64[n, 32]; y: f64[n]; s: f64[1]; n: i32");
  for (const char* recipe :
       {"split_iname(i, 4, outer_tag=g.0, inner_tag=l.1)\nsplit_iname(j, 8, inner_tag=l.0)\n"
        "reduce_updates(s)",
        "split_iname(i, 4, outer_tag=g.0)\nsplit_iname(j, 8, inner_tag=l.0)\n"
        "reduce_updates(s)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 37}});
  }
}

// elements of threads that the user puts into private memory
TEST(PrivateArrays, OfThreadsAreTheSameEverywhere) {
  const Kernel kernel = described("{[b, i, j, z]: 0 <= b < n and 0 <= i, z < 16 and 0 <= j < 3}",
                                  "<f32> own[16, 3]\n"
                                  "own[z, j] = a[b, z, j] {id=set, inames=b:z:j}\n"
                                  "own[i, j] = own[i, j]*2 + j {id=change, dep=set}\n"
                                  "y[b, i, j] = own[i, j] + own[i, 0] {dep=change}",
                                  "a, y: f32[n, 16, 3]; n: i32");
  const Kernel sliced = apply_recipe(
      kernel, "tag_inames(b:g.0, i:l.0, z:l.0)\nset_temporary_address_space([own], private)");
  expect_same_everywhere(sliced, kernel, {{"n", 3}});
}

// without blocks, no last block gives the result
TEST(ReducedUpdates, GiveResultsWithoutIterations) {
  for (const auto& [statements, recipe] :
       {std::pair("s[0] = 3 {id=start}\ns[0] += x[i] {atomic, dep=start}", "reduce_updates(s)"),
        std::pair("s[0] = sum(i, x[i])", "reduce_over_grid(i_outer, how=last)")}) {
    KernelOptions options;
    options.arguments = "x: f32[n]; s: f32[1]; n: i32";
    const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", statements, options);
    const Kernel sliced = apply_recipe(
        kernel, std::string("split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)\n") + recipe);
    for (const std::int64_t n : {0, 1, 100}) {
      expect_same_everywhere(sliced, kernel, {{"n", n}});
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
