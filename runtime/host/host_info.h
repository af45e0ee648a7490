#pragma once
// Internal header: it is not installed.

#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime {

/// The properties of the CPU that the operating system reports.
[[nodiscard]] DeviceInfo host_info();
/// The memory of the machine now.
[[nodiscard]] MemoryInfo host_memory_info();

}  // namespace rtcg::runtime
