#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Tiles of both arrays, as long and wide as that.
std::string recipe_of_tiles(const std::string& length) {
  return "split_iname(i, " + length + ", outer_tag=g.1)\nsplit_iname(i_inner, 8, outer_tag=l.1)\n" +
         "split_iname(j, " + length + ", outer_tag=g.0)\nsplit_iname(j_inner, 8, outer_tag=l.0)\n" +
         "add_prefetch(a, [i_inner_outer, i_inner_inner, j_inner_outer, j_inner_inner])\n" +
         "add_prefetch(b, [i_inner_outer, i_inner_inner, j_inner_outer, j_inner_inner])";
}

// The C of an index is made once for each layout: equal indices of arrays with another layout in
// memory must not share it.
TEST(KernelVariables, KeepsTheIndicesOfDifferentLayoutsApart) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < 8 and 0 <= j < 4}", "z[i, j] = a[i, j] + b[i, j] + c[i, j] + d[i, j]",
      {.arguments = "a, z: f32[8, 4]; b: f32[8, 4] {order=F}; c: f32[8, 4] {offset=5}; "
                    "d: f32[8, 4]",
       .default_type = cgen::f32});
  const std::string text = generate_text(kernel, Target::host);
  EXPECT_NE(text.find("z[4 * i + j] = a[4 * i + j] + b[8 * j + i] + c[4 * i + j + 5] + "
                      "d[4 * i + j];"),
            std::string::npos)
      << text;
}

// Found by mutated kernel files: C has no arrays without elements.
TEST(KernelVariables, GivesTemporariesOfEmptyDomainsAnElement) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i]: 0 <= i < 0}", "<f32> t = a[i]\nb[i] = t*t", {.default_type = cgen::f32}),
      "privatize_temporaries([i])");
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    EXPECT_NE(generate_text(kernel, target).find("float t[1];"), std::string::npos);
  }
}

// Found by mutated slicings: a row of -2147483617 elements.
TEST(KernelVariables, RefusesTemporariesBeyond32Bits) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i, j]: 0 <= i, j < n}", "c[i, j] = a[j, i]", {.default_type = cgen::f32}),
      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(j, 16, outer_tag=g.1)\n"
      "add_prefetch(a, [j_inner, i_inner])\nadd_padding(a_fetch, 0, 2147483647)");
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    EXPECT_ERROR("loopy.generate.temporary_too_long", generate(kernel, target));
  }
}

// Arrays of a fixed size have 48 KiB in CUDA; larger ones are in memory that the launch gives.
TEST(KernelVariables, PutsTilesBeyond48KiBIntoMemoryOfTheLaunch) {
  const Kernel described = make_kernel("{[i, j]: 0 <= i, j < n}", "c[i, j] = a[j, i] + b[j, i]",
                                       {.default_type = cgen::f32});
  const auto tiled = [&](const char* length) {
    return apply_recipe(described, recipe_of_tiles(length));
  };
  const GeneratedProgram small = generate(tiled("64"), Target::cuda);
  EXPECT_EQ(small.launches.front().shared_bytes, 2 * 64 * 64 * 4);
  EXPECT_EQ(small.launches.front().dynamic_shared_bytes, 0);
  const GeneratedProgram large = generate(tiled("96"), Target::cuda);
  EXPECT_EQ(large.launches.front().shared_bytes, 2 * 96 * 96 * 4);
  EXPECT_EQ(large.launches.front().dynamic_shared_bytes, 2 * 96 * 96 * 4);
  const std::string text = generate_text(tiled("96"), Target::cuda);
  for (const char* part : {"extern __shared__ __align__(16) unsigned int rtcg_dynamic_shared[];",
                           "float (*const a_fetch)[96] = (float (*)[96])block_memory;",
                           "float (*const b_fetch)[96] = (float (*)[96])(block_memory + 36864);"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(generate(tiled("96"), Target::opencl).launches.front().dynamic_shared_bytes, 0);
  EXPECT_ERROR("loopy.generate.too_much_shared_memory",
               generate(tiled("96"), Target::cuda, {.most_shared_bytes = 64 * 1024}));
}

}  // namespace
}  // namespace rtcg::loopy
