#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rtcg/runtime/device/device_name.h"

namespace rtcg::runtime {

/// The constant properties of a device. Zero or empty: unknown to the back end.
struct DeviceInfo {
  DeviceName id;     ///< how users name it: cuda:0
  std::string name;  ///< "NVIDIA H200"
  std::string vendor;
  std::string driver_version;
  std::string target;  ///< the target for compilers: "sm_90", "host", an OpenCL device's identity
  std::string uuid;    ///< hexadecimal; PCI address where there is no UUID
  std::array<int, 2> compute_capability = {0, 0};

  int multiprocessors = 0;  ///< multiprocessors, compute units or cores
  int warp_lanes = 1;       ///< threads that run in lock step
  int max_threads_per_block = 1;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  std::array<std::uint64_t, 3> max_block = {1, 1, 1};
  std::array<std::uint64_t, 3> max_grid = {1, 1, 1};  ///< in blocks

  std::size_t total_memory_bytes = 0;
  std::size_t max_allocation_bytes = 0;
  std::size_t shared_bytes_per_block = 0;
  std::size_t shared_bytes_per_block_opt_in = 0;  ///< the limit with opt-in
  std::size_t shared_bytes_per_multiprocessor = 0;
  std::size_t constant_bytes = 0;
  std::size_t l2_cache_bytes = 0;
  std::size_t memory_alignment_bytes = 1;

  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;

  bool has_f64 = false;
  bool has_f16 = false;
  bool has_cooperative_launch = false;
  bool has_managed_memory = false;
  bool has_sub_groups = false;  ///< of OpenCL: kernels may call sub_group_reduce_add and the like
  bool has_stream_ordered_allocation = false;
  bool is_cpu = false;
};

}  // namespace rtcg::runtime
