#include "rtcg/cgen/support/close_names.h"

#include <gtest/gtest.h>

namespace rtcg {
namespace {

TEST(CloseNames, PutsTheLikeliestFirst) {
  EXPECT_EQ(close_names("sqr", {"sin", "sqrt", "sq2rt"}).front(), "sqrt");
  EXPECT_EQ(close_names("cosine", {"tangent", "cosin"}), std::vector<std::string>{"cosin"});
  EXPECT_TRUE(close_names("frobnicate", {"sin", "sqrt", "fabs"}).empty());
}

TEST(CloseNames, GivesAtMostThree) {
  EXPECT_EQ(close_names("a1", {"a2", "a3", "a4", "a5"}).size(), 3U);
}

}  // namespace
}  // namespace rtcg
