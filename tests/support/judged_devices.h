#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::runtime {

/// Whether RTCG_TEST_DEVICES, a list such as `cuda,host`, names `what`: a back end, or cuda_on_cpu.
/// Without the variable all are judged. A run under a tool for GPUs has no use for the others.
inline bool is_judged(std::string_view what) {
  const char* named = std::getenv("RTCG_TEST_DEVICES");
  return named == nullptr ||
         ("," + std::string(named) + ",").find("," + std::string(what) + ",") != std::string::npos;
}

/// All devices that are judged, but those whose compiler rtcg refuses, because it makes wrong code: PoCL from 4 on
/// may be one. Tests that would run there would only find that refusal; a line on stderr says who
/// is left out.
inline const std::vector<runtime::Device>& judged_devices() {
  static const std::vector<runtime::Device> devices = [] {
    std::vector<runtime::Device> judged;
    for (const Device& device : all_devices()) {
      const runtime::DeviceInfo& info = device.info();
      if (!is_judged(to_string(info.id.kind))) {
        continue;
      }
      const bool is_doubtful = info.id.kind == runtime::BackendKind::opencl && info.is_cpu &&
                               std::atoi(info.driver_version.c_str()) >= 4;
      if (is_doubtful) {
        try {
          (void)runtime::Program::compile(device, SourceText{"__kernel void f() {}\n", {}});
        } catch (const Unsupported& refusal) {
          std::fprintf(stderr, "left out: %s\n", refusal.what());
          continue;
        }
      }
      judged.push_back(device);
    }
    return judged;
  }();
  return devices;
}

}  // namespace rtcg::runtime
