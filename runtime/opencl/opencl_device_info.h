#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/runtime/device/device_info.h"
#include "rtcg/runtime/opencl/opencl_api.h"

namespace rtcg::runtime::opencl {

/// The properties of a device that OpenCL reports. `target` is the identity of platform, device and
/// driver: a binary made for one target loads on every device of that target.
[[nodiscard]] DeviceInfo read_device_info(const Api& api, cl_device_id device,
                                          const DeviceName& name);

/// 0 for a device without shared virtual memory.
[[nodiscard]] cl_device_svm_capabilities read_svm_capabilities(const Api& api, cl_device_id device);

}  // namespace rtcg::runtime::opencl
