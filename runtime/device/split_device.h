#pragma once

#include <vector>

#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// What a back end offers whose devices can be split; found by a cast of Backend.
class SplitBackend {
 public:
  virtual ~SplitBackend() = default;
  /// The parts, which live as long as the process; the same ones at each call.
  /// @param count  of parts; DevicePart::by_numa_node
  /// @throws Unsupported  runtime.device.cannot_split
  [[nodiscard]] virtual std::vector<Backend*> split(int count) = 0;
};

/// Splits a device into parts with as many compute units each, as far as they divide.
///
/// A part is a device of its own, with its own memory, streams and programs, which runs its work on
/// its compute units alone: a processor can leave some cores to others this way. Its name is that
/// of the device, the number of the part and of all parts, `opencl:0.1/4`; RTCG_DEVICE and
/// Device::find accept it. OpenCL alone has such parts; of GPUs there are those of MIG, which an
/// administrator makes.
///
/// @param count  of parts; from 1 to the device's compute units
/// @throws InvalidInput  runtime.device.bad_part_count
/// @throws Unsupported   runtime.device.cannot_split
[[nodiscard]] std::vector<Device> split_device(Device device, int count);

/// Splits a device into one part for each NUMA node: `opencl:0.0/numa`.
///
/// @throws Unsupported  runtime.device.cannot_split: also where there is one node
[[nodiscard]] std::vector<Device> split_by_numa_node(Device device);

}  // namespace rtcg::runtime
