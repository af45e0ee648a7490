// Acceptance cases with data fetched ahead into shared memory and registers.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

KernelOptions f32_options(std::map<std::string, std::int64_t> fixed = {}) {
  KernelOptions options;
  options.default_type = cgen::f32;
  options.fixed_parameters = std::move(fixed);
  return options;
}

SplitOptions fetch_tags(std::string outer, std::string inner) {
  SplitOptions options;
  options.outer_tag = std::move(outer);
  options.inner_tag = std::move(inner);
  return options;
}

Kernel product(const KernelOptions& options) {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])", options);
}

Kernel tiled_product(Kernel kernel) {
  kernel = split_iname(std::move(kernel), "i", 16, fetch_tags("g.1", "l.1"));
  kernel = split_iname(std::move(kernel), "j", 16, fetch_tags("g.0", "l.0"));
  kernel = split_iname(std::move(kernel), "k", 16);
  kernel = add_prefetch(std::move(kernel), "a", {"k_inner", "i_inner"});
  return add_prefetch(std::move(kernel), "b", {"j_inner", "k_inner"});
}

TEST(Prefetch, OfTilesThatDivideNeedsTwoBarriersAndNoGuard) {
  const KernelOptions options = f32_options({{"n", 48}});
  const Kernel tiled = tiled_product(product(options));
  const GeneratedProgram program = generate(tiled, Target::cuda);
  EXPECT_EQ(program.launches.front().shared_bytes, 2 * 16 * 16 * 4);
  EXPECT_EQ(program.launches.front().block[0] * program.launches.front().block[1], 256);
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 2);
  EXPECT_EQ(count_of("if (", text), 0);
  EXPECT_EQ(count_of(" ? ", text), 0);
  expect_same_everywhere(tiled, product(options), {});
}

TEST(Prefetch, LaysRowsThatAreShorterThanTheBlockSideBySide) {
  const KernelOptions options = f32_options({{"n", 64}});
  Kernel tiled = split_iname(product(options), "i", 32, fetch_tags("g.1", ""));
  tiled = split_iname(tiled, "i_inner", 8, fetch_tags("ilp", "l.1"));
  tiled = split_iname(tiled, "j", 16, fetch_tags("g.0", "l.0"));
  tiled = split_iname(tiled, "k", 4);
  tiled = add_prefetch(tiled, "a", {"k_inner", "i_inner_outer", "i_inner_inner"});
  // 32 rows of 4: by 128 threads at once instead of by 32 threads, four times
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_NE(text.find("4 * i_inner_inner][j_inner % 4] ="), std::string::npos) << text;
  EXPECT_EQ(count_of("if (", text), 0) << text;
  expect_same_everywhere(tiled, product(options), {});
}

TEST(Prefetch, OfTilesThatDoNotDivideHasItsBarriersOutsideOfGuards) {
  const Kernel tiled = tiled_product(product(f32_options()));
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 2);
  // whether the piece of k is whole, and at the end
  EXPECT_EQ(count_of("if (", text), 2) << text;
  for (const int n : {1, 15, 16, 17, 50}) {
    expect_same_everywhere(tiled, product(f32_options()), {{"n", n}});
  }
}

TEST(Prefetch, FeedsRegisterTilesWithoutGuardsInTheInnerLoop) {
  for (const int length : {0, 80}) {
    const KernelOptions options = length == 0 ? f32_options() : f32_options({{"n", length}});
    Kernel tiled = split_iname(product(options), "i", 32, fetch_tags("g.1", ""));
    tiled = split_iname(tiled, "i_inner", 4, fetch_tags("l.1", "ilp"));
    tiled = split_iname(tiled, "j", 32, fetch_tags("g.0", ""));
    tiled = split_iname(tiled, "j_inner", 8, fetch_tags("ilp", "l.0"));
    tiled = split_iname(tiled, "k", 8);
    tiled = add_prefetch(tiled, "a", {"k_inner", "i_inner_inner", "i_inner_outer"});
    tiled = add_prefetch(tiled, "b", {"j_inner_inner", "j_inner_outer", "k_inner"});
    const std::string text = generate_text(tiled, Target::cuda);
    EXPECT_EQ(count_of("float acc_k_outer_", text), 16);
    const std::size_t inner = text.find("for (int k_inner");
    const std::size_t end = text.find("}", inner);
    EXPECT_EQ(count_of("if (", text.substr(inner, end - inner)), 0) << text;
    if (length == 0) {
      expect_same_everywhere(tiled, product(options), {{"n", 40}});
    } else {
      expect_same_everywhere(tiled, product(options), {});
    }
  }
}

