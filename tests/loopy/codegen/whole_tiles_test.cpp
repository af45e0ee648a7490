// One test of a whole tile in place of the tests of its parts.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {
namespace {

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

KernelOptions f32_options() {
  return {.name = "kernel", .default_type = cgen::f32};
}

/// The text from `begin` to the end of the loop that begins there.
std::string loop_at(const std::string& begin, const std::string& text) {
  const std::size_t at = text.find(begin);
  std::size_t end = text.find('{', at);
  for (int depth = 1; depth > 0 && ++end < text.size();) {
    depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
  }
  return at == std::string::npos ? "" : text.substr(at, end - at + 1);
}

TEST(WholeTiles, HaveTheLengthOfTheirLoopsInTheText) {
  const Kernel sums = apply_recipe(
      make_kernel("{[i, k]: 0 <= i, k < n}", "c[i] = sum(k, a[k]*b[i])", f32_options()),
      "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0); split_iname(k, 32)\n"
      "add_prefetch(a, [k_inner])");
  EXPECT_EQ(
      generate_text(sums, Target::opencl, {.recipe_comment = false}),
      R"(__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void kernel_1(__global const float *restrict a,
    __global const float *restrict b, __global float *restrict c, const int n) {
  const int i_outer = convert_int_sat(get_group_id(0));
  const int i_inner = (int)(ushort)get_local_id(0);
  __local float a_fetch[32] __attribute__((aligned(16)));
  float acc_k_outer = 0.0f;
  for (int k_outer = 0; k_outer < (n + 31) / 32; ++k_outer) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    a_fetch[i_inner] = 32 * k_outer + i_inner < n ? a[32 * k_outer + i_inner] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (32 * i_outer + i_inner < n) {
      if (32 * k_outer + 31 < n) {
        for (int k_inner = 0; k_inner < 32; ++k_inner) {
          acc_k_outer += a_fetch[k_inner] * b[32 * i_outer + i_inner];
        }
      } else {
        for (int k_inner = 0; k_inner < n - 32 * k_outer; ++k_inner) {
          acc_k_outer += a_fetch[k_inner] * b[32 * i_outer + i_inner];
        }
      }
    }
  }
  if (32 * i_outer + i_inner < n) {
    c[32 * i_outer + i_inner] = acc_k_outer;
  }
}
)");
}

TEST(WholeTiles, RunTheLanesOfAProductWithoutGuards) {
  // no tile in shared memory: reads beyond the arrays must be kept out
  const Kernel product = apply_recipe(
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  f32_options()),
      "split_iname(i, 32, outer_tag=g.1); split_iname(i_inner, 4, outer_tag=l.1, inner_tag=ilp)\n"
      "split_iname(j, 32, outer_tag=g.0); split_iname(j_inner, 4, outer_tag=l.0, inner_tag=ilp)");
  const std::string text = generate_text(product, Target::cuda);
  const std::string whole = loop_at(
      "if (32 * i_outer + 4 * i_inner_outer + 3 < n && 32 * j_outer + 4 * j_inner_outer + 3 < n)",
      text);
  EXPECT_EQ(count_of("for (", whole), 1) << text;
  EXPECT_EQ(count_of(" += ", whole), 16) << text;
  EXPECT_EQ(count_of("if (", whole), 1) << text;
  const std::string tested = generate_text(product, Target::cuda, {.test_whole_tiles = false});
  EXPECT_EQ(count_of("else", tested), 0) << tested;
  EXPECT_EQ(count_of(" += ", tested), 16);
  EXPECT_LT(text.size(), 2 * tested.size() + 300);
}

TEST(WholeTiles, OfPipelinesNeedNoGuardInTheInnerLoop) {
  const Kernel product = apply_recipe(
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  f32_options()),
      "fix_parameters(n:1000)\n"
      "split_iname(i, 64, outer_tag=g.1); split_iname(i_inner, 4, outer_tag=l.1, inner_tag=ilp)\n"
      "split_iname(j, 64, outer_tag=g.0); split_iname(j_inner, 4, outer_tag=l.0, inner_tag=ilp)\n"
      "split_iname(k, 16)\n"
      "add_prefetch(a, [k_inner, i_inner_inner, i_inner_outer])\n"
      "add_prefetch(b, [j_inner_inner, j_inner_outer, k_inner])\n"
      "pipeline([a_fetch, b_fetch], k_outer, 3)");
  for (const bool whole_tiles : {false, true}) {
    const std::string text =
        generate_text(product, Target::cuda, {.test_whole_tiles = whole_tiles});
    const std::string inner = loop_at("for (int k_inner = 0", text);
    EXPECT_EQ(count_of("if (", inner), 0) << text;
    EXPECT_EQ(count_of(" += ", inner), 16) << text;
    EXPECT_EQ(count_of("k_inner < 16;", text), whole_tiles ? 1 : 0) << text;
    EXPECT_EQ(count_of("    if (k_outer < 62) {\n", text), whole_tiles ? 1 : 0) << text;
  }
}

TEST(WholeTiles, AreNotAskedForWhereNothingRepeats) {
  const auto text_of = [](const char* recipe, Target target) {
    return generate_text(
        apply_recipe(make_kernel("{[i]: 0 <= i < n}", "a[i] = 2.0*b[i]", f32_options()), recipe),
        target);
  };
  const char* threads = "split_iname(i, 128, outer_tag=g.0, inner_tag=l.0)";
  EXPECT_EQ(count_of("else", text_of(threads, Target::cuda)), 0);
  // plain loops on the host: its compiler does as well with the shorter end
  EXPECT_EQ(count_of("if (", text_of("split_iname(i, 16)", Target::host)), 0);
  // a tile that is never whole
  EXPECT_EQ(count_of("else", text_of("fix_parameters(n:20); split_iname(i, 32, outer_tag=g.0)\n"
                                     "split_iname(i_inner, 8, outer_tag=l.0, inner_tag=ilp)",
                                     Target::cuda)),
            1);
  EXPECT_EQ(count_of("else", text_of("fix_parameters(n:7)\n"
                                     "split_iname(i, 8, outer_tag=g.0, inner_tag=ilp)",
                                     Target::cuda)),
            0);
}

TEST(WholeTiles, BelowADiagonalAreNoTiles) {
  // j <= i holds for all j of the loop only in the last row
  const std::string text = generate_text(
      apply_recipe(make_kernel("{[i, j]: 0 <= j <= i < 100}", "a[i, j] = 1.0", f32_options()),
                   "split_iname(i, 10, outer_tag=g.0, inner_tag=l.0)"),
      Target::cuda);
  EXPECT_EQ(count_of("else", text), 0) << text;
}

TEST(WholeTiles, PutWhatALaneDoesUnderOneTestWhereTheyAreCutOff) {
  const std::string text = generate_text(
      apply_recipe(make_kernel("{[i, m]: 0 <= i < n and 0 <= m < 4}",
                               "<> s = sum(m, a[m]*b[i, m])\n<> t = sum(m, a[m]*c[i, m])\n"
                               "d[i] = s + t",
                               f32_options()),
                   "split_iname(i, 4, outer_tag=g.0, inner_tag=ilp)\ntag_inames(m:unr)"),
      Target::cuda);
  // one for the whole tile, and one for each lane that may but need not be there
  EXPECT_EQ(count_of("if (", text), 3) << text;
  EXPECT_EQ(count_of("if (4 * i_outer + 1 < n) {", text), 1) << text;
  EXPECT_EQ(count_of("if (4 * i_outer + 2 < n) {", text), 1) << text;
}

}  // namespace
}  // namespace rtcg::loopy
