#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime {

/// The OpenCL devices that are GPUs. If only drivers for processors are installed, no driver is
/// loaded. Does not throw.
[[nodiscard]] std::vector<Backend*> opencl_gpus();  // runtime/opencl

}  // namespace rtcg::runtime
