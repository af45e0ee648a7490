#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

inline void PrintTo(const Device& device, std::ostream* out) {
  *out << to_string(device.info().id);
}

/// One kernel program in the language of each back end.
struct Texts {
  const char* host;
  const char* opencl;
  const char* cuda;

  [[nodiscard]] const char* of(const Device& device) const {
    switch (device.info().id.kind) {
      case BackendKind::cuda:
        return cuda;
      case BackendKind::opencl:
        return opencl;
      case BackendKind::host:
        break;
    }
    return host;
  }
};

/// A test that runs once on every device of the machine.
class OnEveryDevice : public ::testing::TestWithParam<Device> {
 protected:
  [[nodiscard]] static Device device() { return GetParam(); }
  [[nodiscard]] static bool is_host() { return device().info().id.kind == BackendKind::host; }
  [[nodiscard]] static bool is_opencl() { return device().info().id.kind == BackendKind::opencl; }
  /// The kernels of test_kernels.h.
  [[nodiscard]] static Program program();
};

/// Whether the stream gets done without being waited for. Some drivers say so a moment late.
inline bool becomes_done(StreamRef stream) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!stream.is_done()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

inline std::string device_test_name(const ::testing::TestParamInfo<Device>& info) {
  const DeviceName& id = info.param.info().id;
  return std::string(to_string(id.kind)) + std::to_string(id.index);
}

}  // namespace rtcg::runtime