TEST(Prefetch, OfSharedMemoryIntoRegistersLoadsEachOperandOnce) {
  const Kernel plain = product(f32_options({{"n", 64}}));
  const Kernel tiled = apply_recipe(plain,
                                    "split_iname(i, 32, outer_tag=g.0)\n"
                                    "split_iname(i_inner, 2, outer_tag=l.0, inner_tag=ilp)\n"
                                    "split_iname(j, 32, outer_tag=g.1)\n"
                                    "split_iname(j_inner, 2, outer_tag=l.1, inner_tag=ilp)\n"
                                    "split_iname(k, 16)\n"
                                    "add_prefetch(a, [k_inner, i_inner_inner, i_inner_outer])\n"
                                    "add_prefetch(b, [k_inner, j_inner_inner, j_inner_outer])\n"
                                    "extract_subst(of_a, \"a_fetch[x, y]\", [x, y])\n"
                                    "extract_subst(of_b, \"b_fetch[x, y]\", [x, y])\n"
                                    "precompute(of_a, [i_inner_inner], default_tag=unr)\n"
                                    "precompute(of_b, [j_inner_inner], default_tag=unr)");
  const std::string text = generate_text(tiled, Target::cuda);
  const std::string inner = text.substr(text.find("for (int k_inner"));
  EXPECT_EQ(count_of("a_fetch[", inner), 2) << text;
  EXPECT_EQ(count_of("b_fetch[", inner), 2) << text;
  EXPECT_EQ(count_of("__syncthreads", text), 2);
  EXPECT_EQ(count_of("if (", text), 0);
  expect_same_everywhere(tiled, plain, {});
}

TEST(Prefetch, TransposesThroughSharedMemory) {
  const KernelOptions options = f32_options({{"n", 48}});
  const Kernel plain = make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[j, i]", options);
  Kernel tiled = split_iname(plain, "i", 16, fetch_tags("g.0", "l.1"));
  tiled = split_iname(tiled, "j", 16, fetch_tags("g.1", "l.0"));
  tiled = add_prefetch(tiled, "a", {"i_inner", "j_inner"});
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 1);
  EXPECT_EQ(count_of("if (", text), 0);
  expect_same_everywhere(tiled, plain, {});
}

TEST(Prefetch, OfAStencilTakesTheBoxAroundIt) {
  KernelOptions options = f32_options();
  options.arguments = "a: f32[n + 2, n + 2]";
  const Kernel plain = make_kernel("{[i, j]: 0 <= i, j < n}",
                                   "z[i, j] = -2*a[i + 1, j + 1] + a[i, j + 1] + a[i + 2, j + 1] + "
                                   "a[i + 1, j] + a[i + 1, j + 2]",
                                   options);
  Kernel tiled = split_iname(plain, "i", 16, fetch_tags("g.1", "l.1"));
  tiled = split_iname(tiled, "j", 16, fetch_tags("g.0", "l.0"));
  tiled = add_prefetch(tiled, "a", {"i_inner", "j_inner"});
  EXPECT_EQ(generate(tiled, Target::cuda).launches.front().shared_bytes, 18 * 18 * 4);
  EXPECT_EQ(count_of("__syncthreads", generate_text(tiled, Target::cuda)), 1);
  for (const int n : {16, 32, 37}) {
    expect_same_everywhere(tiled, plain, {{"n", n}});
  }
}

TEST(Prefetch, ServesParticlesFromSharedMemoryAndRegisters) {
  KernelOptions options = f32_options();
  options.arguments = "x: f32[n, 3]";
  const Kernel plain = make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < 3}", R"(
      distance(k) := x[i, k] - x[j, k]
      inverse := rsqrt(sum(k, distance(k)**2))
      pot[i] = sum(j, if(i != j, inverse, 0))
  )",
                                   options);
  Kernel sliced = expand_subst(plain);
  sliced = split_iname(sliced, "i", 32, fetch_tags("g.0", "l.0"));
  sliced = split_iname(sliced, "j", 32);
  PrecomputeOptions shared;
  shared.inames = {"fetch_j", "fetch_k"};
  shared.default_tag = "for";
  sliced = add_prefetch(sliced, "x", {"j_inner", "k"}, shared);
  sliced = tag_inames(sliced, "fetch_j:l.0, fetch_k:unr");
  sliced = add_prefetch(sliced, "x", {"k"});
  const std::string text = generate_text(sliced, Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 2);
  EXPECT_EQ(generate(sliced, Target::cuda).launches.front().shared_bytes, 32 * 3 * 4);
  for (const int n : {5, 70}) {
    expect_same_everywhere(sliced, plain, {{"n", n}});
  }
}

