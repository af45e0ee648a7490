#pragma once

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

/// A device as users spell it: `host`, `opencl:1`, `cuda:0`.
struct DeviceName {
  BackendKind kind = BackendKind::host;
  int index = 0;

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

[[nodiscard]] std::string to_string(const DeviceName& name);

/// Reads a device's name; `cuda` and `opencl` alone mean index 0.
///
/// @throws InvalidInput  runtime.device.bad_name
[[nodiscard]] DeviceName parse_device_name(std::string_view text);

}  // namespace rtcg::runtime
