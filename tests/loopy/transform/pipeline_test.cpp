#include "rtcg/loopy/transform/pipeline.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Sums of rows in blocks of 32 rows, read through tiles of 32 x 8.
Kernel row_sums() {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "out[i] = sum(k, a[i, k])",
                  {.name = "row_sums", .default_type = cgen::f32});
  return apply_recipe(kernel,
                      "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                      "split_iname(k, 8)\n"
                      "add_prefetch(a, [i_inner, k_inner], default_tag=l.auto)");
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

Kernel piped_product(const std::string& range, const std::string& tile) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < n and " + range + "}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f32});
  return apply_recipe(kernel,
                      "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1)\n"
                      "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)\n"
                      "split_iname(k, " +
                          tile +
                          ")\n"
                          "add_prefetch(b, [k_inner, j_inner], outer_inames=[i_outer])\n"
                          "pipeline([b_fetch], k_outer, 2)");
}

TEST(Pipeline, BeginsWhereTheBlockDoes) {
  EXPECT_FALSE(why_not([&] { return piped_product("0 <= k <= i", "8"); }));
  const std::string text =
      generate_text(piped_product("i <= k < n", "4"), Target::opencl, {.recipe_comment = false});
  EXPECT_EQ(
      text.substr(0, text.find("    if (8 * i_outer")),
      R"(__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void loopy_kernel(__global const float *restrict a,
    __global const float *restrict b, __global float *restrict c, const int n) {
  const int j_outer = convert_int_sat(get_group_id(0));
  const int i_outer = convert_int_sat(get_group_id(1));
  const int j_inner = (int)(ushort)get_local_id(0);
  const int i_inner = (int)(ushort)get_local_id(1);
  __local float b_fetch[2][4][8] __attribute__((aligned(16)));
  if (i_inner < 4) {
    b_fetch[0][i_inner][j_inner] = 8 * i_outer + i_inner < n && 8 * j_outer + j_inner < n ?
        b[n * (8 * i_outer + i_inner) + 8 * j_outer + j_inner] : 0.0f;
  }
  float acc_k_outer = 0.0f;
  for (int k_outer = 2 * i_outer; k_outer < (n + 3) / 4; ++k_outer) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (i_inner < 4 && 4 * k_outer + 4 < n) {
      b_fetch[(k_outer + 1) % 2][i_inner][j_inner] =
          4 * k_outer + i_inner + 4 < n && 8 * j_outer + j_inner < n ?
          b[n * (4 * k_outer + i_inner + 4) + 8 * j_outer + j_inner] : 0.0f;
    }
)");
}

TEST(Pipeline, RefusesLoopsWhoseBeginningNoAffineFormGives) {
  // at 8*i_outer/12, rounded up
  EXPECT_ERROR("loopy.pipeline.not_possible", piped_product("i <= k < n", "12"));
}

