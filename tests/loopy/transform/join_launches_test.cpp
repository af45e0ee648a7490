#include "rtcg/loopy/transform/join_launches.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel heat(const std::string& recipe) {
  const Kernel kernel = make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i, j < n - 1}",
                                    "for t\n"
                                    "  v[i] = u[i] + 0.25*(u[i - 1] - 2*u[i] + u[i + 1])\n"
                                    "  ... gbarrier\n"
                                    "  u[j] = v[j]\n"
                                    "end",
                                    {.name = "heat",
                                     .arguments = "u, v: f32[n]; n, steps: i32",
                                     .assumptions = "n >= 3 and steps >= 0"});
  return apply_recipe(kernel, recipe);
}

const char* const cuts =
    "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
    "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)\n";

TEST(JoinLaunches, MakesOneKernelWithBarriersOfTheGrid) {
  const std::string text = generate_text(heat(std::string(cuts) + "join_launches()"), Target::cuda,
                                         {.recipe_comment = false});
  const std::size_t kernel = text.find("extern \"C\" __global__");
  ASSERT_NE(kernel, std::string::npos) << text;
  EXPECT_EQ(text.substr(kernel),
            R"(extern "C" __global__ void __launch_bounds__(8) heat(float *u, float *v, const int n,
    const int steps) {
  for (int t = 0; t < steps; ++t) {
    heat_0(u, v, n, steps, t);
    rtcg_grid_barrier();
    heat_1(u, v, n, steps, t);
    rtcg_grid_barrier();
  }
}
)");
  EXPECT_NE(text.find("static __device__ void heat_0(float *u, float *v, const int n, const int "
                      "steps, const int t) {"),
            std::string::npos)
      << text;
}

TEST(JoinLaunches, LeavesLaunchesOnOtherTargets) {
  const Kernel joined = heat(std::string(cuts) + "join_launches()");
  EXPECT_EQ(generate(joined, Target::host).launches.size(), 2U);
  EXPECT_EQ(generate(joined, Target::opencl).launches.size(), 2U);
  EXPECT_EQ(generate(joined, Target::cuda, {.joins_launches = false}).launches.size(), 2U);
  const GeneratedProgram program = generate(joined, Target::cuda);
  ASSERT_EQ(program.launches.size(), 1U);
  EXPECT_TRUE(program.launches.front().is_cooperative);
  EXPECT_TRUE(program.launches.front().host_loops.empty());
}

TEST(JoinLaunches, RefusesKernelsWithoutAGlobalBarrier) {
  EXPECT_ERROR(
      "loopy.join_launches.no_barrier",
      apply_recipe(make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = cgen::f32}),
                   "join_launches()"));
}

TEST(JoinLaunches, RefusesBlocksOfSeveralShapes) {
  const Kernel kernel = heat(
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
      "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n"
      "join_launches()");
  EXPECT_ERROR("loopy.generate.joined_blocks", generate(kernel, Target::cuda));
  EXPECT_EQ(generate(kernel, Target::host).launches.size(), 2U);
}

TEST(JoinLaunches, RefusesTilesThatTogetherAreTooLarge) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j]: 0 <= i, j < 4096}",
                               "<f32> t[4096]\n"
                               "<f32> w[4096]\n"
                               "t[i] = a[i] {id=t}\n"
                               "b[i] = 2*t[4095 - i] {id=b, dep=t}\n"
                               "... gbarrier {id=g, dep=b}\n"
                               "w[j] = b[4095 - j] {id=w, dep=g}\n"
                               "c[j] = w[4095 - j] {dep=w}",
                               {.arguments = "a, b, c: f32[4096]", .default_type = cgen::f32}),
                   "split_iname(i, 256, inner_tag=l.0)\n"
                   "split_iname(j, 256, inner_tag=l.0)\n"
                   "set_temporary_address_space([t, w], local)\n"
                   "join_launches()");
  EXPECT_EQ(generate(kernel, Target::cuda).launches.size(), 1U);
  EXPECT_ERROR("loopy.generate.too_much_shared_memory",
               generate(kernel, Target::cuda, {.most_shared_bytes = 20000}));
}

TEST(JoinLaunches, RefusesScansThatLookBack) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, k]: 0 <= i < n} {[j]: 0 <= j <= i}",
                               "s[i] = scan(sum, j, a[j])\n"
                               "... gbarrier\n"
                               "b[k] = s[k]",
                               {.arguments = "a, b, s: f32[n]", .default_type = cgen::f32}),
                   "split_iname(i, 256, outer_tag=g.0, inner_tag=l.0)\n"
                   "scan_over_grid(i_outer, how=look_back)\n"
                   "split_iname(k, 256, outer_tag=g.0, inner_tag=l.0)\n"
                   "join_launches()");
  EXPECT_ERROR("loopy.generate.joined_scan", generate(kernel, Target::cuda));
}

TEST(JoinLaunches, IsKeptByFilesAndFusions) {
  const Kernel joined = heat(std::string(cuts) + "join_launches()");
  const Kernel again = kernel_from_text(to_string(to_kernel_file(joined)));
  EXPECT_TRUE(again.joins_launches);
  EXPECT_NE(to_string(joined).find("launches:\n  joined"), std::string::npos) << to_string(joined);
}

}  // namespace
}  // namespace rtcg::loopy
