#include "rtcg/loopy/transform/join_inames.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/prioritize_loops.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel rows() {
  return make_kernel("{[i, j]: 0 <= i < n and 2 <= j < 10}", "out[i, j] = 2*a[i, j]",
                     {.arguments = "a, out: f32[n, 10]", .default_type = cgen::f32});
}

TEST(JoinInames, MakesOneLoop) {
  const Kernel joined = join_inames(rows(), {"i", "j"});
  EXPECT_EQ(domains_of(joined), "[i_j]: i_j >= 0 and i_j < 8*n\n");
  EXPECT_EQ(statements_of(joined), "out[i_j // 8, i_j % 8 + 2] = 2*a[i_j // 8, i_j % 8 + 2]\n");
  EXPECT_EQ(joined.instructions.front().within_inames, (NameSet{"i_j"}));
  expect_same_results(rows(), joined, {{"n", 3}});
  expect_recipe(rows(), joined, "join_inames([i, j])\n");
}

TEST(JoinInames, TakesNameAndTag) {
  const Kernel joined = join_inames(rows(), {"i", "j"}, {.name = "ij", .tag = "g.0"});
  EXPECT_EQ(tag_of(joined, "ij"), (InameTag{AxisKind::grid, 0}));
  expect_recipe(rows(), joined, "join_inames([i, j], name=ij, tag=g.0)\n");
}

TEST(JoinInames, JoinsThree) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < 3 and -1 <= j < 3 and 0 <= k < 2}",
                  "out[i, j + 1, k] = i + 10*j + 100*k", {.default_type = cgen::f32});
  const Kernel joined = join_inames(kernel, {"k", "i", "j"}, {.name = "all"});
  EXPECT_EQ(domains_of(joined), "[all]: all >= 0 and all <= 23\n");
  expect_same_results(kernel, joined, {});
}

TEST(JoinInames, KeepsOuterBoundsOfTheFirst) {
  const Kernel kernel = make_kernel(
      "{[p]: 0 <= p < n} {[i]: p <= i <= 2*p} {[j]: 0 <= j < 4}", "out[p, i, j] = a[i] + j",
      {.arguments = "out: f32[n, 2*n, 4]; a: f32[2*n]", .default_type = cgen::f32});
  const Kernel joined = join_inames(kernel, {"i", "j"});
  expect_same_results(kernel, joined, {{"n", 5}});
}

TEST(JoinInames, KeepsConditionsOnParameters) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 3} {[j]: 0 <= j < 4 and m >= 5}",
                                    "out[i, j] = i + 10*j\nfor i\nfor j\nz[0] = 1\nend\nend",
                                    {.default_type = cgen::f32});
  const Kernel joined = join_inames(kernel, {"i", "j"});
  EXPECT_EQ(domains_of(joined), "[i_j]: i_j >= 0 and i_j <= 11 and m >= 5\n");
  expect_same_results(kernel, joined, {{"m", 5}});
  EXPECT_FALSE(writes_anything(results_of(joined, {{"m", 4}})));
}

TEST(JoinInames, JoinsReductions) {
  const Kernel kernel = make_kernel("{[i, x, y]: 0 <= i < n and 0 <= x < 3 and 1 <= y < 5}",
                                    "out[i] = sum((x, y), a[i, x, y])",
                                    {.arguments = "a: f32[n, 3, 5]", .default_type = cgen::f32});
  const Kernel joined = join_inames(kernel, {"x", "y"});
  EXPECT_EQ(statements_of(joined), "out[i] = sum(x_y, a[i, x_y // 4, x_y % 4 + 1])\n");
  expect_same_results(kernel, joined, {{"n", 2}});
}

/// Rows as long as a launch says.
Kernel rows_of_any_length(const std::string& statement = "out[i, j] = 2*a[i, j] + b[j]") {
  return make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", statement,
                     {.arguments = "a, out: f32[n, m]; b: f32[m]",
                      .default_type = cgen::f32,
                      .assumptions = "m >= 1"});
}

TEST(JoinInames, TakesSidesInParameters) {
  const Kernel joined = join_inames(rows_of_any_length(), {"i", "j"});
  EXPECT_EQ(domains_of(joined), "[i_j]: i_j >= 0 and i_j < i_j_end\n");
  EXPECT_EQ(statements_of(joined),
            "i_j_end = n*m\n"
            "out[i_j // m, i_j % m] = 2*a[i_j // m, i_j % m] + b[i_j % m]\n");
  EXPECT_EQ(joined.instructions.back().depends_on, (NameSet{joined.instructions.front().id}));
  expect_recipe(rows_of_any_length(), joined, "join_inames([i, j])\n");
  for (const int n : {1, 3}) {
    for (const int m : {1, 5}) {
      expect_same_results(rows_of_any_length(), joined, {{"n", n}, {"m", m}});
    }
  }
  EXPECT_FALSE(writes_anything(results_of(joined, {{"n", 0}, {"m", 5}})));
}