TEST(Pipeline, FillsBuffersAheadOfTheLoop) {
  const Kernel piped = pipeline(row_sums(), {"a_fetch"}, "k_outer", 3);
  EXPECT_EQ(
      generate_text(piped, Target::opencl, {.recipe_comment = false}),
      R"(__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void row_sums(__global const float *restrict a,
    __global float *restrict out, const int m, const int n) {
  const int i_outer = convert_int_sat(get_group_id(0));
  const int i_inner = (int)(ushort)get_local_id(0);
  __local float a_fetch[3][32][8] __attribute__((aligned(16)));
  for (int k_outer_ahead = 0; k_outer_ahead < 2; ++k_outer_ahead) {
    if (8 * k_outer_ahead < m) {
      for (int a_fetch_0_ahead_outer = 0; a_fetch_0_ahead_outer < 8; ++a_fetch_0_ahead_outer) {
        a_fetch[k_outer_ahead][i_inner / 8 + 4 * a_fetch_0_ahead_outer][i_inner % 8] =
            i_inner / 8 + 32 * i_outer + 4 * a_fetch_0_ahead_outer < n &&
            i_inner % 8 + 8 * k_outer_ahead < m ?
            a[m * (i_inner / 8 + 32 * i_outer + 4 * a_fetch_0_ahead_outer) + i_inner % 8 +
            8 * k_outer_ahead] : 0.0f;
      }
    }
  }
  float acc_k_outer = 0.0f;
  for (int k_outer = 0; k_outer < (m + 7) / 8; ++k_outer) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (8 * k_outer + 16 < m) {
      if (32 * i_outer + 31 < n && 8 * k_outer + 23 < m) {
        for (int a_fetch_0_outer = 0; a_fetch_0_outer < 8; ++a_fetch_0_outer) {
          a_fetch[(k_outer + 2) % 3][i_inner / 8 + 4 * a_fetch_0_outer][i_inner % 8] =
              a[m * (i_inner / 8 + 32 * i_outer + 4 * a_fetch_0_outer) + i_inner % 8 + 8 * k_outer +
              16];
        }
      } else {
        for (int a_fetch_0_outer = 0; a_fetch_0_outer < 8; ++a_fetch_0_outer) {
          a_fetch[(k_outer + 2) % 3][i_inner / 8 + 4 * a_fetch_0_outer][i_inner % 8] =
              i_inner / 8 + 32 * i_outer + 4 * a_fetch_0_outer < n &&
              i_inner % 8 + 8 * k_outer + 16 < m ?
              a[m * (i_inner / 8 + 32 * i_outer + 4 * a_fetch_0_outer) + i_inner % 8 + 8 * k_outer +
              16] : 0.0f;
        }
      }
    }
    if (8 * k_outer + 7 < m) {
      for (int k_inner = 0; k_inner < 8; ++k_inner) {
        acc_k_outer += a_fetch[k_outer % 3][i_inner][k_inner];
      }
    } else {
      for (int k_inner = 0; k_inner < m - 8 * k_outer; ++k_inner) {
        acc_k_outer += a_fetch[k_outer % 3][i_inner][k_inner];
      }
    }
  }
  if (32 * i_outer + i_inner < n) {
    out[32 * i_outer + i_inner] = acc_k_outer;
  }
}
)");
}

TEST(Pipeline, CopiesAsynchronouslyInCuda) {
  const std::string text =
      generate_text(pipeline(row_sums(), {"a_fetch"}, "k_outer", 3), Target::cuda);
  EXPECT_NE(text.find("cp.async.ca.shared.global [%0], [%1], 4, %2;"), std::string::npos) << text;
  EXPECT_NE(text.find("cp.async.wait_group 1;"), std::string::npos);
  // before the loop and within it: whether a tile is whole is an operand of the copy
  EXPECT_EQ(count_of("copy_async_4(&a_fetch", text), 2) << text;
  // before the loop, and after the copies within it
  EXPECT_EQ(count_of("  commit_copies();\n", text), 2) << text;
  EXPECT_LT(text.find("    wait_for_copies_1();\n    __syncthreads();\n"), text.size()) << text;
}

TEST(Pipeline, LeavesRoomForTwoLargeBlocks) {
  const auto product = [](const char* items) {
    return generate_text(
        apply(make_kernel("{[i, j, k]: 0 <= i, j, k < 1024}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                          {.default_type = cgen::f32}),
              parse_slicing(std::string("j: g.0 ilp*2 l.0*16 vec*4; i: g.1 l.1*") + items +
                            "; k: for for*16; fetch a transposed pad 4; fetch b; stages 2")),
        Target::cuda);
  };
  // 64 sums a thread; three blocks have room where there are 16
  for (const auto& [items, bounds] : {std::pair("16 ilp*8", "(256, 2)"),
                                      {"8 ilp*8", "(128)"},
                                      {"32 ilp*8", "(512)"},
                                      {"16 ilp*2", "(256)"}}) {
    const std::string text = product(items);
    EXPECT_NE(text.find(std::string("__launch_bounds__") + bounds), std::string::npos)
        << items << "\n"
        << text.substr(0, 4000);
  }
}

TEST(Pipeline, TakesOneBarrierAnIteration) {
  for (const int stages : {2, 3, 4}) {
    const std::string text =
        generate_text(pipeline(row_sums(), {"a_fetch"}, "k_outer", stages), Target::cuda);
    const std::string loop = text.substr(text.find("for (int k_outer = 0"));
    EXPECT_EQ(count_of("__syncthreads();", loop), 1) << text;
  }
}

TEST(Pipeline, IsRecorded) {
  const Kernel piped = pipeline(row_sums(), {"a_fetch"}, "k_outer", 2);
  EXPECT_EQ(to_string(piped.recipe.back()), "pipeline([a_fetch], k_outer, 2)");
  EXPECT_EQ(to_string(apply_recipe(row_sums(), "pipeline([a_fetch], k_outer, 2)")),
            to_string(piped));
}

TEST(Pipeline, CopiesWhatHasNoSuchSizeAtOnce) {
  Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", "out[i] = sum(k, a[i, k])",
                              {.default_type = cgen::i16});
  kernel = apply_recipe(kernel,
                        "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                        "split_iname(k, 8)\n"
                        "add_prefetch(a, [i_inner, k_inner], default_tag=l.auto)\n"
                        "pipeline(a_fetch, k_outer, 2)");
  EXPECT_EQ(count_of("copy_async", generate_text(kernel, Target::cuda)), 0);
}

