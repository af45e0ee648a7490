#include "rtcg/loopy/transform/swizzle.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel tiles() {
  Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 1 <= j < m}", "b[i, j] = a[j, i]",
                              {.default_type = cgen::f32});
  kernel = split_iname(kernel, "i", 8, {.outer_tag = "g.1", .inner_tag = "l.1"});
  kernel = split_iname(kernel, "j", 8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  kernel.recipe.clear();
  return kernel;
}

TEST(Swizzle, ReordersBlocks) {
  const Kernel reordered = swizzle(tiles(), 4);
  EXPECT_EQ(
      generate_text(reordered, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(64) loopy_kernel(const float *__restrict__ a,
    float *__restrict__ b, const int m, const int n) {
  const int columns = (m + 7) / 8;
  const int block_number = (int)blockIdx.x + columns * (int)blockIdx.y;
  const int first_row = block_number / (4 * columns) * 4;
  const int rows_here = (n + 7) / 8 - first_row < 4 ? (n + 7) / 8 - first_row : 4;
  const int number_here = block_number - first_row * columns;
  const int j_outer = number_here / rows_here;
  const int i_outer = first_row + number_here % rows_here;
  const int j_inner = (int)threadIdx.x;
  const int i_inner = (int)threadIdx.y;
  if (8 * i_outer + i_inner < n && 8 * j_outer + j_inner >= 1 && 8 * j_outer + j_inner < m) {
    b[m * (8 * i_outer + i_inner) + 8 * j_outer + j_inner] =
        a[n * (8 * j_outer + j_inner) + 8 * i_outer + i_inner];
  }
}
)");
  expect_recipe(tiles(), reordered, "swizzle(4)\n");
  EXPECT_NE(to_string(to_kernel_file(reordered)).find("swizzle(4)"), std::string::npos);
}

TEST(Swizzle, RefusesGridsWithoutTwoAxes) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.swizzle.no_grid", swizzle(kernel, 4));
  kernel = split_iname(kernel, "i", 8, {.outer_tag = "g.0", .inner_tag = "l.0"});
  EXPECT_ERROR("loopy.swizzle.no_grid", swizzle(kernel, 4));
  EXPECT_ERROR("loopy.swizzle.bad_length", swizzle(tiles(), 0));
  EXPECT_EQ(why_not([&] { return swizzle(tiles(), 0); }),
            "0 rows of blocks cannot come together: at least one is needed");
  EXPECT_EQ(why_not([&] { return swizzle(tiles(), 8); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
