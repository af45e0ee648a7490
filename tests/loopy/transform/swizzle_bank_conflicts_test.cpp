#include "rtcg/loopy/transform/swizzle_bank_conflicts.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/swizzled_columns.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/alias_temporaries.h"
#include "rtcg/loopy/transform/pad_bank_conflicts.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel tiled_transposition(const cgen::Type& type = cgen::f32, int tile = 32) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[j, i]", {.default_type = type});
  const std::string length = std::to_string(tile);
  return apply_recipe(kernel, "split_iname(i, " + length + ", outer_tag=g.1, inner_tag=l.1)\n" +
                                  "split_iname(j, " + length + ", outer_tag=g.0, inner_tag=l.0)\n" +
                                  "add_prefetch(a, [i_inner, j_inner])");
}

/// Both tiles filled ahead, a's turned round: threads that copy a row of a go down its columns.
Kernel product() {
  const Kernel kernel = make_kernel(
      "{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
      {.name = "product", .arguments = "a, b, c: f32[n, n]", .assumptions = "n mod 64 = 0"});
  return apply_recipe(kernel,
                      "split_iname(i, 32, outer_tag=g.1)\nsplit_iname(i_inner, 4, "
                      "outer_tag=l.1, inner_tag=ilp)\n"
                      "split_iname(j, 32, outer_tag=g.0)\nsplit_iname(j_inner, 4, "
                      "outer_tag=l.0, inner_tag=ilp)\n"
                      "split_iname(k, 8)\n"
                      "add_prefetch(a, [i_inner_outer, i_inner_inner, k_inner])\n"
                      "add_prefetch(b, [j_inner_outer, j_inner_inner, k_inner])\n"
                      "tag_array_axes([a_fetch], F)");
}

const ColumnSwizzle& swizzle_of(const Kernel& kernel, const std::string& array) {
  return find_temporary(kernel, array)->swizzle;
}

TEST(SwizzleBankConflicts, GivesEachRowAnotherOrder) {
  const Kernel before = tiled_transposition();
  const Kernel after = swizzle_bank_conflicts(before);
  EXPECT_EQ(bank_conflicts(before, "a_fetch"), 32);
  EXPECT_EQ(bank_conflicts(after, "a_fetch"), 1);
  EXPECT_EQ(swizzle_of(after, "a_fetch"), (ColumnSwizzle{1, 32, 1}));
  EXPECT_NE(to_string(after).find("a_fetch: f32[32, 32]  {swizzle=column ^ row % 32}"),
            std::string::npos)
      << to_string(after);
  EXPECT_EQ(to_string(apply_recipe(before, "swizzle_bank_conflicts()")), to_string(after));
  EXPECT_EQ(to_string(apply_recipe(before, "swizzle_bank_conflicts([a_fetch])")),
            to_string(apply_recipe(before, "swizzle_bank_conflicts(a_fetch)")));
  EXPECT_EQ(to_string(swizzle_bank_conflicts(before, {"a_fetch"}, {.patterns = 8}).recipe.back()),
            "swizzle_bank_conflicts(a_fetch, patterns=8)");
}

TEST(SwizzleBankConflicts, StandsInTheTextOfTargetsWithBanks) {
  const Kernel kernel = swizzle_bank_conflicts(tiled_transposition());
  for (const Target target : {Target::opencl, Target::cuda}) {
    const std::string text = generate_text(kernel, target, {.recipe_comment = false});
    EXPECT_NE(text.find("a_fetch[i_inner][j_inner ^ i_inner] ="), std::string::npos) << text;
    EXPECT_NE(text.find("a_fetch[j_inner][i_inner ^ j_inner];"), std::string::npos) << text;
  }
  EXPECT_EQ(generate_text(kernel, Target::host, {.recipe_comment = false}),
            generate_text(tiled_transposition(), Target::host, {.recipe_comment = false}));
}

TEST(SwizzleBankConflicts, KeepsTogetherWhatAThreadReadsAtOnce) {
  const Kernel kernel = swizzle_bank_conflicts(product(), {"a_fetch"});
  EXPECT_EQ(bank_conflicts(product(), "a_fetch"), 8);
  EXPECT_EQ(bank_conflicts(kernel, "a_fetch"), 1);
  EXPECT_EQ(swizzle_of(kernel, "a_fetch"), (ColumnSwizzle{4, 8, 1}));
  const std::string text = generate_text(kernel, Target::cuda, {.recipe_comment = false});
  EXPECT_NE(text.find("a_fetch[4 * (i_inner_outer ^ k_inner) + 32 * k_inner + 1]"),
            std::string::npos)
      << text;
}

TEST(SwizzleBankConflicts, LeavesVectorCopiesWhole) {
  const std::string piped = "pipeline([a_fetch, b_fetch], k_outer, 2)\n";
  const Kernel kernel =
      apply_recipe(product(), piped + "swizzle_bank_conflicts(b_fetch, patterns=8)");
  EXPECT_EQ(swizzle_of(kernel, "b_fetch"), (ColumnSwizzle{4, 8, 1}));
  const std::string text = generate_text(kernel, Target::cuda, {.recipe_comment = false});
  EXPECT_NE(text.find("copy_async_16(&b_fetch["), std::string::npos) << text;
  const Kernel apart =
      apply_recipe(product(), piped + "swizzle_bank_conflicts(b_fetch, group=2, patterns=8)");
  EXPECT_EQ(generate_text(apart, Target::cuda, {.recipe_comment = false}).find("copy_async_16"),
            std::string::npos);
}

