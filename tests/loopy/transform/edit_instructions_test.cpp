#include "rtcg/loopy/transform/edit_instructions.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel four() {
  return make_kernel("{[i, j]: 0 <= i, j < n}", R"(
      a[i] = 1.0 {id=a}
      b[i, j] = 2.0 {id=b}
      c[i, j] = 3.0 {id=c}
      d[i] = 4.0 {id=d}
  )",
                     {.default_type = cgen::f32});
}
NameSet dependencies_of(const Kernel& kernel, std::string_view id) {
  return find_instruction(kernel, id)->depends_on;
}

TEST(AddDependency, MakesStatementsWait) {
  const Kernel kernel = add_dependency(four(), "id:c or id:d", "a");
  EXPECT_EQ(dependencies_of(kernel, "c"), NameSet{"a"});
  EXPECT_EQ(dependencies_of(kernel, "d"), NameSet{"a"});
  EXPECT_EQ(dependencies_of(kernel, "b"), NameSet{});
  expect_recipe(four(), kernel, "add_dependency(id:c or id:d, a)\n");
}

TEST(AddDependency, LetsNoStatementWaitForItself) {
  const Kernel kernel = add_dependency(four(), "*", "a");
  EXPECT_EQ(dependencies_of(kernel, "a"), NameSet{});
  EXPECT_EQ(dependencies_of(kernel, "b"), NameSet{"a"});
}

TEST(AddDependency, RefusesWhatFitsNothing) {
  EXPECT_ERROR("loopy.add_dependency.nothing_fits", add_dependency(four(), "a", "z"));
  EXPECT_EQ(why_not([&] { return add_dependency(four(), "z", "a"); }),
            "no statement of kernel 'loopy_kernel' fits 'z'");
  EXPECT_ERROR("loopy.match_instructions.syntax", add_dependency(four(), "a and", "b"));
  EXPECT_EQ(why_not([&] { return add_dependency(four(), "b", "a"); }), std::nullopt);
}

TEST(AddDependency, RefusesCircles) {
  const Kernel chain = add_dependency(add_dependency(four(), "b", "a"), "c", "b");
  EXPECT_ERROR("loopy.add_dependency.circle", add_dependency(chain, "a", "c"));
  EXPECT_EQ(why_not([&] { return add_dependency(chain, "a", "c"); }),
            "what fits 'c' depends on what fits 'a' already");
  EXPECT_ERROR("loopy.add_dependency.circle", add_dependency(four(), "*", "id:a or id:b"));
  EXPECT_EQ(why_not([&] { return add_dependency(four(), "*", "id:a or id:b"); }),
            "several statements fit both '*' and 'id:a or id:b': they would wait for each other");
}

TEST(RemoveInstructions, HandsDependenciesOn) {
  const Kernel chain =
      add_dependency(add_dependency(add_dependency(four(), "b", "a"), "c", "b"), "d", "c");
  const Kernel kernel = remove_instructions(chain, "id:b or id:c");
  EXPECT_EQ(statements_of(kernel), "a[i] = 1.0\nd[i] = 4.0\n");
  EXPECT_EQ(dependencies_of(kernel, "d"), NameSet{"a"});
  expect_recipe(four(), remove_instructions(four(), "not id:a"), "remove_instructions(not id:a)\n");
  EXPECT_EQ(why_not([&] { return remove_instructions(four(), "id:b"); }), std::nullopt);
  EXPECT_ERROR("loopy.match_instructions.syntax", remove_instructions(four(), "(id:b"));
  EXPECT_TRUE(why_not([&] { return remove_instructions(four(), "(id:b"); }).has_value());
}

TEST(ReplaceInstructionIds, RenamesStatementsAndDependencies) {
  const Kernel chain = add_dependency(four(), "b", "a");
  const Kernel kernel = replace_instruction_ids(chain, {{"a", "b"}, {"b", "a"}, {"c", "last"}});
  EXPECT_EQ(statements_of(kernel), statements_of(four()));
  EXPECT_EQ(dependencies_of(kernel, "a"), NameSet{"b"});
  EXPECT_EQ(kernel.instructions[2].id, "last");
  expect_recipe(four(), kernel,
                "add_dependency(b, a)\nreplace_instruction_ids(a:b, b:a, c:last)\n");
}

