// What the engine refuses to make code for, and facts about its text that hold for every target.
#include "rtcg/loopy/codegen/generate.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

std::string cuda(std::string_view domains, std::string_view statements,
                 std::string_view recipe = {},
                 const KernelOptions& options = {.default_type = cgen::f32}) {
  return generate_text(apply_recipe(make_kernel(domains, statements, options), recipe),
                       Target::cuda);
}

TEST(Generate, GivesTheSameTextTwice) {
  const auto text = [] {
    return cuda("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0); split_iname(k, 16)\n"
                "split_iname(j, 4, inner_tag=ilp)");
  };
  EXPECT_EQ(text(), text());
}

TEST(Generate, GivesLaunchesProgramsOfTheirOwn) {
  const auto program = [](const char* recipe, const KernelOptions& options) {
    return generate(apply_recipe(make_kernel("{[i, j]: 0 <= i, j < 64}",
                                             "t[i] = 2*a[i] {id=t}\n"
                                             "... gbarrier {id=bar, dep=t}\n"
                                             "b[j] = (t[j] + 1)//3 {dep=bar}",
                                             options),
                                 recipe),
                    Target::cuda);
  };
  const KernelOptions integers = {.arguments = "t: i32[64]; ...", .default_type = cgen::i32};
  const GeneratedProgram apart = program("tag_inames(i:g.0, j:g.0)", integers);
  ASSERT_EQ(apart.modules_of_launches.size(), 2U);
  const auto text_of = [](const cgen::Module& module) {
    return cgen::print_module(module, dialect_of(Target::cuda)).text;
  };
  const std::string first = text_of(apart.modules_of_launches[0]);
  const std::string second = text_of(apart.modules_of_launches[1]);
  EXPECT_NE(first.find("loopy_kernel_0("), std::string::npos) << first;
  EXPECT_EQ(first.find("loopy_kernel_1("), std::string::npos) << first;
  EXPECT_EQ(first.find("floor_div"), std::string::npos) << first;
  EXPECT_EQ(first.find("Made from"), std::string::npos) << first;
  EXPECT_EQ(second.find("loopy_kernel_0("), std::string::npos) << second;
  EXPECT_NE(second.find("floor_div"), std::string::npos) << second;
  // what changes in one launch changes its program alone
  const GeneratedProgram other = program("tag_inames(i:g.0, j:l.0)", integers);
  EXPECT_EQ(text_of(other.modules_of_launches[0]), first);
  EXPECT_NE(text_of(other.modules_of_launches[1]), second);
  // C text may have variables that kernels share
  KernelOptions with_text = integers;
  with_text.functions = "preamble cuda { static __device__ int calls; }";
  EXPECT_TRUE(program("tag_inames(i:g.0, j:g.0)", with_text).modules_of_launches.empty());
  EXPECT_TRUE(generate(make_kernel("{[i]: 0 <= i < 64}", "b[i] = a[i]", integers), Target::cuda)
                  .modules_of_launches.empty());
}

TEST(Generate, AlignsSharedArraysForWideLoads) {
  const std::string text =
      cuda("{[i, k]: 0 <= i, k < 64}", "c[i] = sum(k, a[i + k])",
           "tag_inames(i:l.0); add_prefetch(a, [i, k])", {.arguments = "a: f32[127]; c: f32[64]"});
  EXPECT_NE(text.find("__shared__ __align__(16) float a_fetch[127];"), std::string::npos) << text;
}

TEST(Generate, RefusesAxesWithoutAConstantLength) {
  EXPECT_ERROR("loopy.generate.block_not_constant",
               cuda("{[i]: 0 <= i < n}", "a[i] = 1.0", "tag_inames(i:l.0)"));
  EXPECT_ERROR("loopy.generate.too_many_copies",
               cuda("{[i]: 0 <= i < n}", "a[i] = 1.0", "tag_inames(i:unr)"));
  EXPECT_ERROR("loopy.generate.too_many_copies",
               cuda("{[i]: 0 <= i < 100000}", "a[i] = 1.0", "tag_inames(i:ilp)"));
  EXPECT_ERROR("loopy.generate.too_many_threads",
               cuda("{[i, j]: 0 <= i, j < 64}", "a[i, j] = 1.0", "tag_inames(i:l.0, j:l.1)"));
  EXPECT_ERROR("loopy.generate.axis_start",
               cuda("{[i]: n <= 2*i and i < n}", "a[i] = 1.0", "tag_inames(i:g.0)",
                    {.arguments = "a: f32[n]", .assumptions = "n >= 1"}));
}

