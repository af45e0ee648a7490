#include "rtcg/loopy/transform/vectorize.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel by_fours(const char* statements, const char* assumptions = "", int length = 4) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", statements,
                              {.default_type = cgen::f32, .assumptions = assumptions});
  return split_iname(kernel, "i", length, {.inner_name = "v", .outer_tag = "g.0"});
}

TEST(Vectorize, ReadsAndWritesFourElementsAtOnce) {
  const Kernel before = by_fours("b[i] = s*a[i]", "n mod 4 = 0");
  const Kernel after = vectorize(before, "v");
  EXPECT_EQ(
      generate_text(after, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(1) loopy_kernel(const float *__restrict__ a,
    float *__restrict__ b, const int n, const float s) {
  const int i_outer = (int)blockIdx.x;
  const float4 a_vec = *(const float4 *)&a[4 * i_outer];
  *(float4 *)&b[4 * i_outer] = make_float4(s * a_vec.x, s * a_vec.y, s * a_vec.z, s * a_vec.w);
}
)");
  Kernel unsplit = before;
  unsplit.recipe.clear();
  expect_recipe(unsplit, vectorize(unsplit, "v", {"a", "b"}), "vectorize(v, arrays=[a, b])\n");
}

TEST(Vectorize, GoesOneByOneWhereNotAllLanesAreIn) {
  const Kernel after = vectorize(by_fours("b[i] = a[i] + 1"), "v");
  EXPECT_EQ(
      generate_text(after, Target::opencl, {.recipe_comment = false}),
      R"(__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void loopy_kernel(__global const float *restrict a,
    __global float *restrict b, const int n) {
  const int i_outer = convert_int_sat(get_group_id(0));
  if (4 * i_outer + 3 < n) {
    const float4 a_vec = *(__global const float4 *)&a[4 * i_outer];
    *(__global float4 *)&b[4 * i_outer] =
        (float4)(a_vec.x + 1.0f, a_vec.y + 1.0f, a_vec.z + 1.0f, a_vec.w + 1.0f);
  } else {
    b[4 * i_outer] = a[4 * i_outer] + 1.0f;
    if (4 * i_outer + 1 < n) {
      b[4 * i_outer + 1] = a[4 * i_outer + 1] + 1.0f;
    }
    if (4 * i_outer + 2 < n) {
      b[4 * i_outer + 2] = a[4 * i_outer + 2] + 1.0f;
    }
  }
}
)");
}

// No language has vectors of all these types, or of so many elements: they are parts of words.
TEST(Vectorize, PacksElementsOfFewBytesInWords) {
  const auto text = [](const char* arguments, const char* statement, int lanes, Target target) {
    const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", statement,
                                      {.arguments = arguments, .assumptions = "n mod 16 = 0"});
    return generate_text(
        vectorize(split_iname(kernel, "i", lanes, {.inner_name = "v", .outer_tag = "g.0"}), "v"),
        target, {.recipe_comment = false});
  };
  EXPECT_EQ(text("a, b: f16[n]; n: i32", "b[i] = a[i]", 2, Target::cuda), R"(#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(1) loopy_kernel(const __half *__restrict__ a,
    __half *__restrict__ b, const int n) {
  const int i_outer = (int)blockIdx.x;
  const unsigned int a_vec = *(const unsigned int *)&a[2 * i_outer];
  *(unsigned int *)&b[2 * i_outer] =
      (unsigned int)__half_as_ushort(__ushort_as_half((unsigned short)a_vec)) |
      ((unsigned int)__half_as_ushort(__ushort_as_half((unsigned short)(a_vec >> 16u))) << 16u);
}
)");
  const std::string bytes = text("a, b: u8[n]; n: i32", "b[i] = a[i]", 4, Target::opencl);
  EXPECT_NE(bytes.find("const uint a_vec = *(__global const uint *)&a[4 * i_outer];"),
            std::string::npos)
      << bytes;
  EXPECT_NE(bytes.find("((uint)(uchar)(a_vec >> 16u) << 16u) |"), std::string::npos) << bytes;
  const std::string halves = text("a, b: f16[n]; n: i32", "b[i] = 2*a[i]", 8, Target::cuda);
  EXPECT_NE(halves.find("const uint4 a_vec = *(const uint4 *)&a[8 * i_outer];"), std::string::npos)
      << halves;
  EXPECT_NE(halves.find("*(uint4 *)&b[8 * i_outer] ="), std::string::npos) << halves;
}