TEST(SwizzleBankConflicts, LeavesArraysWithoutConflictsAlone) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[i, j] + a[i, j]",
                  {.default_type = cgen::f32}),
      "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1)\n"
      "split_iname(j, 32, outer_tag=g.0, inner_tag=l.0)\nadd_prefetch(a, [i_inner, j_inner])");
  EXPECT_EQ(swizzle_of(swizzle_bank_conflicts(kernel), "a_fetch"), ColumnSwizzle());
}

TEST(SwizzleBankConflicts, MovesEachElementOfARowToAnotherColumn) {
  for (const std::int64_t columns : {8, 24, 32, 48}) {
    for (const std::int64_t group : {1, 2, 4}) {
      for (const std::int64_t patterns : {2, 4, 8}) {
        for (const std::int64_t rows : {1, 4}) {
          const ColumnSwizzle swizzle{group, patterns, rows};
          const RowAxes axes{0, 1, columns};
          EXPECT_EQ(fits_rows(swizzle, axes), columns % (group * patterns) == 0);
          if (!fits_rows(swizzle, axes)) {
            continue;
          }
          for (std::int64_t row = 0; row < 40; ++row) {
            std::set<std::int64_t> places;
            for (std::int64_t column = 0; column < columns; ++column) {
              const std::int64_t place = swizzled_column(swizzle, row, column);
              EXPECT_EQ(swizzled_indices(swizzle, axes, {row, column}),
                        (std::vector<Expr>{row, place}));
              EXPECT_EQ(place % group, column % group);
              EXPECT_LT(place, columns);
              places.insert(place);
            }
            EXPECT_EQ(places.size(), static_cast<std::size_t>(columns));
          }
        }
      }
    }
  }
}

TEST(SwizzleBankConflicts, GoesThroughKernelFiles) {
  const Kernel kernel = swizzle_bank_conflicts(tiled_transposition(), {"a_fetch"});
  const KernelFile file = to_kernel_file(kernel);
  EXPECT_NE(file.recipe.find("swizzle_bank_conflicts(a_fetch, group=1, patterns=32, rows=1)"),
            std::string::npos)
      << file.recipe;
  const KernelFile read = parse_kernel_file(to_string(file));
  const Kernel again = transformed_kernel(read, described_kernel(read));
  EXPECT_EQ(generate_text(again, Target::cuda, {.recipe_comment = false}),
            generate_text(kernel, Target::cuda, {.recipe_comment = false}));
}

TEST(SwizzleBankConflicts, IsTakenAwayByAnotherLayout) {
  const Kernel kernel = swizzle_bank_conflicts(tiled_transposition(), {"a_fetch"});
  EXPECT_EQ(swizzle_of(tag_array_axes(kernel, {"a_fetch"}, "F"), "a_fetch"), ColumnSwizzle());
  EXPECT_EQ(swizzle_of(add_padding(kernel, "a_fetch", 0, 1), "a_fetch"), ColumnSwizzle());
  EXPECT_EQ(swizzle_of(pad_bank_conflicts(kernel), "a_fetch"), (ColumnSwizzle{1, 32, 1}));
}

TEST(SwizzleBankConflicts, Refuses) {
  const Kernel kernel = tiled_transposition();
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.unknown_temporary",
               swizzle_bank_conflicts(kernel, {"b"}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.not_shared",
               swizzle_bank_conflicts(set_temporary_address_space(kernel, {"a_fetch"}, "private"),
                                      {"a_fetch"}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.not_constant",
               swizzle_bank_conflicts(tag_array_axes(kernel, {"a_fetch"}, "stride:n,stride:1"),
                                      {"a_fetch"}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.row_length",
               swizzle_bank_conflicts(tiled_transposition(cgen::f32, 15), {"a_fetch"}));
  EXPECT_ERROR(
      "loopy.swizzle_bank_conflicts.row_length",
      swizzle_bank_conflicts(tiled_transposition(cgen::f32, 24), {"a_fetch"}, {.group = 16}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.bad_pattern",
               swizzle_bank_conflicts(kernel, {"a_fetch"}, {.patterns = 3}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.bad_pattern",
               swizzle_bank_conflicts(kernel, {"a_fetch"}, {.patterns = 64}));
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.bad_pattern",
               swizzle_bank_conflicts(kernel, {"a_fetch"}, {.rows = -1}));
  EXPECT_TRUE(why_not([&] { return swizzle_bank_conflicts(kernel, {"b"}); }).has_value());
  EXPECT_EQ(why_not([&] { return swizzle_bank_conflicts(kernel, {"a_fetch"}); }), std::nullopt);
}

TEST(SwizzleBankConflicts, RefusesWhatIsTouchedByItsPlace) {
  Kernel kernel = tiled_transposition();
  Instruction raw;
  raw.id = "look";
  raw.kind = RawCode{"a_fetch[0][0] += 0;", {"a_fetch"}, {"a_fetch"}, {}};
  kernel.instructions.push_back(raw);
  EXPECT_ERROR("loopy.swizzle_bank_conflicts.by_place",
               swizzle_bank_conflicts(kernel, {"a_fetch"}));
}

}  // namespace
}  // namespace rtcg::loopy