TEST(Generate, BeginsAxesAtOneOfSeveralFirstValues) {
  const std::string text = cuda("{[i]: 1 <= i and m <= i < n}", "a[i] = 1.0", "tag_inames(i:g.0)",
                                {.arguments = "a: f32[n]; n, m: i32"});
  EXPECT_NE(text.find("1 + (int)blockIdx.x"), std::string::npos) << text;
  EXPECT_NE(text.find("if (m <= i)"), std::string::npos) << text;
}

TEST(Generate, WritesAxesOfOneBlockAsNumbers) {
  const std::string text =
      cuda("{[i, k]: 7 <= i < 8 and 0 <= k < 3}", "a[i, k] = 2*x[k]",
           "tag_inames(i:g.1)\nsplit_iname(k, 3, outer_tag=g.0, inner_tag=ilp)",
           {.arguments = "a: f32[8, 3]; x: f32[3]"});
  EXPECT_EQ(text.find("blockIdx"), std::string::npos) << text;
  EXPECT_NE(text.find("a[21] = 2.0f * x[0];"), std::string::npos) << text;
}

TEST(Generate, ReducesByBlocksWithinLoopsOfTheHost) {
  const std::string text =
      cuda("{[d]: 1 <= d < 300} {[i]: 0 <= i < 300 - d} {[k]: i < k < i + d}",
           "for d\n  a[i, i + d] = reduce(max, k, a[i, k] + a[k, i + d])\n  ... gbarrier\nend",
           "split_iname(k, 128); split_reduction_outward(k_inner)\n"
           "tag_inames(k_inner:l.0, i:g.0)",
           {.arguments = "a: f32[300, 300]"});
  EXPECT_NE(text.find("__shared__"), std::string::npos) << text;
}

TEST(Generate, RefusesLoopsWithoutBounds) {
  EXPECT_ERROR("loopy.generate.unbounded",
               cuda("{[i]: i >= 0}", "a[i] = 1.0", {}, {.arguments = "a: f32[n]"}));
}

TEST(Generate, RefusesTemporariesItCannotPlace) {
  EXPECT_ERROR("loopy.generate.array_length_not_constant",
               cuda("{[i, j]: 0 <= i, j < n}",
                    "for i\n  <> t[j] = a[i, j] {id=t}\n  b[i, j] = t[n - 1 - j] {dep=t}\nend"));
  EXPECT_ERROR("loopy.generate.temporary_across_launches",
               cuda("{[i, j]: 0 <= i, j < 16}",
                    "<> t[i] = a[i] {id=t}\n... gbarrier {id=bar, dep=t}\nb[j] = t[j] {dep=bar}"));
}

TEST(Generate, RefusesValuesOfOtherLanes) {
  EXPECT_ERROR("loopy.generate.outside_lane",
               cuda("{[i, j]: 0 <= i < 4 and 0 <= j < 16}",
                    "<> t = a[i] {inames=i}\nb[j] = t {inames=j}", "tag_inames(i:ilp)"));
}

TEST(Generate, RefusesAtomicUpdatesInSomeOrder) {
  EXPECT_ERROR("loopy.generate.atomic_form",
               cuda("{[i]: 0 <= i < 16}", "a[0] = a[0]/2 + b[i] {atomic}", "tag_inames(i:l.0)"));
}

TEST(Generate, RefusesRemaindersOfReals) {
  EXPECT_ERROR("loopy.lower_expr.floating_modulo", cuda("{[i]: 0 <= i < n}", "a[i] = b[i] % 2.0"));
}

TEST(Generate, DividesIntegersAsIntegersAmongReals) {
  const std::string text = cuda("{[i]: 0 <= i < n}", "a[i] = b[i]*(i // 2) + i % 3 + 1.5");
  EXPECT_NE(text.find("a[i] = b[i] * (i / 2) + i % 3 + 1.5f;"), std::string::npos) << text;
}

