#include "rtcg/runtime/device/driver_message.h"

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

TEST(DriverMessage, LeavesOutWhatAnotherErrorWillSay) {
  const DeviceError error("runtime.fake.failed", "no luck", "cuTry", "CUDA_ERROR_LUCK");
  EXPECT_STREQ(error.what(), "no luck: cuTry returned CUDA_ERROR_LUCK [runtime.fake.failed]");
  EXPECT_EQ(driver_message(error), "no luck");
}

}  // namespace
}  // namespace rtcg::runtime
