#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/device/stream.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {

/// Tests on the first OpenCL device; skipped where there is none.
class OpenClTest : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_devices().devices.empty()) {
      GTEST_SKIP() << "no OpenCL device: " << opencl_devices().why_none;
    }
    found_.emplace(Device::find("opencl:0"));
  }
  [[nodiscard]] Device device() const { return *found_; }

 private:
  std::optional<Device> found_;
};

}  // namespace rtcg::runtime