TEST(ReplaceInstructionIds, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.replace_instruction_ids.unknown_id",
               replace_instruction_ids(four(), {{"z", "y"}}));
  EXPECT_EQ(why_not([&] {
              return replace_instruction_ids(four(), {{"z", "y"}});
            }),
            "kernel 'loopy_kernel' has no statement 'z'");
  EXPECT_ERROR("loopy.replace_instruction_ids.name_taken",
               replace_instruction_ids(four(), {{"a", "b"}}));
  EXPECT_ERROR("loopy.replace_instruction_ids.name_taken",
               replace_instruction_ids(four(), {{"a", "x"}, {"b", "x"}}));
  EXPECT_ERROR("loopy.replace_instruction_ids.name_taken",
               replace_instruction_ids(four(), {{"a", ""}}));
  EXPECT_EQ(why_not([&] {
              return replace_instruction_ids(four(), {{"a", "x:y"}});
            }),
            "'x:y' is not a name: use letters, digits and underscores");
  EXPECT_EQ(why_not([&] { return replace_instruction_ids(four(), {{"a", "x"}}); }), std::nullopt);
}

TEST(TagInstructions, TagsWhatFits) {
  const Kernel kernel = tag_instructions(four(), "inner", "iname:j");
  EXPECT_EQ(find_instruction(kernel, "b")->tags, NameSet{"inner"});
  EXPECT_EQ(find_instruction(kernel, "a")->tags, NameSet{});
  EXPECT_EQ(statements_of(remove_instructions(kernel, "tag:inner")), "a[i] = 1.0\nd[i] = 4.0\n");
  expect_recipe(four(), kernel, "tag_instructions(inner, match=iname:j)\n");
  expect_recipe(four(), tag_instructions(four(), "all"), "tag_instructions(all)\n");
  EXPECT_TRUE(why_not([&] { return tag_instructions(four(), "x", "a or"); }).has_value());
  EXPECT_EQ(why_not([&] { return tag_instructions(four(), "x", "a"); }), std::nullopt);
}

TEST(AddBarrier, StandsBetween) {
  const Kernel kernel = add_barrier(four(), "b", "c");
  EXPECT_EQ(statements_of(kernel),
            "a[i] = 1.0\nb[i, j] = 2.0\n... gbarrier\nc[i, j] = 3.0\nd[i] = 4.0\n");
  EXPECT_EQ(find_instruction(kernel, "barrier")->within_inames, (NameSet{"i", "j"}));
  EXPECT_EQ(dependencies_of(kernel, "barrier"), NameSet{"b"});
  EXPECT_EQ(dependencies_of(kernel, "c"), NameSet{"barrier"});
  expect_recipe(four(), kernel, "add_barrier(b, c)\n");
}

TEST(AddBarrier, StandsOutsideOfAxes) {
  Kernel kernel = four();
  kernel.iname_tags["j"] = {AxisKind::block, 0};
  EXPECT_EQ(find_instruction(add_barrier(kernel, "b", "c"), "barrier")->within_inames,
            NameSet{"i"});
}

TEST(AddBarrier, StandsInTheLoopsThatAllShare) {
  const Kernel kernel = add_barrier(four(), "id:a or id:b", "d", {.scope = "local", .id = "meet"});
  EXPECT_EQ(statements_of(kernel),
            "a[i] = 1.0\nb[i, j] = 2.0\nc[i, j] = 3.0\n... lbarrier\nd[i] = 4.0\n");
  EXPECT_EQ(find_instruction(kernel, "meet")->within_inames, NameSet{"i"});
  EXPECT_EQ(dependencies_of(kernel, "meet"), (NameSet{"a", "b"}));
  expect_recipe(four(), kernel, "add_barrier(id:a or id:b, d, id=meet, scope=local)\n");
}

TEST(AddBarrier, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.add_barrier.nothing_fits", add_barrier(four(), "z", "a"));
  EXPECT_ERROR("loopy.add_barrier.unknown_scope", add_barrier(four(), "a", "b", {.scope = "warp"}));
  EXPECT_EQ(why_not([&] { return add_barrier(four(), "a", "b", {.scope = "warp"}); }),
            "a barrier cannot be 'warp': write local or global");
  EXPECT_ERROR("loopy.add_barrier.name_taken", add_barrier(four(), "a", "b", {.id = "c"}));
  EXPECT_EQ(why_not([&] { return add_barrier(four(), "a", "b"); }), std::nullopt);
}

TEST(AddBarrier, RefusesCircles) {
  EXPECT_ERROR("loopy.add_barrier.circle", add_barrier(four(), "a", "id:a or id:b"));
  EXPECT_EQ(why_not([&] { return add_barrier(four(), "a", "id:a or id:b"); }),
            "a statement cannot be on both sides of a barrier");
  EXPECT_ERROR("loopy.add_barrier.circle", add_barrier(add_dependency(four(), "b", "a"), "b", "a"));
}

}  // namespace
}  // namespace rtcg::loopy
