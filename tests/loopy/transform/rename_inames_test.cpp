#include "rtcg/loopy/transform/rename_inames.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

using Groups = std::vector<std::vector<std::string>>;

/// Four loops: j reads what i wrote, k reads it one further on, l is shorter.
Kernel four_loops() {
  return make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < n} {[k]: 0 <= k < n} {[l]: 0 <= l < n - 1}",
                     "b[i] = 2*a[i]\nc[j] = b[j] + 1\nd[k] = b[k + 1]\ne[l] = 3*a[l]",
                     {.arguments = "a, c, d, e: f32[n]; b: f32[n + 1]; n: i32"});
}

TEST(RenameInames, MakesOneLoop) {
  const Kernel one = rename_inames(four_loops(), {"i", "j"}, "ij");
  EXPECT_EQ(one.instructions[0].within_inames, (NameSet{"ij"}));
  EXPECT_EQ(one.instructions[1].within_inames, (NameSet{"ij"}));
  expect_same_results(four_loops(), one, {{"n", 5}});
  expect_recipe(four_loops(), one, "rename_inames([i, j], ij)\n");
  expect_same_results(four_loops(), rename_inames(four_loops(), {"i", "j"}, "i"), {{"n", 5}});
}

TEST(RenameInames, RefusesWhatCannotBeOne) {
  EXPECT_ERROR("loopy.rename_inames.too_few", rename_inames(four_loops(), {}, "ij"));
  EXPECT_ERROR("loopy.rename_iname.carried_value", rename_inames(four_loops(), {"i", "k"}, "i"));
  EXPECT_NE(why_not([&] { return rename_inames(four_loops(), {"i", "l"}, "i"); }), std::nullopt);
}

TEST(FuseLoops, FindsWhatMayBeOne) {
  EXPECT_EQ(find_fusion_candidates(four_loops()), (Groups{{"i", "j"}}));
  EXPECT_EQ(find_fusion_candidates(four_loops(), {"j", "k"}), (Groups{{"j", "k"}}));
  EXPECT_EQ(find_fusion_candidates(four_loops(), {"i", "l"}), Groups{});
}

TEST(FuseLoops, MakesOneOfThem) {
  const Kernel fused = fuse_loops(four_loops());
  EXPECT_EQ(all_inames(fused), (std::vector<std::string>{"i", "k", "l"}));
  expect_same_results(four_loops(), fused, {{"n", 5}});
  expect_recipe(four_loops(), fused, "fuse_loops()\n");
  expect_recipe(four_loops(), fuse_loops(four_loops(), {"j", "k"}), "fuse_loops(j, k)\n");
}

TEST(FuseLoops, RefusesWhereThereIsNothingToFuse) {
  EXPECT_ERROR("loopy.fuse_loops.unknown_iname", fuse_loops(four_loops(), {"q"}));
  EXPECT_ERROR("loopy.fuse_loops.nothing_to_fuse", fuse_loops(four_loops(), {"i", "l"}));
  EXPECT_EQ(why_not([&] { return fuse_loops(four_loops(), {"i", "j"}); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
