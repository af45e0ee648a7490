// Statements that call: functions of several values, kernels, tagged uses; and statements with
// options of their own.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* on_threads = "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)";

TEST(Calls, GiveSeveralValuesOnEveryTarget) {
  const KernelOptions options{.arguments = "a, b, s, c, low, high: f32[n]; q, r: i32[n]; n: i32"};
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "s[i], c[i] = sincos(a[i])\n"
                                    "low[i], high[i] = minmax(a[i], b[i])\n"
                                    "q[i], r[i] = divmod(i, 7)\n"
                                    "a[i], b[i] = make_tuple(b[i], a[i])",
                                    options);
  const Kernel plain = make_kernel("{[i]: 0 <= i < n}",
                                   "s[i] = sin(a[i])\nc[i] = cos(a[i])\n"
                                   "low[i] = min(a[i], b[i])\nhigh[i] = max(a[i], b[i])\n"
                                   "q[i] = i // 7\nr[i] = i % 7\n"
                                   "<> t = a[i]\na[i] = b[i]\nb[i] = t",
                                   options);
  expect_same_everywhere(apply_recipe(kernel, on_threads), plain, {{"n", 50}});
}

TEST(Calls, OfKernelsWithPartsOfArraysRunOnEveryTarget) {
  const Kernel scale = make_kernel("{[k]: 0 <= k < 8}", "y[k] = s*x[k]",
                                   {.name = "scale", .arguments = "x, y: f32[8]; s: f32"});
  const KernelOptions options{.arguments = "a, b: f32[n, 8]; n: i32"};
  const Kernel kernel = make_kernel_with_callees(
      "{[i]: 0 <= i < n}", "[k]: b[i, k] = scale([j]: a[i, 7 - j], 3*i)", options, {scale});
  const Kernel plain =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 8}", "b[i, k] = 3*i*a[i, 7 - k]", options);
  expect_same_everywhere(apply_recipe(kernel, on_threads), plain, {{"n", 50}});
}

TEST(Calls, OfTaggedRulesArePrecomputedApart) {
  // both factors are one rule, and only one of them is computed ahead
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j < 16 and 0 <= k < 4}",
                                    "d(x, y) := a[x, y] + 1\n"
                                    "b[i, j] = sum(k, d$one(i, k)*d$two(j, k))",
                                    {.arguments = "a: f32[16, 4]; b: f32[16, 16]"});
  const Kernel once = apply_recipe(kernel,
                                   "tag_inames(i:l.1, j:l.0)\n"
                                   "precompute(d$one, [i, k], default_tag=l.auto)");
  const std::string text = to_string(once);
  EXPECT_NE(text.find("d_one_store"), std::string::npos) << text;
  EXPECT_NE(text.find("d$two(j, k)"), std::string::npos) << text;
  expect_same_everywhere(once, kernel, {});
}

TEST(StatementOptions, GiveAStatementCopiesOfInames) {
  const KernelOptions options{.default_type = cgen::f32};
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "a[i] = 2*c[i]\nb[i] = 3*c[i] {dup=i->i_b, id=other}", options);
  EXPECT_EQ(find_instruction(kernel, "other")->within_inames, (NameSet{"i_b"}));
  EXPECT_TRUE(kernel.recipe.empty());
  const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "a[i] = 2*c[i]\nb[i] = 3*c[i]", options);
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                      "split_iname(i_b, 16, outer_tag=g.0, inner_tag=l.0)"),
                         plain, {{"n", 50}});
  EXPECT_EQ(find_instruction(
                make_kernel("{[i]: 0 <= i < n}", "a[i] = 2*c[i] {dup=i, id=x}", options), "x")
                ->within_inames,
            (NameSet{"i_0"}));
  EXPECT_ERROR("loopy.duplicate_inames.unknown_iname",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 2*c[i] {dup=q}", options));
}

TEST(StatementOptions, SetByAnAtomicWhateverWasThere) {
  // setting and adding do not commute: barriers keep them apart
  const Kernel kernel = make_kernel("{[z, i, j]: 0 <= z, i, j < 32}",
                                    "<i32> count[1]\n"
                                    "count[0] = 0                {atomic=init, inames=z}\n"
                                    "count[0] = count[0] + a[i]  {atomic=update, inames=i}\n"
                                    "out[j] = count[0]           {inames=j}",
                                    {.arguments = "a, out: i32[32]"});
  const Kernel plain = make_kernel("{[i]: 0 <= i < 32} {[j]: 0 <= j < 32}", "out[j] = sum(i, a[i])",
                                   {.arguments = "a, out: i32[32]"});
  const Kernel threads = apply_recipe(kernel,
                                      "tag_inames(z:l.0, i:l.0, j:l.0)\n"
                                      "set_temporary_address_space([count], local)");
  EXPECT_EQ(count_of("__syncthreads", generate_text(threads, Target::cuda)), 2);
  expect_same_everywhere(threads, plain, {});
}

TEST(StatementOptions, AskForALaunchBetweenSettingAndAddingByManyBlocks) {
  const auto spread = [](const std::string& between) {
    return apply_recipe(make_kernel("{[z, i]: 0 <= z, i < 64}",
                                    "out[0] = 1                {atomic=init, inames=z}\n" +
                                        between + "out[0] = out[0] + a[i]  {atomic, inames=i}",
                                    {.arguments = "a: i32[64]; out: i32[1]"}),
                        "split_iname(z, 16, outer_tag=g.0, inner_tag=l.0)\n"
                        "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)");
  };
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               generate_text(spread(""), Target::cuda));
  const Kernel plain = make_kernel("{[i]: 0 <= i < 64}", "out[0] = 1 + sum(i, a[i])",
                                   {.arguments = "a: i32[64]; out: i32[1]"});
  expect_same_everywhere(spread("... gbarrier\n"), plain, {});
}

TEST(StatementOptions, RefuseAnInitThatReadsItsTarget) {
  EXPECT_ERROR("loopy.parse_statements.syntax",
               make_kernel("{[i]: 0 <= i < n}", "a[0] = a[0] + b[i] {atomic=init}"));
  EXPECT_ERROR("loopy.parse_statements.syntax",
               make_kernel("{[i]: 0 <= i < n}", "a[0] = b[i] {atomic=never}"));
}

}  // namespace
}  // namespace rtcg::loopy
