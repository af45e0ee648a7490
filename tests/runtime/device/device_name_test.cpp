#include "rtcg/runtime/device/device_name.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

TEST(DeviceName, ReadsWhatItPrints) {
  for (const char* text :
       {"host", "opencl:0", "opencl:12", "cuda:3", "opencl:0.1/4", "opencl:2.0/numa"}) {
    EXPECT_EQ(to_string(parse_device_name(text)), text);
  }
  EXPECT_EQ(to_string(parse_device_name("cuda")), "cuda:0");
}

TEST(DeviceName, RefusesOtherSpellings) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "host:0", "CUDA:0",
                           "cuda:99999999999", "opencl:0.", "opencl:0.1", "opencl:0.4/4",
                           "opencl:0.0/0", "opencl:0.1/x", "opencl:0.-1/4", "opencl:.1/4"}) {
    EXPECT_ERROR("runtime.device.bad_name", parse_device_name(text));
  }
}

}  // namespace
}  // namespace rtcg::runtime
