#pragma once
// Internal header: it is not installed.

#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime {

/// The CPU, as far as the operating system tells.
[[nodiscard]] DeviceInfo host_info();
/// The memory of the machine now.
[[nodiscard]] MemoryInfo host_memory_info();

}  // namespace rtcg::runtime