TEST(Vectorize, LoadsAVectorOnceForAllRowsOfAThread) {
  const Kernel sums = make_kernel("{[i, j]: 0 <= i < 3 and 0 <= j < n}", "c[i, j] = a[i, j] + b[j]",
                                  {.default_type = cgen::f32, .assumptions = "n mod 4 = 0"});
  const Kernel after = vectorize(
      split_iname(tag_inames(sums, "i:ilp"), "j", 4, {.inner_name = "v", .outer_tag = "g.0"}), "v");
  EXPECT_EQ(
      generate_text(after, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(1) loopy_kernel(const float *__restrict__ a,
    const float *__restrict__ b, float *__restrict__ c, const int n) {
  const int j_outer = (int)blockIdx.x;
  const float4 a_vec = *(const float4 *)&a[4 * j_outer];
  const float4 b_vec = *(const float4 *)&b[4 * j_outer];
  *(float4 *)&c[4 * j_outer] =
      make_float4(a_vec.x + b_vec.x, a_vec.y + b_vec.y, a_vec.z + b_vec.z, a_vec.w + b_vec.w);
  const float4 a_vec_1 = *(const float4 *)&a[4 * j_outer + n];
  *(float4 *)&c[4 * j_outer + n] =
      make_float4(a_vec_1.x + b_vec.x, a_vec_1.y + b_vec.y, a_vec_1.z + b_vec.z,
      a_vec_1.w + b_vec.w);
  const float4 a_vec_2 = *(const float4 *)&a[4 * j_outer + 2 * n];
  *(float4 *)&c[4 * j_outer + 2 * n] =
      make_float4(a_vec_2.x + b_vec.x, a_vec_2.y + b_vec.y, a_vec_2.z + b_vec.z,
      a_vec_2.w + b_vec.w);
}
)");
  // what is loaded under a condition does not exist after it
  const Kernel cut = make_kernel("{[i, j]: 0 <= i < 3 and 0 <= j < n}", "c[i, j] = d[i] + b[j]",
                                 {.default_type = cgen::f32});
  const std::string text = generate_text(
      vectorize(
          split_iname(tag_inames(cut, "i:ilp"), "j", 4, {.inner_name = "v", .outer_tag = "g.0"}),
          "v"),
      Target::cuda, {.recipe_comment = false, .test_whole_tiles = false});
  for (const char* name : {"b_vec", "b_vec_1", "b_vec_2"}) {
    EXPECT_NE(
        text.find(std::string("const float4 ") + name + " = *(const float4 *)&b[4 * j_outer];"),
        std::string::npos)
        << text;
  }
}

TEST(Vectorize, LeavesVectorsToTheCompilersOfTheHost) {
  const std::string text = generate_text(vectorize(by_fours("b[i] = a[i] + 1"), "v"), Target::host);
  EXPECT_EQ(text.find("_vec "), std::string::npos) << text;
}

TEST(Vectorize, AsksForAlignedArrays) {
  const GeneratedProgram program =
      generate(vectorize(by_fours("b[i] = s*a[i]"), "v"), Target::cuda);
  EXPECT_EQ(program.parameters[0].align_bytes, 16);
  EXPECT_EQ(generate(by_fours("b[i] = s*a[i]"), Target::cuda).parameters[0].align_bytes, 1);
}

TEST(Vectorize, RefusesInamesThatAreNoLanes) {
  EXPECT_ERROR("loopy.vectorize.unknown_iname", vectorize(by_fours("b[i] = a[i]"), "q"));
  EXPECT_ERROR("loopy.vectorize.bad_length", vectorize(by_fours("b[i] = a[i]", "", 3), "v"));
  EXPECT_ERROR("loopy.vectorize.bad_length", vectorize(by_fours("b[i] = a[i]", "", 32), "v"));
  EXPECT_ERROR("loopy.vectorize.tagged_already",
               vectorize(tag_inames(by_fours("b[i] = a[i]"), "v:unr"), "v"));
  EXPECT_EQ(why_not([&] { return vectorize(by_fours("b[i] = a[i]"), "v"); }), std::nullopt);
}

TEST(Vectorize, SaysWhyAnAccessIsNoVector) {
  EXPECT_ERROR("loopy.vectorize.no_vector", vectorize(by_fours("b[2*i] = a[3*i]"), "v"));
  EXPECT_EQ(why_not([&] { return vectorize(by_fours("b[i] = a[2*i]"), "v", {"a"}); }),
            "'a[8*i_outer + 2*v]' in statement 'set_b' does not go through neighbours in memory "
            "along 'v'");
  EXPECT_EQ(why_not([&] { return vectorize(by_fours("b[i] = a[i + 1]"), "v", {"a"}); }),
            "'a[4*i_outer + v + 1]' in statement 'set_b' does not start at a multiple of 4 "
            "elements, as far as is known: assume lengths of rows to be multiples, or pad them");
  EXPECT_EQ(why_not([&] { return vectorize(by_fours("b[i] = a[0]"), "v", {"a"}); }),
            "'a' is not touched along 'v'");
  EXPECT_ERROR("loopy.vectorize.no_vector", vectorize(by_fours("b[i] = b[i + 4]"), "v"));
}

TEST(Vectorize, RefusesVectorsLongerThanSixteenBytes) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]", {.default_type = cgen::f64});
  kernel = split_iname(kernel, "i", 4, {.inner_name = "v"});
  EXPECT_EQ(why_not([&] { return vectorize(kernel, "v"); }),
            "no access becomes a vector along 'v': 'a[4*i_outer + v]' in statement 'set_b' has no "
            "type of which 4 fit into 16 bytes");
}

TEST(Vectorize, AsksWhetherRowsStartAtMultiples) {
  const auto rows = [](const char* assumptions) {
    Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = a[i, j]",
                                {.default_type = cgen::f32, .assumptions = assumptions});
    return split_iname(kernel, "j", 4, {.inner_name = "v"});
  };
  EXPECT_TRUE(why_not([&] { return vectorize(rows(""), "v"); }).has_value());
  EXPECT_EQ(why_not([&] { return vectorize(rows("m mod 8 = 0"), "v"); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
