#include "rtcg/loopy/transform/pad_bank_conflicts.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel fetched_transposition(const cgen::Type& type, int tile) {
  Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[j, i]", {.default_type = type});
  kernel = split_iname(kernel, "i", tile, {.outer_tag = "g.1", .inner_tag = "l.1"});
  kernel = split_iname(kernel, "j", tile, {.outer_tag = "g.0", .inner_tag = "l.0"});
  return add_prefetch(kernel, "a", {"i_inner", "j_inner"});
}

std::string temporary_strides(const Kernel& kernel, const std::string& array) {
  std::string text;
  for (const Expr& stride : find_temporary(kernel, array)->strides_elements) {
    text += (text.empty() ? "" : ":") + to_string(stride);
  }
  return text;
}

TEST(PadBankConflicts, MakesTheRowsOfATileLonger) {
  const Kernel before = fetched_transposition(cgen::f32, 32);
  EXPECT_EQ(bank_conflicts(before, "a_fetch"), 32);
  const Kernel after = pad_bank_conflicts(before);
  EXPECT_EQ(temporary_strides(after, "a_fetch"), "33:1");
  EXPECT_EQ(bank_conflicts(after, "a_fetch"), 1);
  EXPECT_EQ(
      to_string(
          apply_recipe(fetched_transposition(cgen::f32, 32), "pad_bank_conflicts()").recipe.back()),
      "pad_bank_conflicts()");
  EXPECT_EQ(temporary_strides(apply_recipe(before, "pad_bank_conflicts(a_fetch)"), "a_fetch"),
            "33:1");
}

TEST(PadBankConflicts, KnowsThatHalfAWarpSharesARow) {
  // 16 threads read down a column, 16 more the one next to it; rows of 18 keep all of them apart,
  // and let two of the 32 that write two rows meet
  const Kernel after = pad_bank_conflicts(fetched_transposition(cgen::f32, 16), {"a_fetch"});
  EXPECT_EQ(bank_conflicts(fetched_transposition(cgen::f32, 16), "a_fetch"), 8);
  EXPECT_EQ(temporary_strides(after, "a_fetch"), "18:1");
  EXPECT_EQ(bank_conflicts(after, "a_fetch"), 2);
}

TEST(PadBankConflicts, CountsTwoBanksForADouble) {
  const Kernel before = fetched_transposition(cgen::f64, 16);
  EXPECT_EQ(bank_conflicts(before, "a_fetch"), 16);
  const Kernel after = pad_bank_conflicts(before);
  EXPECT_EQ(temporary_strides(after, "a_fetch"), "17:1");
  EXPECT_EQ(bank_conflicts(after, "a_fetch"), 1);
}

TEST(PadBankConflicts, LeavesArraysWithoutConflictsAlone) {
  Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = a[i, j] + a[i, j]",
                              {.default_type = cgen::f32});
  kernel = split_iname(kernel, "i", 8, {.outer_tag = "g.1", .inner_tag = "l.1"});
  kernel = split_iname(kernel, "j", 32, {.outer_tag = "g.0", .inner_tag = "l.0"});
  kernel = add_prefetch(kernel, "a", {"i_inner", "j_inner"});
  EXPECT_EQ(bank_conflicts(kernel, "a_fetch"), 1);
  EXPECT_EQ(temporary_strides(pad_bank_conflicts(kernel), "a_fetch"), "");
}

TEST(PadBankConflicts, RefusesWhatHasNoBanks) {
  EXPECT_ERROR("loopy.pad_bank_conflicts.unknown_temporary",
               pad_bank_conflicts(fetched_transposition(cgen::f32, 16), {"b"}));
  EXPECT_ERROR("loopy.pad_bank_conflicts.not_shared",
               pad_bank_conflicts(set_temporary_address_space(fetched_transposition(cgen::f32, 16),
                                                              {"a_fetch"}, "private"),
                                  {"a_fetch"}));
  EXPECT_TRUE(why_not([&] {
                return pad_bank_conflicts(fetched_transposition(cgen::f32, 16), {"b"});
              }).has_value());
  EXPECT_EQ(why_not([&] {
              return pad_bank_conflicts(fetched_transposition(cgen::f32, 16), {"a_fetch"});
            }),
            std::nullopt);
}

TEST(PadBankConflicts, RefusesStridesThatAreNoConstants) {
  const Kernel kernel =
      tag_array_axes(fetched_transposition(cgen::f32, 16), {"a_fetch"}, "stride:n,stride:1");
  EXPECT_ERROR("loopy.pad_bank_conflicts.not_constant", pad_bank_conflicts(kernel, {"a_fetch"}));
}

}  // namespace
}  // namespace rtcg::loopy
