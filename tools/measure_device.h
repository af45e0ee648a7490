#pragma once

#include "rtcg/runtime/device/device.h"

namespace rtcg::tools {

/// Rates of a device as programs meet them. Times in microseconds, rates in bytes a second.
struct DeviceRates {
  double submit_us = 0;     ///< until the host goes on after the launch of a kernel of one thread
  double launch_us = 0;     ///< until the host knows that it is done
  double to_device_us = 0;  ///< a copy of 4 bytes, until it is done
  double to_host_us = 0;    ///< the same in the other direction
  double to_device_pageable = 0;  ///< a large copy from memory that the system may move
  double to_device_pinned = 0;    ///< the same from memory of MemoryKind::pinned
  double to_host_pageable = 0;
  double to_host_pinned = 0;
  double copy_on_device = 0;  ///< bytes read and bytes written
  double fill = 0;            ///< bytes written
};

/// Measures a device, in about a second. Large copies have 256 MiB, less where the device's memory
/// is smaller than 2 GiB. Each figure is the best of several runs.
///
/// @throws CompileFailure, DeviceError  the device cannot run a kernel
[[nodiscard]] DeviceRates measure_device(runtime::Device device);

/// Rates of copies from one device to another, on a stream of the first.
struct PeerRates {
  double bytes_per_second = 0;  ///< of a large copy
  double latency_us = 0;        ///< of 4 bytes, until they are there
  bool is_direct = false;       ///< kernels of the one reach memory of the other
};

/// Measures a pair of devices, in about a quarter of a second. Large copies are those of
/// measure_device.
///
/// @throws DeviceError  a driver refuses the copy
[[nodiscard]] PeerRates measure_peers(runtime::Device from, runtime::Device to);

}  // namespace rtcg::tools
