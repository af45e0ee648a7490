#pragma once

#include <cstdlib>
#include <dlfcn.h>
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
#include "rtcg/runtime/opencl/opencl_backend.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {

/// That of the first OpenCL device.
inline const opencl::OpenClBackend& first_backend() {
  return dynamic_cast<const opencl::OpenClBackend&>(*opencl_devices().devices.front());
}

/// Tests on the first OpenCL device; skipped where there is none. A device that rtcg refuses is
/// trusted: the interface is tested, and no kernel here has barriers in loops.
class OpenClTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (opencl_devices().devices.empty()) {
      GTEST_SKIP() << "no OpenCL device: " << opencl_devices().why_none;
    }
    found_.emplace(Device::find("opencl:0"));
    if (!why_refused(*found_).empty()) {
      trusting_.emplace("RTCG_TRUST_COMPILER", "1");
    }
  }
  [[nodiscard]] Device device() const { return *found_; }
  [[nodiscard]] bool is_only_trusted() const { return trusting_.has_value(); }

 private:
  std::optional<testing::EnvironmentGuard> trusting_;
  std::optional<Device> found_;
};

/// Holds streams back until it is opened, so that a test knows what cannot have run yet.
///
/// To be declared after the buffers of the held work: they wait for it when they go.
class Gate {
 public:
  explicit Gate(const Device& device)
      : api_(dynamic_cast<opencl::OpenClBackend&>(device.backend()).api()) {
    const char* given = std::getenv("RTCG_LIBOPENCL");
    // the library that the program uses already, under a name that finds it again
    void* library = ::dlopen(given != nullptr ? given : "libOpenCL.so.1", RTLD_NOW);
    const auto create =
        reinterpret_cast<decltype(&::clCreateUserEvent)>(::dlsym(library, "clCreateUserEvent"));
    set_status_ = reinterpret_cast<decltype(&::clSetUserEventStatus)>(
        ::dlsym(library, "clSetUserEventStatus"));
    cl_int status = CL_SUCCESS;
    event_ = create(dynamic_cast<opencl::OpenClBackend&>(device.backend()).context(), &status);
    EXPECT_EQ(status, CL_SUCCESS);
  }
  ~Gate() {
    open();
    api_.clReleaseEvent(event_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void hold(const Device& device, StreamRef stream) const { stream.wait(EventRef(device, event_)); }
  void open() {
    if (!is_open_) {
      is_open_ = true;
      EXPECT_EQ(set_status_(event_, CL_COMPLETE), CL_SUCCESS);
    }
  }

 private:
  const opencl::Api& api_;
  decltype(&::clSetUserEventStatus) set_status_ = nullptr;
  cl_event event_ = nullptr;
  bool is_open_ = false;
};

}  // namespace rtcg::runtime
