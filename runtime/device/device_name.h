#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtcg::runtime {

/// Which of the three back ends a device belongs to.
enum class BackendKind {
  host,    ///< the CPU, through the system's C compiler; always there
  opencl,  ///< any OpenCL device
  cuda,    ///< an NVIDIA GPU through its driver
};

[[nodiscard]] std::string_view to_string(BackendKind kind);

/// Which part of a device that was split.
struct DevicePart {
  /// In place of a number of parts: one for each NUMA node.
  static constexpr int by_numa_node = 0;

  int index = 0;
  int count = 1;

  friend bool operator==(const DevicePart&, const DevicePart&) = default;
};

/// A device as users spell it: `host`, `opencl:1`, `cuda:0`; parts (split_device) `opencl:0.1/4`
/// and `opencl:0.1/numa`.
struct DeviceName {
  BackendKind kind = BackendKind::host;
  int index = 0;
  std::optional<DevicePart> part{};

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

[[nodiscard]] std::string to_string(const DeviceName& name);

/// Reads a device's name; `cuda` and `opencl` alone mean index 0.
///
/// @throws InvalidInput  runtime.device.bad_name
[[nodiscard]] DeviceName parse_device_name(std::string_view text);

}  // namespace rtcg::runtime
