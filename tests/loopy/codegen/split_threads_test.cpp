// The threads of a block on the host: what each has of its own is declared within their loop.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {
namespace {

TEST(SplitThreads, DeclaresWithinTheLoopOfLanesWhatBeginsUnderAConditionOrElementByElement) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m} {[l]: 0 <= l < 3}",
                               "<f32> w[3]\n"
                               "for i\n"
                               "if b[i] > 0\n<f32> t = 1\nend\n"
                               "if b[i] <= 0\nt = 2\nend\n"
                               "for l\nw[l] = l*b[i]\nend\n"
                               "out[i] = t + sum(k, a[i, k]) + w[1]\n"
                               "end",
                               {.default_type = cgen::f32}),
                   "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(infer_types(kernel), Target::host);
  const std::size_t lanes = text.find("#pragma omp simd");
  ASSERT_NE(lanes, std::string::npos) << text;
  for (const char* declaration : {"float t;", "float w[3];", "float acc_k = 0.0f;"}) {
    const std::size_t place = text.find(declaration);
    EXPECT_NE(place, std::string::npos) << declaration << "\n" << text;
    EXPECT_GT(place, lanes) << declaration << "\n" << text;
  }
}

// a test within the loop would keep compilers from vectorising it
TEST(SplitThreads, BoundsLoopsOfThreadsByWhatPartialTilesTest) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j]: 0 <= i < n and 1 <= j < n - 1}", "b[i, j] = 2*a[i, j - 1]",
                               {.arguments = "a, b: f32[n, n]"}),
                   "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n"
                   "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1)");
  const std::string text = generate_text(kernel, Target::host);
  EXPECT_NE(text.find(R"(
  for (int i_inner = 0; i_inner < rtcg_min_i32(8, n - 8 * i_outer); ++i_inner) {
#pragma omp simd
    for (int j_inner = rtcg_max_i32(0, 1 - 16 * j_outer);
        j_inner < rtcg_min_i32(16, n - 16 * j_outer - 1); ++j_inner) {
      b[)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("if ("), std::string::npos) << text;
}

TEST(SplitThreads, TestsWhatIsNoBoundOfALoopOfThreads) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i]: 0 <= i and 3*i < n}", "b[3*i] = 1", {.arguments = "b: f32[n]"}),
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(kernel, Target::host);
  EXPECT_NE(text.find("if (24 * i_outer + 3 * i_inner < n) {"), std::string::npos) << text;
}

// gcc vectorises a loop over threads around one loop, not around several
TEST(SplitThreads, RunsThreadsWithinLoopsAroundLoops) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j, k]: 0 <= i, j, k < 64}",
                               "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f32}),
                   "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\ntag_inames(i:g.1)\n"
                   "split_iname(k, 16)\nadd_prefetch(b, k_inner:j_inner)");
  const std::string text = generate_text(kernel, Target::host);
  const auto expect_in_order = [&](const std::vector<std::string>& parts) {
    std::size_t place = 0;
    for (const std::string& part : parts) {
      place = text.find(part, place);
      ASSERT_NE(place, std::string::npos) << part << "\n" << text;
    }
  };
  expect_in_order({"float acc_k_outer[16];", "#pragma omp simd\n  for (int j_inner",
                   "acc_k_outer[j_inner] = 0.0f;",
                   "for (int k_outer = 0; k_outer < 4; ++k_outer) {",
                   "#pragma omp simd\n    for (int j_inner", "b_fetch[", "#pragma omp simd",
                   "for (int k_inner = 0; k_inner < 16; ++k_inner) {", "acc_k_outer[j_inner] +="});
}

TEST(SplitThreads, FoldsConstantBoundsOfLoopsOfThreads) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 64}", "b[i] = sum(k, a[i, k])",
                               {.default_type = cgen::f32}),
                   "tag_inames(i:g.0)\nsplit_iname(k, 32, inner_tag=l.0)");
  const std::string text = generate_text(kernel, Target::host);
  EXPECT_NE(text.find("for (int k_inner = 0; k_inner < 16; ++k_inner) {"), std::string::npos)
      << text;
}

// gcc vectorises a call of expf in the innermost loop alone
TEST(SplitThreads, RunsThreadsWithinLoopsAroundCalls) {
  const auto text_of = [](const char* statement) {
    return generate_text(apply_recipe(make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 512}",
                                                  statement, {.default_type = cgen::f32}),
                                      "tag_inames(i:g.0)\nsplit_iname(k, 32, inner_tag=l.0)"),
                         Target::host);
  };
  const auto is_within = [](const std::string& text) {
    const std::size_t steps = text.find("for (int k_outer = 0;");
    const std::size_t threads = text.find("for (int k_inner = 0; k_inner < 32; ++k_inner)", steps);
    return threads != std::string::npos && threads < text.find('}', steps);
  };
  for (const char* statement : {"b[i] = sum(k, exp(a[i, k]))", "b[i] = reduce(max, k, a[i, k])"}) {
    EXPECT_TRUE(is_within(text_of(statement))) << text_of(statement);
  }
  for (const char* statement : {"b[i] = sum(k, a[i, k])", "b[i] = sum(k, sqrt(a[i, k]))"}) {
    EXPECT_FALSE(is_within(text_of(statement))) << text_of(statement);
  }
}

// z[s] and q[s] are read before they are written: what the step before left there
TEST(SplitThreads, KeepWhatTheirStatementsLeaveForTheNextStep) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[c, t, s]: 0 <= c < n and 0 <= t < m and 0 <= s < 2}",
                  "for c\n<f64> z[2]\n<f64> u[2]\nfor t\n<f64> v = x[c, t]\n"
                  "for s\n"
                  "u[s] = v + (z[s] if t > 0 else 0)\n"
                  "z[s] = 0.5*v\n"
                  "v = u[s]\n"
                  "end\ny[c, t] = v\nend\nend",
                  {.arguments = "x, y: f64[n, m]; n, m: i32", .sequential_dependencies = true}),
      "split_iname(c, 32, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(kernel, Target::host);
  const std::size_t steps = text.find("for (int t = 0;");
  ASSERT_NE(steps, std::string::npos) << text;
  EXPECT_LT(text.find("double z["), steps) << text;
  EXPECT_GT(text.find("double u["), steps) << text;
}

}  // namespace
}  // namespace rtcg::loopy