TEST(JoinInames, DividesOnceForEachLengthInParameters) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: -1 <= i < n and 2 <= j <= m + 2 and 0 <= k < p}",
                  "out[i + 1, j - 2, k] = i + 10*j + 100*k",
                  {.arguments = "out: f32[n + 1, m + 1, p]; n: i32; m: i32; p: i32",
                   .default_type = cgen::f32,
                   .assumptions = "m >= 0 and p >= 1"});
  const Kernel joined = join_inames(kernel, {"i", "j", "k"}, {.name = "q"});
  EXPECT_EQ(statements_of(joined),
            "q_end = (n + 1)*(m + 1)*p\n"
            "out[q // p // (m + 1), q // p % (m + 1), q % p] = "
            "q // p // (m + 1) - 1 + 10*(q // p % (m + 1) + 2) + 100*(q % p)\n");
  expect_same_results(kernel, joined, {{"n", 2}, {"m", 4}, {"p", 3}});
  expect_same_results(kernel, joined, {{"n", 0}, {"m", 0}, {"p", 1}});
}

TEST(JoinInames, CountsThroughAxesOfTheGrid) {
  Kernel kernel = join_inames(rows_of_any_length(), {"i", "j"}, {.name = "q"});
  kernel = split_iname(kernel, "q", 256, {.outer_tag = "g.0", .inner_tag = "l.0"});
  const GeneratedProgram program = generate(kernel, Target::cuda, {.recipe_comment = false});
  EXPECT_EQ(to_string(program.launches.front().grid[0]), "(n*m + 255) // 256");
  // what is contiguous is not divided for
  EXPECT_EQ(
      cgen::print_module(program.module, cgen::Dialect::cuda).text,
      R"(extern "C" __global__ void __launch_bounds__(256) loopy_kernel(const float *__restrict__ a,
    float *__restrict__ out, const float *__restrict__ b, const int m, const int n) {
  const int q_outer = (int)blockIdx.x;
  const int q_inner = (int)threadIdx.x;
  long long q_end = n * m;
  if (256 * q_outer + q_inner < q_end) {
    out[256 * q_outer + q_inner] = 2.0f * a[256 * q_outer + q_inner] +
        b[(256 * q_outer + q_inner) % m];
  }
}
)");
}

TEST(JoinInames, CountsPointsIn64BitsWhereIndicesHaveThem) {
  const Kernel kernel = join_inames(rows_of_any_length(), {"i", "j"}, {.name = "q"});
  const std::string text = generate_text(kernel, Target::cuda, {.index_type = cgen::i64});
  EXPECT_NE(text.find("long long q_end = (long long)n * (long long)m;"), std::string::npos) << text;
}

TEST(JoinInames, KnowsWhoOwnsElementsOfJoinedRows) {
  const Kernel kernel = join_inames(rows_of_any_length("a[i, j] = 2*a[i, j]"), {"i", "j"});
  EXPECT_NO_THROW(static_cast<void>(generate(
      split_iname(kernel, "i_j", 256, {.outer_tag = "g.0", .inner_tag = "l.0"}), Target::cuda)));
  const Kernel shifted =
      join_inames(rows_of_any_length("a[i, j] = 2*a[n - 1 - i, j]"), {"i", "j"}, {.name = "q"});
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               generate(split_iname(shifted, "q", 256, {.outer_tag = "g.0", .inner_tag = "l.0"}),
                        Target::cuda));
}

TEST(JoinInames, RefusesSidesThatMayBeEmpty) {
  EXPECT_ERROR("loopy.join_inames.may_be_empty", join_inames(rows_of_any_length(), {"j", "i"}));
  EXPECT_EQ(why_not([&] {
              return join_inames(rows_of_any_length(), {"j", "i"});
            }),
            "j, i cannot be joined: 'i' may have no values, and places are divided by their "
            "number: assume n >= 1");
}

TEST(JoinInames, StandsInOrdersWhereTheOutermostStood) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j, k < 4}", "out[i, j, k] = 1.0",
                                    {.default_type = cgen::f32});
  const Kernel joined = join_inames(prioritize_loops(kernel, {"i", "k", "j"}), {"j", "i"});
  EXPECT_EQ(joined.loop_priorities, (std::vector<std::vector<std::string>>{{"j_i", "k"}}));
}

