#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/device/backend.h"

namespace rtcg::runtime {

class StreamRef;

/// One device: a GPU, an OpenCL device or the host. A cheap value; copies are the same device.
///
/// Devices are found at first use and live as long as the process. Any thread may use one. A CUDA
/// device is its primary context, so libraries built on the CUDA runtime share its memory and
/// streams.
class Device {
 public:
  explicit Device(Backend& backend) noexcept : backend_(&backend) {}

  /// The device that RTCG_DEVICE names (`cuda:0`, `opencl:1`, `host`); otherwise the first of: a
  /// GPU of CUDA, a GPU of OpenCL, the host. An OpenCL device that is a processor has to be
  /// requested by its name.
  ///
  /// @throws InvalidInput  runtime.device.bad_name
  /// @throws Unsupported   runtime.device.not_found, with the reason
  [[nodiscard]] static Device best();
  /// The CPU through the system's compiler; always there.
  [[nodiscard]] static Device host();
  /// The device of that name. @throws  as best()
  [[nodiscard]] static Device find(std::string_view name);
  [[nodiscard]] static Device find(const DeviceName& name);

  [[nodiscard]] const DeviceInfo& info() const { return backend_->info(); }
  [[nodiscard]] MemoryInfo memory_info() const { return backend_->memory_info(); }
  /// Waits for all work on the device, of all streams.
  ///
  /// @throws DeviceError  a fault of earlier asynchronous work
  void synchronize() const { backend_->synchronize_device(); }
  /// The stream that is always there.
  [[nodiscard]] StreamRef default_stream() const;
  /// CUcontext or cl_context; null on the host.
  [[nodiscard]] void* native_context() const { return backend_->native_context(); }
  /// Device, driver and compiler with their versions: the key of results that depend on them.
  /// Starts no process.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }

  friend bool operator==(const Device&, const Device&) = default;

 private:
  Backend* backend_;
};

/// Every device of this machine: GPUs, then OpenCL devices, then the host.
[[nodiscard]] std::vector<Device> all_devices();

/// Why a back end has no device, in words; empty when it has one.
[[nodiscard]] const std::string& why_no_devices(BackendKind kind);

}  // namespace rtcg::runtime
