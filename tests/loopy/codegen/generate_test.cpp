// What the engine refuses to make code for, and facts about its text that hold for every target.
#include "rtcg/loopy/codegen/generate.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/transform/recipe.h"
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

TEST(Generate, RefusesAtomicFormsThatNoDeviceHas) {
  EXPECT_ERROR("loopy.generate.atomic_form",
               cuda("{[i]: 0 <= i < 16}", "a[0] = a[0]/2 {atomic}", "tag_inames(i:l.0)"));
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
      cuda("{[i]: 0 <= i < n}", "a[i] = b[i]**2 + b[i]**-1 + (b[i] + 1)**-2 + b[i]**5");
  EXPECT_NE(text.find("a[i] = b[i] * b[i] + 1.0f / b[i] + 1.0f / ((b[i] + 1.0f) * (b[i] + 1.0f)) + "
                      "powf(b[i], 5.0f);"),
            std::string::npos)
      << text;
}

TEST(Reductions, RefuseWhatTheyCannotSpread) {
  EXPECT_ERROR("loopy.realize_reductions.parallel_iname",
               cuda("{[i, k]: 0 <= i, k < 16}", "a[i] = sum(k, b[i, k])", "tag_inames(k:ilp)"));
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

}  // namespace
}  // namespace rtcg::loopy
