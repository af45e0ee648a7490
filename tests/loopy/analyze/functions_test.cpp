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

}  // namespace
}  // namespace rtcg::loopy