TEST(JoinInames, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.join_inames.unknown_iname", join_inames(rows(), {"i", "q"}));
  EXPECT_EQ(why_not([&] {
              return join_inames(rows(), {"i", "q"});
            }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j");
  EXPECT_EQ(why_not([&] { return join_inames(rows(), {"i", "j"}); }), std::nullopt);
}

TEST(JoinInames, RefusesTooFew) {
  EXPECT_ERROR("loopy.join_inames.too_few", join_inames(rows(), {"i"}));
  EXPECT_ERROR("loopy.join_inames.too_few", join_inames(rows(), {"i", "i"}));
}

TEST(JoinInames, RefusesTaggedInames) {
  EXPECT_ERROR("loopy.join_inames.tagged_already",
               join_inames(tag_inames(rows(), "j:l.0"), {"i", "j"}));
}

TEST(JoinInames, RefusesOtherThanBoxes) {
  const Kernel triangle = make_kernel("{[i, j]: 0 <= i < 8 and 0 <= j <= i}", "out[i, j] = 1.0",
                                      {.arguments = "out: f32[8, 8]"});
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(triangle, {"i", "j"}));
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(triangle, {"j", "i"}));
  const Kernel gaps = make_kernel("{[i, j]: 0 <= i, j < 8 and j mod 2 = 0}", "out[i, j] = 1.0",
                                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(gaps, {"i", "j"}));
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(gaps, {"j", "i"}));
  const Kernel bounds = make_kernel("{[i, j]: 0 <= i, j < 8} {[k]: 0 <= k < j}",
                                    "out[i, j, k] = 1.0", {.arguments = "out: f32[8, 8, 8]"});
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(bounds, {"i", "j"}));
  EXPECT_ERROR("loopy.join_inames.not_a_box", join_inames(bounds, {"j", "i"}));
}

TEST(JoinInames, RefusesInamesThatAreUsedApart) {
  const Kernel apart = make_kernel("{[i, j]: 0 <= i, j < 8}", "b[i] = 1.0\nc[i, j] = 2.0",
                                   {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.join_inames.not_together", join_inames(apart, {"i", "j"}));
  EXPECT_EQ(why_not([&] {
              return join_inames(apart, {"i", "j"});
            }),
            "i, j cannot be joined: statement 'set_b' uses some of them, but not all in one place");
  const Kernel reduced =
      make_kernel("{[i, j]: 0 <= i, j < 8}", "b[i] = sum(j, a[i, j])", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.join_inames.not_together", join_inames(reduced, {"i", "j"}));
  const Kernel rule = make_kernel("{[i, x, y]: 0 <= i, x, y < 8}",
                                  "f(p) := sum(x, a[p, x])\nb[i] = f(i) + sum((x, y), c[x, y])",
                                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.join_inames.not_together", join_inames(rule, {"x", "y"}));
}

TEST(JoinInames, RefusesTakenNames) {
  EXPECT_ERROR("loopy.join_inames.name_taken", join_inames(rows(), {"i", "j"}, {.name = "a"}));
  EXPECT_ERROR("loopy.join_inames.name_taken", join_inames(rows(), {"i", "j"}, {.name = "3 x"}));
}

TEST(JoinInames, RefusesOneAxisForTwoInames) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j, k < 4}", "out[i, j, k] = 1.0",
                                    {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.join_inames.axis_used_twice",
               join_inames(tag_inames(kernel, "k:l.0"), {"i", "j"}, {.tag = "l.0"}));
}

TEST(JoinInames, RefusesUnknownTag) {
  EXPECT_ERROR("loopy.iname_tag.unknown", join_inames(rows(), {"i", "j"}, {.tag = "x.0"}));
  EXPECT_TRUE(why_not([&] { return join_inames(rows(), {"i", "j"}, {.tag = "x.0"}); }).has_value());
}

TEST(JoinInames, RefusesToReverseWhatIterationsHandOn) {
  const Kernel wave = make_kernel("{[i, j]: 1 <= i < 9 and 0 <= j < 9}",
                                  "u[i, j] = 0.5*u[i - 1, j + 1]", {.default_type = cgen::f32});
  expect_same_results(wave, join_inames(wave, {"i", "j"}), {});
  EXPECT_ERROR("loopy.join_inames.carried_value", join_inames(wave, {"j", "i"}));
  EXPECT_EQ(why_not([&] {
              return join_inames(wave, {"j", "i"});
            }),
            "loops [j, i] cannot become one in this order: an element of 'u' is used in two "
            "iterations: first 'set_u' writes it at i = 1, j = 1, then 'set_u' reads it at i = 2, "
            "j = 0; they would change places");
}

}  // namespace
}  // namespace rtcg::loopy
