#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <span>
#include <vector>

#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/cuda/driver_api.h"

namespace rtcg::runtime::cuda {

/// Compiles and links with the driver's own compiler and linker, to a cubin for the device whose
/// context is current.
///
/// @throws DeviceError  runtime.cuda.call_failed, with their log
[[nodiscard]] std::vector<std::byte> link(const DriverApi& driver,
                                          std::span<const CudaNative::LinkInput> inputs);

}  // namespace rtcg::runtime::cuda
