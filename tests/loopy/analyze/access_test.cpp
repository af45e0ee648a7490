#include "rtcg/loopy/analyze/access.h"

#include <gtest/gtest.h>

#include "tests/loopy/check/build_kernel.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");

Kernel kernel_of(Instruction instruction) {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "n")};
  kernel.arguments = {array("a", {name("n")}), array("b", {name("n")}), array("out", {name("n")}),
                      scalar("n"), scalar("alpha")};
  kernel.instructions = {std::move(instruction)};
  return kernel;
}

/// `a r{i} b r{i} out w{i}`, with the number of conditions where there are some.
std::string summary(const Kernel& kernel) {
  std::string text;
  for (const ArrayAccess& access : accesses_of(kernel)) {
    text += (text.empty() ? "" : " ") + access.array + (access.is_write ? " w{" : " r{");
    for (const std::string& iname : access.inames) {
      text += iname;
    }
    text += "}";
    if (!access.conditions.empty()) {
      text += "?" + std::to_string(access.conditions.size());
    }
  }
  return text;
}

TEST(AccessesOf, ListsThemInTheOrderInWhichTheyHappen) {
  const Kernel kernel = kernel_of(assign("s", access("out", {access("b", {i})}),
                                         name("alpha") * access("a", {i + 1}) + name("n"), {"i"}));
  EXPECT_EQ(summary(kernel), "alpha r{i} a r{i} n r{i} b r{i} out w{i}");
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  EXPECT_EQ(accesses[1].indices, std::vector<Expr>{i + 1});
  EXPECT_EQ(accesses[1].statement, "s");
  EXPECT_TRUE(accesses[4].is_write);
  EXPECT_FALSE(accesses[4].is_linear);
}

TEST(AccessesOf, KnowsInamesOfReductions) {
  EXPECT_EQ(summary(kernel_of(assign("s", access("out", {i}),
                                     Reduction{"sum", {"j"}, {access("a", {j})}} * access("b", {i}),
                                     {"i"}))),
            "a r{ij} b r{i} out w{i}");
}

TEST(AccessesOf, KnowsPredicatesAndBranches) {
  const Expr is_set = compare(ComparisonOp::less, access("b", {i}), 1);
  const Kernel kernel = kernel_of(assign("s", access("out", {i}),
                                         Conditional{is_set, access("a", {i}), access("a", {0})},
                                         {"i"}, {compare(ComparisonOp::less, i, 3)}));
  EXPECT_EQ(summary(kernel), "b r{i}?1 a r{i}?2 a r{i}?2 out w{i}?1");
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  EXPECT_EQ(accesses[1].conditions[1], is_set);
  EXPECT_EQ(accesses[2].conditions[1], logical_not(is_set));
}

TEST(AccessesOf, KnowsThatLogicalOperatorsStopEarly) {
  const Expr first = compare(ComparisonOp::less, i, 3);
  const Expr second = compare(ComparisonOp::less, access("a", {i}), 1);
  const Kernel kernel =
      kernel_of(assign("s", access("out", {i}), logical_or({first, second}), {"i"}));
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_EQ(accesses[0].conditions, std::vector<Expr>{logical_not(first)});
  EXPECT_TRUE(accesses[1].conditions.empty());
}

TEST(AccessesOf, MarksLinearAccesses) {
  const std::vector<ArrayAccess> accesses =
      accesses_of(kernel_of(assign("s", LinearAccess{"out", 2 * i}, LinearAccess{"a", i}, {"i"})));
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_TRUE(accesses[0].is_linear);
  EXPECT_TRUE(accesses[1].is_linear);
  EXPECT_EQ(accesses[1].indices, std::vector<Expr>{2 * i});
}

}  // namespace
}  // namespace rtcg::loopy
