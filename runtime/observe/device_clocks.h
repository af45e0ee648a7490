#pragma once

#include <string>

#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// How fast a device ran at some moment, for the record of a measurement. 0: not known.
struct DeviceClocks {
  int core_mhz = 0;
  int memory_mhz = 0;
  int temperature_celsius = 0;
};

/// What NVIDIA's management library reports of a CUDA device now, otherwise the device's nominal
/// clocks.
[[nodiscard]] DeviceClocks read_clocks(const Device& device);

/// `1980 MHz, memory 3201 MHz, 41 C`, without what is not known.
[[nodiscard]] std::string to_string(const DeviceClocks& clocks);

}  // namespace rtcg::runtime
