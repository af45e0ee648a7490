#include "rtcg/loopy/preprocess/share_fill_loops.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

/// Two rules of neighbours, whose values blocks keep in shared memory.
Kernel two_tiles(const std::string& rules, const std::string& value) {
  Kernel kernel = make_kernel("{[i, k]: 0 <= i < 1000 and 0 <= k < 3}", rules + "\n" + value,
                              {.arguments = "x: f32[1010]; y: f32[1010]; out: f32[1000]"});
  kernel = split_iname(kernel, "i", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  PrecomputeOptions options{.address_space = AddressSpace::local};
  options.any_sweep = true;
  kernel = precompute(kernel, "left", {"i_inner", "k"}, options);
  return precompute(kernel, "right", {"i_inner", "k"}, options);
}

std::string text_of(const Kernel& kernel) {
  return generate_text(kernel, Target::cuda, {.recipe_comment = false});
}

TEST(ShareFillLoops, ComputesValuesOfTheSamePointsInOneLoop) {
  EXPECT_EQ(
      text_of(two_tiles("left(p) := x[p] - x[p + 1]\nright(p) := x[p + 1] + x[p]",
                        "out[i] = sum(k, left(i + k)*right(i + k))")),
      R"(extern "C" __global__ void __launch_bounds__(32) loopy_kernel(const float *__restrict__ x,
    const float *__restrict__ y, float *__restrict__ out) {
  const int i_outer = (int)blockIdx.x;
  const int i_inner = (int)threadIdx.x;
  __shared__ __align__(16) float left_store[34];
  __shared__ __align__(16) float right_store[34];
  for (int left_store_0_outer = 0; left_store_0_outer < 2; ++left_store_0_outer) {
    if (32 * left_store_0_outer + i_inner < 34) {
      if (32 * i_outer + 32 * left_store_0_outer + i_inner < 1009) {
        left_store[32 * left_store_0_outer + i_inner] =
            x[32 * i_outer + 32 * left_store_0_outer + i_inner] -
            x[32 * i_outer + 32 * left_store_0_outer + i_inner + 1];
        right_store[32 * left_store_0_outer + i_inner] =
            x[32 * i_outer + 32 * left_store_0_outer + i_inner + 1] +
            x[32 * i_outer + 32 * left_store_0_outer + i_inner];
      } else {
        left_store[32 * left_store_0_outer + i_inner] = 0.0f;
        right_store[32 * left_store_0_outer + i_inner] = 0.0f;
      }
    }
  }
  float acc_k = 0.0f;
  __syncthreads();
  if (32 * i_outer + i_inner < 1000) {
    for (int k = 0; k < 3; ++k) {
      acc_k += left_store[i_inner + k] * right_store[i_inner + k];
    }
    out[32 * i_outer + i_inner] = acc_k;
  }
}
)");
}

TEST(ShareFillLoops, LeavesOtherFillsInLoopsOfTheirOwn) {
  const std::string value = "out[i] = sum(k, left(i + k)*right(i + k))";
  const auto fills = [&](const std::string& left, const std::string& right,
                         const std::string& use) {
    const Kernel kernel = two_tiles("left(p) := " + left + "\nright(p) := " + right, use);
    const Kernel shared = share_fill_loops(kernel);
    return kernel.domains.size() - shared.domains.size();
  };
  EXPECT_EQ(fills("x[p] - x[p + 1]", "x[p]*x[p + 2]", value), 1U);
  // other arrays, copies, tiles of other lengths
  EXPECT_EQ(fills("x[p] - x[p + 1]", "y[p] - y[p + 1]", value), 0U);
  EXPECT_EQ(fills("x[p]", "x[p + 1]", value), 0U);
  EXPECT_EQ(fills("x[p] - x[p + 1]", "x[p]*x[p + 2]", "out[i] = sum(k, left(i + k)*right(i))"), 0U);
}

TEST(ShareFillLoops, LeavesValuesOfEachOtherApart) {
  Kernel kernel = make_kernel("{[i, k]: 0 <= i < 1000 and 0 <= k < 3}",
                              "left(p) := x[p] - x[p + 1]\n"
                              "right(p) := left(p)*x[p] + x[p + 1]\n"
                              "out[i] = sum(k, left(i + k)*right(i + k)) {id=out}",
                              {.arguments = "x: f32[1010]; out: f32[1000]"});
  kernel = split_iname(kernel, "i", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  PrecomputeOptions options{.address_space = AddressSpace::local};
  kernel = precompute(kernel, "left", {"i_inner", "k"}, options);
  kernel = precompute(kernel, "right", {"i_inner", "k"}, options);
  EXPECT_EQ(share_fill_loops(kernel).domains.size() + 1, kernel.domains.size());
  for (Instruction& each : kernel.instructions) {
    if (each.id == "fill_right_store") {
      each.depends_on.insert("fill_left_store");
    }
  }
  EXPECT_EQ(share_fill_loops(kernel).domains.size(), kernel.domains.size());
}

}  // namespace
}  // namespace rtcg::loopy
