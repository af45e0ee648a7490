#include "rtcg/loopy/analyze/functions.h"

#include <gtest/gtest.h>

namespace rtcg::loopy {
namespace {

TEST(FindFunction, KnowsIntrinsicsAndNamesOfC) {
  EXPECT_EQ(find_function("rsqrt"), cgen::Intrinsic::rsqrt);
  EXPECT_EQ(find_function("fmax"), cgen::Intrinsic::max);
  EXPECT_FALSE(find_function("atomic_add"));
  EXPECT_FALSE(find_function("frobnicate"));
}

TEST(CloseNames, PutsTheLikeliestFirst) {
  EXPECT_EQ(close_names("sqr", function_names()).front(), "sqrt");
  EXPECT_EQ(close_names("cosine", {"tangent", "cosin"}), std::vector<std::string>{"cosin"});
  EXPECT_TRUE(close_names("frobnicate", function_names()).empty());
}

}  // namespace
}  // namespace rtcg::loopy
