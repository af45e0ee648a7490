#include "rtcg/loopy/transform/instruction_inames.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel nested_statements() {
  return make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < m}", R"(
      total(x) := sum(k, a[x, k])
      b[0] = 1.0 {id=b}
      c[i] = sum(k, a[i, k]) {id=c}
      d[i] = total(i) {id=d}
      e[i, j] = 2.0 {id=e}
      f[0] = 3.0 {id=f, if=k > 2, inames=i:k}
  )",
                     {.arguments = "e: f32[n, n]; ...", .default_type = cgen::f32});
}
NameSet inames_of(const Kernel& kernel, std::string_view id) {
  return find_instruction(kernel, id)->within_inames;
}

TEST(AddInamesToInstructions, AddsThemWithTheirParents) {
  const Kernel kernel = add_inames_to_instructions(nested_statements(), {"j"}, "id:b or id:c");
  EXPECT_EQ(inames_of(kernel, "b"), (NameSet{"i", "j"}));
  EXPECT_EQ(inames_of(kernel, "c"), (NameSet{"i", "j"}));
  EXPECT_EQ(inames_of(kernel, "d"), NameSet{"i"});
  expect_recipe(nested_statements(), kernel, "add_inames_to_instructions([j], id:b or id:c)\n");
  expect_same_results(nested_statements(), kernel, {{"n", 3}, {"m", 4}});
}

TEST(AddInamesToInstructions, TakesAllStatementsForAnEmptyPattern) {
  const Kernel kernel = add_inames_to_instructions(nested_statements(), {"i"}, "");
  EXPECT_EQ(inames_of(kernel, "b"), NameSet{"i"});
  expect_recipe(nested_statements(), kernel, "add_inames_to_instructions([i], \"\")\n");
}

TEST(AddInamesToInstructions, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.add_inames_to_instructions.unknown_iname",
               add_inames_to_instructions(nested_statements(), {"q"}, "b"));
  EXPECT_EQ(why_not([&] { return add_inames_to_instructions(nested_statements(), {"q"}, "b"); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i, j, k");
  EXPECT_ERROR("loopy.add_inames_to_instructions.reduced",
               add_inames_to_instructions(nested_statements(), {"k"}, "c"));
  EXPECT_EQ(why_not([&] { return add_inames_to_instructions(nested_statements(), {"k"}, "d"); }),
            "statement 'd' reduces over 'k' and cannot be within it");
  EXPECT_ERROR("loopy.match_instructions.syntax",
               add_inames_to_instructions(nested_statements(), {"k"}, "b or"));
  EXPECT_TRUE(why_not([&] {
                return add_inames_to_instructions(nested_statements(), {"k"}, "b or");
              }).has_value());
  EXPECT_EQ(why_not([&] { return add_inames_to_instructions(nested_statements(), {"k"}, "b"); }),
            std::nullopt);
}

TEST(RemoveInamesFromInstructions, RemovesWhatIsNotUsed) {
  const Kernel kernel = remove_inames_from_instructions(nested_statements(), {"i"}, "f");
  EXPECT_EQ(inames_of(kernel, "f"), NameSet{"k"});
  expect_recipe(nested_statements(), kernel, "remove_inames_from_instructions([i], f)\n");
  expect_same_results(nested_statements(), kernel, {{"n", 3}, {"m", 4}});
}

TEST(RemoveInamesFromInstructions, UndoesAdding) {
  const Kernel added = add_inames_to_instructions(nested_statements(), {"j"}, "b");
  const Kernel kernel = remove_inames_from_instructions(added, {"i", "j"}, "b");
  EXPECT_EQ(inames_of(kernel, "b"), NameSet{});
}

TEST(RemoveInamesFromInstructions, RefusesWhatIsUsed) {
  EXPECT_ERROR("loopy.remove_inames_from_instructions.unknown_iname",
               remove_inames_from_instructions(nested_statements(), {"q"}, "b"));
  const auto why_not_removed = [](const std::string& iname, std::string_view within) {
    return why_not(
        [&] { return remove_inames_from_instructions(nested_statements(), {iname}, within); });
  };
  EXPECT_ERROR("loopy.remove_inames_from_instructions.used",
               remove_inames_from_instructions(nested_statements(), {"i"}, "c"));
  EXPECT_EQ(why_not_removed("i", "c"),
            "statement 'c' uses 'i', or an iname whose bounds depend on it");
  EXPECT_TRUE(why_not_removed("k", "f").has_value());  // its predicate
  EXPECT_EQ(why_not_removed("i", "f"), std::nullopt);
  const Kernel inner = add_inames_to_instructions(nested_statements(), {"j"}, "b");
  EXPECT_TRUE(
      why_not([&] { return remove_inames_from_instructions(inner, {"i"}, "b"); }).has_value());
  EXPECT_EQ(why_not([&] { return remove_inames_from_instructions(inner, {"j"}, "b"); }),
            std::nullopt);
  const Kernel hidden = make_kernel("{[i]: 0 <= i < n}", "f() := a[i]\nb[0] = f() {inames=i}",
                                    {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.remove_inames_from_instructions.used",
               remove_inames_from_instructions(hidden, {"i"}, ""));
}

}  // namespace
}  // namespace rtcg::loopy
