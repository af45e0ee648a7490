#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/device.h"

namespace rtcg::arrays::testing {

/// Tests on a real GPU: skipped where there is none, unless REQUIRE_GPU=1 says that there must be
/// one.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string& why = runtime::why_no_devices(runtime::BackendKind::cuda);
    if (why.empty()) {
      return;
    }
    const char* required = std::getenv("REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") {
      FAIL() << "REQUIRE_GPU=1, but there is no CUDA device: " << why;
    }
    GTEST_SKIP() << "there is no CUDA device: " << why;
  }
  [[nodiscard]] static runtime::Device gpu() { return runtime::Device::find("cuda:0"); }
};

}  // namespace rtcg::arrays::testing