TEST(Pipeline, CopiesShortNumbersBy16Bytes) {
  for (const cgen::Type& type : {cgen::f16, cgen::i8}) {
    Kernel kernel = make_kernel("{[i, k]: 0 <= i < 64 and 0 <= k < 64}",
                                "out[i] = reduce(max, k, a[i, k])", {.default_type = type});
    kernel = apply_recipe(kernel,
                          "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                          "split_iname(k, 16)\n"
                          "add_prefetch(a, [i_inner, k_inner], default_tag=l.auto)\n"
                          "pipeline(a_fetch, k_outer, 2)");
    // its definition, and calls before the loop and within it
    EXPECT_EQ(count_of("copy_async_16(", generate_text(kernel, Target::cuda)), 3);
  }
}

TEST(Pipeline, Refuses) {
  const Kernel kernel = row_sums();
  EXPECT_ERROR("loopy.pipeline.unknown_iname", pipeline(kernel, {"a_fetch"}, "q", 2));
  EXPECT_ERROR("loopy.pipeline.unknown_temporary", pipeline(kernel, {"b_fetch"}, "k_outer", 2));
  EXPECT_ERROR("loopy.pipeline.bad_stages", pipeline(kernel, {"a_fetch"}, "k_outer", 1));
  EXPECT_ERROR("loopy.pipeline.bad_stages", pipeline(kernel, {"a_fetch"}, "k_outer", 9));
  EXPECT_ERROR("loopy.pipeline.not_possible", pipeline(kernel, {}, "k_outer", 2));
  EXPECT_ERROR("loopy.pipeline.not_possible", pipeline(kernel, {"a_fetch"}, "i_outer", 2));
  EXPECT_EQ(why_not([&] { return pipeline(kernel, {"a_fetch"}, "i_outer", 2); }),
            "'i_outer' is not a loop that begins at a constant");
  EXPECT_EQ(why_not([&] { return pipeline(kernel, {"a_fetch"}, "k_inner", 2); }),
            "'a_fetch' cannot be filled ahead: 'fill_a_fetch', which fills it, is not within "
            "'k_inner'");
  EXPECT_EQ(why_not([&] { return pipeline(kernel, {"a_fetch"}, "k_outer", 2); }), std::nullopt);
  EXPECT_EQ(why_not([&] {
              return pipeline(apply_recipe(kernel, "fix_parameters(m:12)"), {"a_fetch"}, "k_outer",
                              3);
            }),
            "'k_outer' has 2 iterations, which are fewer than 3 stages");
}

TEST(Pipeline, RefusesWhatCannotRunAhead) {
  const auto refused = [](const char* statements) {
    const Kernel kernel =
        make_kernel("{[k, x, y]: 0 <= k < n and 0 <= x, y < 8}", statements,
                    {.arguments = "a, out: f32[n, 8]", .default_type = cgen::f32});
    return why_not([&] { return pipeline(kernel, {"t"}, "k", 2); }).value_or("possible");
  };
  const std::string twice = refused(
      "for k\n for x\n  <> t[x] = a[k, x]\n end\n for y\n  t[y] = 2*t[y]\n  out[k, y] = t[y]\n "
      "end\nend");
  EXPECT_NE(twice.find("2 statements fill it"), std::string::npos) << twice;
  const std::string changed =
      refused("for k\n for x\n  <> t[x] = out[k, x]\n end\n for y\n  out[k, y] = t[y]\n end\nend");
  EXPECT_NE(changed.find("reads 'out', which the kernel changes"), std::string::npos) << changed;
}

}  // namespace
}  // namespace rtcg::loopy