TEST(Generate, WritesSmallPowersAsProducts) {
  const std::string text =
      cuda("{[i]: 0 <= i < n}", "a[i] = b[i]**2 + b[i]**-1 + (b[i] + 1)**-2 + b[i]**9");
  EXPECT_NE(text.find("a[i] = b[i] * b[i] + 1.0f / b[i] + 1.0f / ((b[i] + 1.0f) * (b[i] + 1.0f)) + "
                      "powf(b[i], 9.0f);"),
            std::string::npos)
      << text;
}

TEST(Reductions, RefuseWhatTheyCannotSpread) {
  EXPECT_ERROR("loopy.realize_reductions.block_length",
               cuda("{[i, k]: 0 <= i < 16 and 1 <= k < 17}", "a[i] = sum(k, b[i, k - 1])",
                    "tag_inames(k:l.0)"));
  EXPECT_ERROR("loopy.realize_reductions.unknown_operation",
               cuda("{[i, k]: 0 <= i, k < 16}", "a[i] = reduce(median, k, b[i, k])"));
  Kernel kernel =
      make_kernel("{[i, k]: 0 <= i, k < 16}", "a[i] = sum(k, b[k])", {.default_type = cgen::f32});
  Assignment pair = *get_if<Assignment>(kernel.instructions.front());
  pair.targets.push_back(parse_expr("b[i]"));
  kernel.instructions.front().kind = pair;
  EXPECT_ERROR("loopy.realize_reductions.target_count", generate(kernel, Target::cuda));
}

TEST(AddressSpaces, RefuseWhatIsHalfShared) {
  EXPECT_ERROR("loopy.choose_address_spaces.ambiguous",
               cuda("{[i, j]: 0 <= i, j < 16}",
                    "<> t[i] = a[i, j] {inames=i:j}\nb[i, j] = t[15 - i] {inames=i:j}",
                    "tag_inames(i:l.0, j:l.1)"));
}

TEST(Barriers, AreRefusedWhereThreadsWouldPart) {
  EXPECT_ERROR("loopy.insert_barriers.race_within_statement",
               cuda("{[i]: 0 <= i < 15}", "a[i] = a[i + 1]", "tag_inames(i:l.0)",
                    {.arguments = "a: f32[16]"}));
  EXPECT_ERROR("loopy.insert_barriers.divergent",
               cuda("{[i]: 0 <= i < 16} {[j]: 0 <= j < m}",
                    "<i32> m = lengths[i] {id=m}\n"
                    "for i, j\n  s[i] = a[i, j] {id=s}\n  out[i, j] = s[15 - i] {dep=s}\nend",
                    "tag_inames(i:l.0)",
                    {.arguments = "lengths: i32[16]; a, out: f32[16, 64]; s: f32[16]"}));
}

TEST(Barriers, CannotBringValuesFromOtherBlocks) {
  EXPECT_ERROR("loopy.insert_barriers.out_of_reach",
               cuda("{[i, k]: 0 <= i, k < 16}", "c[i] = sum(k, a[k]*b[i])",
                    "add_prefetch(a, [k]); tag_inames(a_fetch_0:g.0)"));
}

TEST(Generate, KeepsTheNamesOfLanesApart) {
  const std::string text =
      cuda("{[i, t_0]: 0 <= i < 16 and 0 <= t_0 < 4}", "<> t = a[i] {inames=i:t_0}\nb[i, t_0] = t",
           "split_iname(i, 2, inner_tag=ilp)");
  EXPECT_NE(text.find("t_lane_0"), std::string::npos) << text;
}

TEST(Schedule, RefusesCirclesAndConflicts) {
  EXPECT_ERROR(
      "loopy.schedule.dependency_cycle",
      cuda("{[i]: 0 <= i < 4}", "a[i] = 1.0 {id=one, dep=two}\nb[i] = 2.0 {id=two, dep=one}"));
  EXPECT_ERROR("loopy.schedule.priority_conflict",
               cuda("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}", "a[i, j] = 1.0",
                    "prioritize_loops(j, i)", {.arguments = "a: f32[n, n]"}));
  EXPECT_ERROR("loopy.schedule.unschedulable",
               cuda("{[i, j, k]: 0 <= i, j, k < 4}",
                    "<> s = a[i] {inames=i}\n<> t = b[j] {inames=j}\nc[i, j] = s + t"));
}

