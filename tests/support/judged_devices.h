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

/// Why rtcg refuses the compiler of a device: it makes wrong code, as that of PoCL from 4 on may.
/// Empty if it does not.
inline std::string why_refused(const Device& device) {
  const runtime::DeviceInfo& info = device.info();
  if (info.id.kind == runtime::BackendKind::opencl && info.is_cpu &&
      std::atoi(info.driver_version.c_str()) >= 4) {
    try {
      (void)runtime::Program::compile(device, SourceText{"__kernel void f() {}\n", {}});
    } catch (const Unsupported& refusal) {
      return refusal.what();
    }
  }
  return {};
}

/// All devices that are judged and not refused. Tests that would run on those would only find the
/// refusal; a line on stderr says who is left out.
inline const std::vector<runtime::Device>& judged_devices() {
  static const std::vector<runtime::Device> devices = [] {
    std::vector<runtime::Device> judged;
    for (const Device& device : all_devices()) {
      if (!is_judged(to_string(device.info().id.kind))) {
        continue;
      }
      if (const std::string why = why_refused(device); !why.empty()) {
        std::fprintf(stderr, "left out: %s\n", why.c_str());
        continue;
      }
      judged.push_back(device);
    }
    return judged;
  }();
  return devices;
}

}  // namespace rtcg::runtime
