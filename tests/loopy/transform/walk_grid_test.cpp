#include "rtcg/loopy/transform/walk_grid.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/arguments.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel doubled() {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = cgen::f32});
  kernel = split_iname(kernel, "i", 128, {.outer_tag = "g.0", .inner_tag = "l.0"});
  kernel.recipe.clear();
  return kernel;
}

TEST(WalkGrid, MakesALoopOfTheGrid) {
  const Kernel walking = walk_grid(doubled(), 0, "blocks");
  EXPECT_EQ(
      generate_text(walking, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(128) loopy_kernel(const float *__restrict__ a,
    float *__restrict__ b, const int n, const int blocks) {
  for (unsigned int block_x = blockIdx.x; block_x < (unsigned int)((n + 127) / 128);
      block_x += gridDim.x) {
    const int i_outer = (int)block_x;
    const int i_inner = (int)threadIdx.x;
    if (128 * i_outer + i_inner < n) {
      b[128 * i_outer + i_inner] = 2.0f * a[128 * i_outer + i_inner];
    }
  }
}
)");
  expect_recipe(doubled(), walking, "walk_grid(0, blocks)\n");
  const GeneratedProgram program = generate(walking, Target::cuda);
  EXPECT_EQ(to_string(program.launches.front().grid[0]), "min((n + 127) // 128, blocks)");
}

TEST(WalkGrid, CountsInTheTypeOfIndices) {
  const std::string text = generate_text(walk_grid(doubled(), 0, "blocks"), Target::opencl,
                                         {.index_type = cgen::i64, .recipe_comment = false});
  EXPECT_NE(text.find("for (ulong block_x = "), std::string::npos) << text;
}

TEST(WalkGrid, LaunchesNoMoreBlocksThanIterations) {
  const Kernel known = fix_parameters(doubled(), {{"n", 1000}});
  const auto blocks = [&](const char* walking) {
    return to_string(generate(walk_grid(known, 0, walking), Target::cuda).launches.front().grid[0]);
  };
  EXPECT_EQ(blocks("3"), "3");
  EXPECT_EQ(blocks("100"), "8");
}

TEST(WalkGrid, WaitsBeforeSharedMemoryIsUsedAgain) {
  const std::string text =
      generate_text(apply(make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i, j] = y[j, i]",
                                      {.arguments = "z: f32[n, m]; y: f32[m, n]"}),
                          parse_slicing("j: g.0 l.0*8; i: g.1 l.1*8; fetch y transposed; walk 4")),
                    Target::cuda, {.recipe_comment = false});
  const std::size_t last = text.rfind("__syncthreads();");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_EQ(text.substr(last), "__syncthreads();\n  }\n}\n") << text;
  // declared once, outside of the loop
  EXPECT_LT(text.find("__shared__"), text.find("for (unsigned int block_x")) << text;
}

TEST(WalkGrid, IsAWordOfSlicings) {
  const Slicing slicing = parse_slicing("i: g.0 l.0*128; walk 64");
  EXPECT_EQ(slicing.walking_blocks, 64);
  EXPECT_EQ(to_string(slicing), "i: g.0 l.0*128; walk 64");
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = cgen::f32});
  const Kernel walking = apply(kernel, slicing);
  EXPECT_EQ(to_string(walking.recipe.back()), "walk_grid(0, 64)");
  EXPECT_EQ(to_string(walking.walking_blocks.at(0)), "64");
}

TEST(WalkGrid, KeepsTheNumberThroughOtherTransformations) {
  const Kernel walking = walk_grid(doubled(), 0, "2*blocks + 1");
  EXPECT_NE(to_string(walking).find("2*blocks + 1 walk along g.0"), std::string::npos);
  EXPECT_NE(to_string(to_kernel_file(walking)).find("walk_grid(0, 2*blocks + 1)"),
            std::string::npos);

  const Kernel renamed = rename_argument(walking, "blocks", "count");
  EXPECT_EQ(to_string(renamed.walking_blocks.at(0)), "2*count + 1");
  EXPECT_EQ(to_string(fix_parameters(walking, {{"blocks", 7}}).walking_blocks.at(0)), "15");
  EXPECT_NE(find_argument(remove_unused_arguments(walking), "blocks"), nullptr);
}

TEST(WalkGrid, RefusesWhatBlocksCannotWalk) {
  EXPECT_ERROR("loopy.walk_grid.no_grid", walk_grid(doubled(), 1, "4"));
  EXPECT_ERROR("loopy.walk_grid.no_grid", walk_grid(doubled(), 3, "4"));
  EXPECT_ERROR("loopy.walk_grid.bad_blocks", walk_grid(doubled(), 0, "0"));
  EXPECT_ERROR("loopy.walk_grid.bad_blocks", walk_grid(doubled(), 0, "a"));
  EXPECT_ERROR("loopy.walk_grid.bad_blocks", walk_grid(doubled(), 0, "i_outer"));
  EXPECT_ERROR("loopy.walk_grid.bad_blocks", walk_grid(doubled(), 0, "n*n"));
  EXPECT_ERROR("loopy.parse_expr.syntax", walk_grid(doubled(), 0, "4 +"));
  EXPECT_EQ(why_not([&] { return walk_grid(doubled(), 0, "0"); }),
            "0 blocks cannot walk: at least one is needed, and at most 2147483647");
  EXPECT_EQ(why_not([&] { return walk_grid(doubled(), 0, "n"); }), std::nullopt);
}

TEST(WalkGrid, RefusesBlocksThatLookBack) {
  const Kernel scan = make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}",
                                  "s[i] = scan(sum, j, a[j])", {.arguments = "a, s: f32[n]"});
  const Kernel sliced = apply(scan, parse_slicing("i: g.0 l.0*64; look_back i; walk 8"));
  EXPECT_ERROR("loopy.generate.walking_scan", generate(sliced, Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
