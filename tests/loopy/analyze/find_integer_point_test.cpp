#include "rtcg/loopy/analyze/find_integer_point.h"

#include <gtest/gtest.h>

#include "tests/loopy/check/build_kernel.h"

namespace rtcg::loopy {
namespace {

bool anything(const IntegerValues&) {
  return true;
}

TEST(FindIntegerPoint, PrefersSmallValues) {
  ConstraintSet set;
  set.add_nonnegative(Affine("n") - Affine("i") - 1);
  set.add_nonnegative(Affine("i") - 2);
  EXPECT_EQ(find_integer_point(set, {"n", "i"}, anything), (IntegerValues{{"n", 3}, {"i", 2}}));
  set.add_nonnegative(Affine(-1) - Affine("k"));
  EXPECT_EQ(find_integer_point(set, {"k"}, anything), (IntegerValues{{"k", -1}}));
}

TEST(FindIntegerPoint, LooksOnUntilAPointIsAccepted) {
  ConstraintSet set;
  set.add_nonnegative(Affine("i"));
  const auto is_seven = [](const IntegerValues& values) { return values.at("i") == 7; };
  EXPECT_EQ(find_integer_point(set, {"i"}, is_seven), (IntegerValues{{"i", 7}}));
  set.add_nonnegative(Affine(6) - Affine("i"));
  EXPECT_FALSE(find_integer_point(set, {"i"}, is_seven));
}

TEST(FindIntegerPoint, FindsNothingInAnEmptySet) {
  ConstraintSet set;
  set.add_nonnegative(Affine("i"));
  set.add_nonnegative(Affine(-1) - Affine("i"));
  EXPECT_FALSE(find_integer_point(set, {"i"}, anything));
}

TEST(WitnessNames, PutsParametersBeforeInames) {
  Kernel kernel;
  kernel.domains = {loop("i", "n"), loop("j", "i")};
  EXPECT_EQ(witness_names(kernel, {"j"}, constraints_of(kernel, {"j"})),
            (std::vector<std::string>{"n", "i", "j"}));
  kernel.temporaries = {temporary("n")};
  EXPECT_FALSE(witness_names(kernel, {"j"}, constraints_of(kernel, {"j"})));
}

TEST(Describe, PutsInamesFirst) {
  Kernel kernel;
  kernel.domains = {loop("z", "n")};
  EXPECT_EQ(describe(kernel, {{"n", 5}, {"z", 4}}), "z = 4, n = 5");
}

}  // namespace
}  // namespace rtcg::loopy
