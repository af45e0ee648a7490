#pragma once

#include <optional>
#include <string>

#include "rtcg/runtime/device/kernel.h"

namespace rtcg::runtime {

/// What a launch asks for beyond its shape. Devices of CUDA have it, from compute capability 9.0 on
/// all of it.
struct LaunchAttributes {
  /// Blocks of a cluster: neighbours that run at the same time, reach each other's shared memory
  /// and can wait for each other. The grid consists of whole clusters; 8 blocks are possible
  /// everywhere, more where the device has room. Default: none. A kernel declared with
  /// `__cluster_dims__` needs no attribute.
  Extent3 cluster{};
  /// The kernel may start before the kernel ahead of it in the stream has ended: when all its
  /// blocks have ended or executed `asm volatile("griddepcontrol.launch_dependents;")`. Before it
  /// touches memory of that one, it executes `asm volatile("griddepcontrol.wait;" ::: "memory")`,
  /// which waits for its end.
  bool is_programmatic = false;
  /// Instead of the stream's; lower runs first.
  std::optional<int> priority{};
};

/// What a back end offers that has them; found by a cast of Backend.
class LaunchAttributesBackend {
 public:
  virtual ~LaunchAttributesBackend() = default;

  /// Empty if the device has what is asked for.
  [[nodiscard]] virtual std::string why_no_launch(const LaunchAttributes& attributes) const = 0;
  virtual void launch_with(Backend::Stream stream, Backend::Kernel kernel, const LaunchShape& shape,
                           const ArgumentView& arguments, const LaunchAttributes& attributes) = 0;
  /// Clusters of such a launch that the device holds at once.
  [[nodiscard]] virtual int clusters_at_once(Backend::Kernel kernel, const LaunchShape& shape,
                                             const LaunchAttributes& attributes) = 0;
};

/// Why a device cannot launch so; empty if it can.
[[nodiscard]] std::string why_no_launch(Device device, const LaunchAttributes& attributes);

/// Kernel::launch with attributes.
///
/// @throws InvalidInput  as Kernel::launch; runtime.launch.cluster_limit: the grid does not consist
///                       of whole clusters
/// @throws Unsupported   runtime.launch.no_attributes
/// @throws DeviceError   as Kernel::launch
void launch_with(const Kernel& kernel, StreamRef stream, const LaunchShape& shape,
                 const ArgumentPack& arguments, const LaunchAttributes& attributes);

/// Clusters of such a launch that the device holds at once; 0 if none fits.
///
/// @throws InvalidInput, Unsupported  as launch_with
[[nodiscard]] int clusters_at_once(const Kernel& kernel, const LaunchShape& shape,
                                   const LaunchAttributes& attributes);

}  // namespace rtcg::runtime
