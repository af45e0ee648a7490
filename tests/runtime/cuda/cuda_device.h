#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// Tests on a real GPU: skipped where there is none, unless REQUIRE_GPU=1 says that there must be
/// one.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string& why = why_no_devices(BackendKind::cuda);
    if (why.empty()) {
      return;
    }
    const char* required = std::getenv("REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") {
      FAIL() << "REQUIRE_GPU=1, but there is no CUDA device: " << why;
    }
    GTEST_SKIP() << "there is no CUDA device: " << why;
  }

  [[nodiscard]] static Device gpu() { return Device::find("cuda:0"); }
};

}  // namespace rtcg::runtime
