#include "rtcg/loopy/check/check_bounds.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "tests/loopy/check/build_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");
const Expr n = name("n");

/// out[i] = value, for 0 <= i < n; a and out have n elements, map holds indices.
Kernel kernel_of(const Expr& value, std::vector<Expr> predicates = {}) {
  Kernel kernel;
  kernel.domains = {loop("i", "n")};
  kernel.arguments = {array("a", {n}), array("out", {n}), array("map", {n}), scalar("n")};
  kernel.instructions = {assign("s", access("out", {i}), value, {"i"}, std::move(predicates))};
  return kernel;
}

std::string message_of(const Kernel& kernel) {
  try {
    check_bounds(kernel);
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "loopy.check_bounds.out_of_bounds");
    return error.message();
  }
  return "";
}

std::string message_of_index(const Expr& index) {
  return message_of(kernel_of(access("a", {index})));
}

TEST(CheckBounds, AcceptsWhatStaysWithin) {
  EXPECT_EQ(message_of_index(i), "");
  EXPECT_EQ(message_of_index(n - 1 - i), "");
  EXPECT_EQ(message_of_index(floor_div(i, 2)), "");
  EXPECT_EQ(message_of_index(modulo(i + 1, n)), "");
  EXPECT_EQ(message_of_index(call("abs", {i - (n - 1)})), "");
  EXPECT_EQ(message_of_index(call("min", {i + 1, n - 1})), "");
  EXPECT_EQ(message_of_index(call("max", {i - 1, 0})), "");
  EXPECT_EQ(message_of_index(Conditional{compare(ComparisonOp::less, i + 1, n), i + 1, i}), "");
}

TEST(CheckBounds, RefusesWithAWitness) {
  EXPECT_ERROR("loopy.check_bounds.out_of_bounds", [] {
    check_bounds(kernel_of(access("a", {i + 1})));
    return 0;
  }());
  EXPECT_EQ(message_of_index(i + 1),
            "'a[i + 1]' in statement 's' reads element 1 of axis 0, which has 1: at i = 0, n = 1");
}

TEST(CheckBounds, TakesTheSmallestParametersThatAreAssumed) {
  Kernel kernel = kernel_of(access("a", {i + 1}));
  kernel.assumptions.add_nonnegative(Affine("n") - 5);
  kernel.assumptions.add(Congruence{Affine("n"), 4});
  EXPECT_EQ(message_of(kernel),
            "'a[i + 1]' in statement 's' reads element 8 of axis 0, which has 8: at i = 7, n = 8");
}

TEST(CheckBounds, RefusesNegativeIndices) {
  EXPECT_NE(message_of_index(i - 1).find("reads element -1 of axis 0, which has 1: at i = 0"),
            std::string::npos);
  EXPECT_NE(message_of_index(call("min", {i - 1, n - 1})), "");
  EXPECT_NE(message_of_index(call("abs", {i - n})), "");
  EXPECT_NE(message_of_index(floor_div(i - 1, 2)), "");
}

TEST(CheckBounds, KnowsPredicatesAndBranches) {
  const Expr is_inside = compare(ComparisonOp::less, i + 1, n);
  EXPECT_EQ(message_of(kernel_of(access("a", {i + 1}), {is_inside})), "");
  EXPECT_EQ(message_of(kernel_of(Conditional{is_inside, access("a", {i + 1}), 0})), "");
  EXPECT_NE(message_of(kernel_of(Conditional{is_inside, 0, access("a", {i + 1})})), "");
  // a condition whose value is not known makes no witness
  const Expr is_marked = compare(ComparisonOp::less, access("map", {i}), 1);
  EXPECT_EQ(message_of(kernel_of(access("a", {i + 1}), {is_marked})), "");
  // and a disjunction is evaluated, though nothing follows from it
  const Expr is_at_end = logical_or({compare(ComparisonOp::equal, i, 0), is_inside});
  EXPECT_NE(message_of(kernel_of(access("a", {i + 1}), {is_at_end})), "");
}

TEST(CheckBounds, MakesNoClaimOfIndicesThatAreRead) {
  EXPECT_EQ(message_of_index(access("map", {i})), "");
  EXPECT_NE(message_of_index(access("map", {i + 1})), "");
}

TEST(CheckBounds, LooksIntoReductions) {
  Kernel kernel = kernel_of(Reduction{"sum", {"j"}, {access("a", {i + j})}});
  kernel.domains.push_back(loop("j", "n"));
  EXPECT_EQ(message_of(kernel),
            "'a[i + j]' in statement 's' reads element 2 of axis 0, which has 2: at i = 1, j = 1, "
            "n = 2");
  // a triangle: i + j < n
  kernel.domains.back() = loop("j", 0, Affine("n") - Affine("i"));
  EXPECT_EQ(message_of(kernel), "");
}

TEST(CheckBounds, KnowsSplitLoops) {
  Kernel kernel;
  kernel.domains = {loop("i_inner", 16)};
  Domain outer{.inames = {"i_outer"}};
  const Affine place = Affine("i_outer", 16) + Affine("i_inner");
  outer.constraints.add_nonnegative(place);
  outer.constraints.add_nonnegative(Affine("n") - place - 1);
  kernel.domains.push_back(outer);
  kernel.arguments = {array("out", {n})};
  kernel.instructions = {assign("s", access("out", {16 * name("i_outer") + name("i_inner")}), 0,
                                {"i_outer", "i_inner"})};
  EXPECT_EQ(message_of(kernel), "");
}

TEST(CheckBounds, ChecksTemporariesAndEveryAxis) {
  Kernel kernel = kernel_of(0);
  kernel.domains = {loop("i", 4), loop("j", 5)};
  kernel.temporaries = {temporary("t", {4, 4})};
  kernel.instructions = {assign("w", access("t", {i, j}), 0, {"i", "j"})};
  EXPECT_EQ(message_of(kernel),
            "'t[i, j]' in statement 'w' writes element 4 of axis 1, which has 4: at i = 0, j = 4");
}

TEST(CheckBounds, MakesNoClaimOfBoundsThatAreComputed) {
  Kernel kernel = kernel_of(0);
  kernel.temporaries = {{.name = "row_length", .type = cgen::i32}};
  kernel.domains.push_back(loop("j", "row_length"));
  kernel.instructions.push_back(assign("t", access("out", {j}), 0, {"i", "j"}));
  EXPECT_EQ(message_of(kernel), "");
}

}  // namespace
}  // namespace rtcg::loopy
