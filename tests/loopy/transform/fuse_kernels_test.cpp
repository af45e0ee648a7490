#include "rtcg/loopy/transform/fuse_kernels.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/rename_iname.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel twice() {
  return make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = 2*t",
                     {.arguments = "a, b: f32[n]", .default_type = cgen::f32});
}
Kernel one_more() {
  return make_kernel(
      "{[i]: 0 <= i < n}", "f(x) := x + 1\n<> t = b[i]\nc[i] = f(t)",
      {.arguments = "b, c: f32[n]", .default_type = cgen::f32, .assumptions = "n mod 4 = 0"});
}

TEST(FuseKernels, PutsOneKernelBehindTheOther) {
  const Kernel fused = fuse_kernels(twice(), one_more());
  Kernel shown = fused;
  shown.recipe.clear();
  EXPECT_EQ(to_string(shown), R"(kernel loopy_kernel
arguments:
  a: f32[n]
  b: f32[n]
  n: i32
  c: f32[n]
domains:
  {[i]: i >= 0 and i < n}
  {[i_b]: i_b >= 0 and i_b < n}
assumptions:
  n % 4 == 0
inames:
  i: for
  i_b: for
temporaries:
  t: ?
  t_b: ?
rules:
  f(x) := x + 1
statements:
  set_t: t = a[i]  {inames=i}
  set_b: b[i] = 2*t  {inames=i}
  set_t_b: t_b = b[i_b]  {inames=i_b}
  set_c: c[i_b] = f(t_b)  {inames=i_b}
)");
}

TEST(FuseKernels, IsReplayedFromTheTextInItsRecipe) {
  const Kernel fused = fuse_kernels(twice(), split_iname(one_more(), "i", 4, {.outer_tag = "g.0"}),
                                    {.suffix = "_2"});
  EXPECT_EQ(to_string(apply_recipe(twice(), fused.recipe)), to_string(fused));
  // the recipe as text
  EXPECT_EQ(to_string(apply_recipe(twice(), to_string(fused.recipe.back()))), to_string(fused));
  EXPECT_EQ(fused.iname_tags.at("i_outer"), (InameTag{AxisKind::grid, 0}));
}

TEST(FuseKernels, KeepsTheNumbersWhenLoopsAreUnited) {
  const Kernel both = make_kernel("{[i, j]: 0 <= i, j < n}", "b[i] = 2*a[i]\nc[j] = b[j] + 1",
                                  {.arguments = "a, b, c: f32[n]", .default_type = cgen::f32});
  const Kernel fused = fuse_kernels(twice(), one_more());
  expect_same_results(both, fused, {{"n", 8}});
  expect_same_results(both, rename_iname(fused, "i_b", "i"), {{"n", 8}});
}

TEST(FuseKernels, TakesTheShapeThatIsStated) {
  const Kernel part = make_kernel("{[i]: 0 <= i < 3}", "d[i] = a[i]", {.default_type = cgen::f32});
  const Kernel fused = fuse_kernels(part, twice());
  EXPECT_EQ(to_string(find_argument(fused, "a")->shape[0]), "n");
}

TEST(FuseKernels, RefusesArgumentsThatDiffer) {
  const Kernel doubles =
      make_kernel("{[i]: 0 <= i < n}", "c[i] = b[i]", {.arguments = "b, c: f64[n]"});
  EXPECT_ERROR("loopy.fuse_kernels.different_arguments", fuse_kernels(twice(), doubles));
  const Kernel matrix = make_kernel("{[i, j]: 0 <= i, j < n}", "c[i] = b[i, i] + j",
                                    {.arguments = "b: f32[n, n]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.fuse_kernels.different_arguments", fuse_kernels(twice(), matrix));
  EXPECT_ERROR("loopy.fuse_kernels.different_arguments",
               fuse_kernels(twice(), tag_array_axes(one_more(), {"b"}, "stride:2")));
  EXPECT_TRUE(why_not([&] { return fuse_kernels(twice(), doubles); }).has_value());
  EXPECT_EQ(why_not([&] { return fuse_kernels(twice(), one_more()); }), std::nullopt);
}

TEST(FuseKernels, RefusesArgumentsThatAreSomethingElseInTheFirstKernel) {
  const Kernel reads_t =
      make_kernel("{[j]: 0 <= j < n}", "c[j] = t[j]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.fuse_kernels.name_clash", fuse_kernels(twice(), reads_t));
}

TEST(FuseKernels, SaysWhatIsWrongWithAFile) {
  EXPECT_ERROR("loopy.read_kernel_file.unreadable",
               apply_recipe(twice(), "fuse_kernels(no_such_file.loopy)"));
}

TEST(FuseKernels, KnowsEqualShapes) {
  const Kernel first = make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i + 2]",
                                   {.arguments = "a: f32[n + 2]; b: f32[n]"});
  const Kernel second =
      make_kernel("{[i]: 0 <= i < n}", "c[i] = a[i]", {.arguments = "a: f32[2 + n]; c: f32[n]"});
  EXPECT_EQ(fuse_kernels(first, second).arguments.size(), 4U);
}

TEST(FuseKernels, HandsATemporaryOn) {
  const Kernel first = make_kernel("{[i]: 0 <= i < 8}", "<f32> t[8]\nt[i] = 2*a[i] {id=make}",
                                   {.default_type = cgen::f32});
  const Kernel second = make_kernel("{[i]: 0 <= i < 8}", "f(x) := t[7 - x]\nb[i] = f(i) {id=use}",
                                    {.arguments = "t, b: f32[8]"});
  const Kernel fused = fuse_kernels(first, second, {.data_flow = {"t"}});
  EXPECT_EQ(find_argument(fused, "t"), nullptr);
  EXPECT_EQ(find_instruction(fused, "use")->depends_on, NameSet{"make"});
  expect_same_results(
      make_kernel("{[i, j]: 0 <= i, j < 8}", "<f32> t[8]\nt[i] = 2*a[i]\nb[j] = t[7 - j]",
                  {.default_type = cgen::f32}),
      fused, {});
  EXPECT_EQ(to_string(apply_recipe(first, fused.recipe)), to_string(fused));
  const auto refusal = [&](const Kernel& one, const Kernel& other, const std::string& name) {
    EXPECT_ERROR("loopy.fuse_kernels.no_data_flow",
                 fuse_kernels(one, other, {.data_flow = {name}}));
  };
  refusal(first, second, "q");
  refusal(first, second, "b");
  refusal(second, first, "t");
  refusal(first, make_kernel("{[i]: 0 <= i < 4}", "b[i] = t[i]", {.arguments = "t, b: f32[4]"}),
          "t");
}

}  // namespace
}  // namespace rtcg::loopy
