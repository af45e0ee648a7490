#pragma once
// Internal header: it is not installed.

#include <cstddef>

#include "rtcg/dg/operators/fused_shape.h"
#include "rtcg/runtime/device/device_info.h"

namespace rtcg::dg::detail {

/// Whether fused kernels may use tensor cores on a device: CUDA from compute capability 9.0 on.
[[nodiscard]] bool has_tensor_cores(const runtime::DeviceInfo& device);

/// A shape that is right on the device and fast enough without a search: the row of a table of
/// measured shapes if the table knows the device's architecture, otherwise that of a model; on
/// processors, also through OpenCL, loops of one thread.
///
/// @param with_split_singles  whether f32 may take tensor cores, see Product::tensor_cores
[[nodiscard]] FusedShape default_fused_shape(const KernelShape& shape, const cgen::Type& real,
                                             const runtime::DeviceInfo& device,
                                             bool with_split_singles = false);

/// The same with so few elements of a block that a mesh of this size has two blocks for
/// each multiprocessor, where threads have a column each. The bits stay.
[[nodiscard]] FusedShape spread_over(const KernelShape& shape, const runtime::DeviceInfo& device,
                                     FusedShape fused, std::size_t elements);

}  // namespace rtcg::dg::detail