TEST(Affine, RefusesNumbersBeyond64Bits) {
  const Expr huge = parse_expr("4611686018427387904*i");
  EXPECT_ERROR("loopy.affine.overflow", to_affine(huge + huge));
}

TEST(GpuMachineFindings, HintsOfUnrollingAreBoundedByWhatIsWritten) {
  const auto text = [](const char* domain, const char* recipe, Target target) {
    return generate_text(
        apply_recipe(make_kernel(domain, "b[0] = sum(i, a[i])", {.default_type = cgen::f32}),
                     recipe),
        target);
  };
  const auto has = [&](const std::string& code, const char* part) {
    EXPECT_NE(code.find(part), std::string::npos) << code;
  };
  const char* open = "{[i]: 0 <= i < n}";
  const char* closed = "{[i]: 0 <= i < 24}";
  const char* longer = "{[i]: 0 <= i < 4096}";
  has(text(open, "tag_inames(i:unr_hint)", Target::host), "#pragma GCC unroll 8\n");
  has(text(open, "tag_inames(i:unr_hint)", Target::cuda), "#pragma unroll 8\n");
  has(text(open, "tag_inames(i:unr_hint.4)", Target::host), "#pragma GCC unroll 4\n");
  has(text(closed, "tag_inames(i:unr_hint)", Target::host), "#pragma GCC unroll 24\n");
  has(text(closed, "tag_inames(i:unr_hint)", Target::cuda), "#pragma unroll\n");
  has(text(closed, "tag_inames(i:unr_hint.100)", Target::host), "#pragma GCC unroll 24\n");
  has(text(longer, "tag_inames(i:unr_hint)", Target::host), "#pragma GCC unroll 64\n");
  // the last part of a tile is as long as the tile at most
  has(text(open, "split_iname(i, 16, inner_tag=unr_hint)", Target::host),
      "#pragma GCC unroll 16\n");
}

TEST(Attack04, TextsOfAnySizeAreRefused) {
  const auto kernel = [](const char* length) {
    return apply_recipe(make_kernel(std::string("{[i, j, k]: 0 <= i, j, k < ") + length + "}",
                                    "b[i, j, k] = a[i, j, k]", {.default_type = cgen::f32}),
                        "tag_inames(i:unr, j:ilp, k:unr)");
  };
  EXPECT_ERROR("loopy.generate.too_many_statements", generate(kernel("32"), Target::host));
  EXPECT_ERROR("loopy.generate.too_many_statements",
               generate(kernel("12"), Target::cuda, {.most_statements = 1727}));
  EXPECT_NO_THROW(
      static_cast<void>(generate(kernel("12"), Target::cuda, {.most_statements = 1728})));
}

TEST(Defect20, PowersThatFoldAreProducts) {
  const auto text = [](const char* statement, const char* recipe) {
    return generate_text(
        apply_recipe(make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 4}", statement,
                                 {.arguments = "a: f32[n]; b: f32[n, 4]; deg, n: i32"}),
                     recipe),
        Target::cuda);
  };
  const std::string unrolled =
      text("b[i, j] = a[i]**(deg - j)", "fix_parameters(deg:3)\ntag_inames(j:unr)");
  EXPECT_EQ(unrolled.find("pow"), std::string::npos) << unrolled;
  for (const char* part : {"= a[i] * a[i] * a[i];", "= a[i] * a[i];", "= a[i];", "= 1.0f;"}) {
    EXPECT_NE(unrolled.find(part), std::string::npos) << unrolled;
  }
  EXPECT_NE(text("b[i, j] = a[i]**(deg - j)", "").find("powf("), std::string::npos);
}

TEST(Defect20, LiteralsTakeTheTypeTheyAreComparedWith) {
  const std::string text =
      cuda("{[i]: 0 <= i < n}", "a[i] = if(b[i] < 0.5, b[i], 2) {if=b[i] >= 0.1}");
  EXPECT_NE(text.find("b[i] >= 0.1f"), std::string::npos) << text;
  EXPECT_NE(text.find("b[i] < 0.5f"), std::string::npos) << text;
}

TEST(Generate, ConstantsThatConditionsChooseTakeTheTypeOfTheirTarget) {
  const std::string text = cuda("{[i]: 0 <= i < n}", "a[i] = if(b[i] < 0.5, 1.0, 2.5)");
  EXPECT_NE(text.find("? 1.0f : 2.5f;"), std::string::npos) << text;
}

