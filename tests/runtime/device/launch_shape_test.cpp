#include "rtcg/runtime/device/launch_shape.h"

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

TEST(LaunchShape, IsWrittenOutForMessages) {
  LaunchShape shape{4, {16, 8}, 512};
  EXPECT_EQ(to_string(shape), "grid 4x1x1, block 16x8x1, 512 shared bytes");
  shape.cooperative = true;
  EXPECT_EQ(to_string(shape), "grid 4x1x1, block 16x8x1, 512 shared bytes, cooperative");
  EXPECT_EQ(shape.block.volume(), 128U);
}

}  // namespace
}  // namespace rtcg::runtime
