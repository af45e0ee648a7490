#pragma once

#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {

/// What a back end offers whose devices reach each other's memory; found by a cast of Backend.
class PeerBackend {
 public:
  virtual ~PeerBackend() = default;

  /// Lets this device use memory of `other`, also what its pool gives, from the first call on.
  ///
  /// @returns whether it can
  virtual bool reach(Backend& other) = 0;
  /// Copies between memory of two devices, one of which has the stream; asynchronous.
  ///
  /// @returns whether it does; otherwise the copy goes through the host
  virtual bool copy_between(Backend::Stream stream, Backend& of_stream, DeviceAddress target,
                            Backend& of_target, DeviceAddress source, Backend& of_source,
                            std::size_t size_bytes) = 0;
};

/// Whether kernels of `device` may read and write memory of `other`, as GPUs of CUDA that are
/// connected may, and every device may its own. They may from the first call on; copy_on_device
/// between devices asks by itself.
[[nodiscard]] bool can_access_peer(Device device, Device other);

namespace detail {
/// copy_on_device from one device to another. By the driver, in the order of the stream, or else
/// through pinned memory of the host, which waits.
void copy_between_devices(StreamRef stream, Device source_device, DeviceAddress source,
                          Device target_device, DeviceAddress target, std::size_t size_bytes);
}  // namespace detail

}  // namespace rtcg::runtime
