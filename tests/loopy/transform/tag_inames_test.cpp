#include "rtcg/loopy/transform/tag_inames.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel copy_kernel() {
  return make_kernel("{[i, j]: 0 <= i, j < n}", "out[i, j] = a[i, j]", {.default_type = cgen::f32});
}

TEST(TagInames, SetsTags) {
  const Kernel kernel = tag_inames(copy_kernel(), "i:g.0, j : l.0");
  EXPECT_EQ(tag_of(kernel, "i"), (InameTag{AxisKind::grid, 0}));
  EXPECT_EQ(tag_of(kernel, "j"), (InameTag{AxisKind::block, 0}));
  EXPECT_EQ(kernel.recipe, (std::vector<RecipeStep>{{"tag_inames", {"i:g.0", "j:l.0"}, {}}}));
}

TEST(TagInames, MakesLoopsOfTaggedInames) {
  const Kernel kernel = tag_inames(copy_kernel(), "i:g.0, j:l.0");
  EXPECT_TRUE(tag_inames(kernel, "i:for, j:for").iname_tags.empty());
  EXPECT_TRUE(untag_inames(kernel, {"i", "j"}).iname_tags.empty());
}

TEST(TagInames, SettlesAutomaticAxes) {
  const Kernel kernel = tag_inames(tag_inames(copy_kernel(), "i:l.auto"), "i:l.1");
  EXPECT_EQ(tag_of(kernel, "i"), (InameTag{AxisKind::block, 1}));
}

TEST(TagInames, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.tag_inames.unknown_iname", tag_inames(copy_kernel(), "q:g.0"));
  EXPECT_ERROR("loopy.untag_inames.unknown_iname", untag_inames(copy_kernel(), {"q"}));
  EXPECT_EQ(why_not([&] { return untag_inames(copy_kernel(), {"i"}); }), std::nullopt);
}

TEST(TagInames, RefusesAnotherTag) {
  EXPECT_ERROR("loopy.tag_inames.tagged_already",
               tag_inames(tag_inames(copy_kernel(), "i:g.0"), "i:l.0"));
}

TEST(TagInames, RefusesOneAxisForTwoInames) {
  EXPECT_ERROR("loopy.tag_inames.axis_used_twice", tag_inames(copy_kernel(), "i:l.0, j:l.0"));
  EXPECT_EQ(why_not([&] {
              return tag_inames(copy_kernel(), {{"i", "l.0"}, {"j", "l.0"}});
            }),
            "'j' cannot be on l.0: 'i' is there, and statement 'set_out' is within both");
}

TEST(TagInames, AllowsOneAxisForInamesOfDifferentStatements) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i] = 1.0\nc[j] = 2.0", {.default_type = cgen::f32});
  EXPECT_EQ(why_not([&] {
              return tag_inames(kernel, {{"i", "l.0"}, {"j", "l.0"}});
            }),
            std::nullopt);
}

TEST(TagInames, RefusesUnreadableText) {
  EXPECT_ERROR("loopy.tag_inames.syntax", tag_inames(copy_kernel(), "i g.0"));
  EXPECT_ERROR("loopy.iname_tag.unknown", tag_inames(copy_kernel(), "i:warp"));
}

TEST(TagInames, TakesPatterns) {
  const Kernel kernel = make_kernel("{[i_0, i_1, j]: 0 <= i_0, i_1, j < 4}",
                                    "out[i_0, i_1, j] = 1.0", {.default_type = cgen::f32});
  const Kernel tagged = tag_inames(kernel, "i_*:unr, ?:g.0");
  EXPECT_EQ(to_string(tag_of(tagged, "i_0")), "unr");
  EXPECT_EQ(to_string(tag_of(tagged, "i_1")), "unr");
  EXPECT_EQ(to_string(tag_of(tagged, "j")), "g.0");
  expect_recipe(kernel, tagged, "tag_inames(i_0:unr, i_1:unr, j:g.0)\n");
  EXPECT_ERROR("loopy.tag_inames.unknown_iname", tag_inames(kernel, "q*:unr"));
}

}  // namespace
}  // namespace rtcg::loopy