TEST(Prefetch, ServesConvolutions) {
  KernelOptions options = f32_options({{"f_w", 3}, {"ncolors", 3}});
  options.arguments =
      "img: f32[nimgs, im_w + 6, im_h + 6, 3]; f: f32[nfeats, 7, 7, 3]; "
      "out: f32[nimgs, nfeats, im_w, im_h]";
  options.assumptions = "im_w >= 7 and im_h >= 7 and nfeats >= 1 and nimgs >= 1";
  const Kernel plain = make_kernel(
      "{[iimg, ifeat, icolor, im_x, im_y, f_x, f_y]: -f_w <= f_x, f_y <= f_w and "
      "0 <= im_x < im_w and 0 <= im_y < im_h and 0 <= iimg < nimgs and 0 <= ifeat < nfeats and "
      "0 <= icolor < ncolors}",
      "out[iimg, ifeat, im_x, im_y] = sum((f_x, f_y, icolor), "
      "img[iimg, f_w + im_x - f_x, f_w + im_y - f_y, icolor]*f[ifeat, f_w + f_x, f_w + f_y, "
      "icolor])",
      options);
  Kernel sliced = split_iname(plain, "im_x", 16, fetch_tags("g.0", "l.0"));
  sliced = split_iname(sliced, "im_y", 16, fetch_tags("g.1", "l.1"));
  sliced = tag_inames(sliced, "ifeat:g.2");
  sliced = add_prefetch(sliced, "f", {"f_x", "f_y", "icolor"});
  sliced = add_prefetch(sliced, "img", {"im_x_inner", "im_y_inner", "f_x", "f_y"});
  const GeneratedProgram program = generate(sliced, Target::cuda);
  EXPECT_EQ(program.launches.front().shared_bytes, (7 * 7 * 3 + 22 * 22) * 4);
  expect_same_everywhere(sliced, plain, {{"im_w", 20}, {"im_h", 18}, {"nimgs", 2}, {"nfeats", 2}});
}

TEST(Prefetch, OfSixteenArraysSharesOneBarrier) {
  KernelOptions options = f32_options({{"n", 32}});
  std::string statements;
  for (int q = 0; q < 16; ++q) {
    const std::string number = std::to_string(q);
    statements += "c" + number + "[i, j] = a" + number + "[i, j] + a" + number + "[j, i]\n";
  }
  const Kernel plain = make_kernel("{[i, j]: 0 <= i, j < n}", statements, options);
  Kernel tiled = split_iname(plain, "i", 16, fetch_tags("g.1", "l.1"));
  tiled = split_iname(tiled, "j", 16, fetch_tags("g.0", "l.0"));
  EXPECT_ERROR("loopy.footprint.no_common_base", add_prefetch(tiled, "a0", {"i_inner", "j_inner"}));
  for (int q = 0; q < 16; ++q) {
    tiled = add_prefetch(tiled,
                         "a" + std::to_string(q) + "[16*j_outer + j_inner, 16*i_outer + i_inner]",
                         {"i_inner", "j_inner"});
  }
  const std::string text = generate_text(tiled, Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 1);
  EXPECT_EQ(generate(tiled, Target::cuda).launches.front().shared_bytes, 16 * 16 * 16 * 4);
  expect_same_everywhere(tiled, plain, {});
}

TEST(Prefetch, RefusesWhatItCannotDo) {
  const Kernel plain = product(f32_options());
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(plain, "q", {"k"}));
  EXPECT_ERROR("loopy.add_prefetch.not_possible", add_prefetch(plain, "a", {"q"}));
  EXPECT_ERROR("loopy.footprint.unbounded_sweep", add_prefetch(plain, "a", {"k"}));
  EXPECT_ERROR("loopy.add_prefetch.nothing_replaced",
               add_prefetch(split_iname(plain, "k", 4), "c", {"k_inner"}));
}

}  // namespace
}  // namespace rtcg::loopy