TEST(Defect20, WhatIsKnownIsNotWritten) {
  const auto text = [](const char* statements, const char* recipe) {
    return generate_text(
        apply_recipe(make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 3}", statements,
                                 {.arguments = "a, c: i32[n]; d: i32[4, n, n]; n, f: i32"}),
                     recipe),
        Target::cuda);
  };
  const std::string conditions =
      text("c[i] = 1 {if=j}\nc[i] = 2 {if=f}\na[i] = 3 {if=f - 2}\na[i] = a[i] + (5 if j else 7)",
           "fix_parameters(f:2)\ntag_inames(j:unr)");
  EXPECT_EQ(conditions.find("if (0)"), std::string::npos) << conditions;
  EXPECT_EQ(conditions.find("if (1)"), std::string::npos) << conditions;
  EXPECT_EQ(conditions.find("if (2)"), std::string::npos) << conditions;
  EXPECT_EQ(conditions.find("= 3"), std::string::npos) << conditions;
  EXPECT_EQ(conditions.find("?"), std::string::npos) << conditions;
  const std::string indices = text("d[0, i, i] = 10*(j + i) + j - 10*i", "tag_inames(j:unr)");
  EXPECT_EQ(indices.find("* 0"), std::string::npos) << indices;
  EXPECT_EQ(indices.find("0 + "), std::string::npos) << indices;
  EXPECT_NE(indices.find("= 11;"), std::string::npos) << indices;
}

// NVRTC 13 read `restrict` arrays before the barrier after which other threads have written them
TEST(Generate, LeavesOutTestsThatADivisorSettles) {
  const std::string text = cuda("{[i]: 0 <= i < 256}",
                                "a[i] = 1.0 {if=i == 7 or x[i] > 0.0, id=first}\n"
                                "b[i] = 1.0 {if=i == 6, id=second}\n"
                                "c[i] = 1.0 if i != 5 else 2.0\n"
                                "d[i] = 1.0 {if=m*i == 3, id=of_numbers}",
                                "split_iname(i, 4, outer_tag=l.0, inner_tag=ilp)",
                                {.arguments = "a, b, c, d, x: f32[256]; m: u32"});
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("== 7"), 1) << text;
  EXPECT_EQ(count("b["), 1) << text;
  EXPECT_EQ(count("!= 5"), 1) << text;
  EXPECT_EQ(count("== 3"), 4) << text;  // products of u32 come to any number
}

TEST(DefectReadsAheadOfBarriers, ArraysThatThreadsPassOnMayHaveOtherReaders) {
  const Kernel shares = make_kernel("{[i, j, l]: 0 <= i < n and 0 <= j, l < 32}",
                                    "total[i] = sum(j, x[i, j]) {id=total}\n"
                                    "y[i, l] = x[i, l]/total[i] {dep=total}",
                                    {.arguments = "x, y: f32[n, 32]; total: f32[n]; n: i32"});
  const std::string text =
      generate_text(apply_recipe(shares, "tag_inames(i:g.0, j:l.0, l:l.0)"), Target::cuda);
  EXPECT_NE(text.find("__syncthreads"), std::string::npos) << text;
  for (const char* part :
       {"const float *__restrict__ x", "float *__restrict__ y", "float *total"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const std::string opencl =
      generate_text(apply_recipe(shares, "tag_inames(i:g.0, j:l.0, l:l.0)"), Target::opencl);
  EXPECT_NE(opencl.find("float *total"), std::string::npos) << opencl;
  // C text may have barriers of its own
  const std::string own =
      cuda("{[i]: 0 <= i < 64}",
           "... c \"${a[i]} += 1; __syncthreads(); ${b[i]} += 1;\" {reads=a:b, writes=a:b}",
           "tag_inames(i:l.0)", {.arguments = "a, b: f32[64]"});
  EXPECT_EQ(own.find("__restrict__"), std::string::npos) << own;
  // whose threads do not wait for each other
  const std::string alone = cuda("{[i]: 0 <= i < n}", "a[i] = 2*a[i]");
  EXPECT_NE(alone.find("__restrict__ a"), std::string::npos) << alone;
}

}  // namespace
}  // namespace rtcg::loopy
