#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/schedule/host_loop.h"
#include "rtcg/loopy/schedule/loop_bounds.h"

namespace rtcg::loopy {

/// One axis of the grid or of a block within a launch.
struct HardwareAxis {
  AxisKind kind = AxisKind::grid;
  int number = 0;
  /// The iname after which the C variable is named.
  std::string variable{};
  /// Value of the variable in the first block or thread.
  Expr first = 0;
  /// Blocks or threads along the axis.
  Expr extent = 1;
};

/// The axes that the statements of one launch use.
struct LaunchAxes {
  std::vector<HardwareAxis> axes{};  ///< grid first, then block, by number
  /// What is known of their variables: 0 <= variable - first < extent.
  ConstraintSet context{};
  /// Further inames on an axis, in terms of its variable.
  std::map<std::string, Affine, std::less<>> values{};
  /// Loops around the launch, outermost first: their inames are arguments, and of these too
  /// something is known.
  std::vector<HostLoop> host_loops{};

  [[nodiscard]] const HardwareAxis* find(AxisKind kind, int number) const;
  [[nodiscard]] bool has_block_axes() const;
};

/// @param host_loops  inames of the loops around the launch, outermost first
/// @throws InvalidInput  loopy.generate.block_not_constant, loopy.generate.unbounded,
///                       loopy.generate.host_loop_bounds
/// @throws Unsupported   loopy.generate.axis_start
[[nodiscard]] LaunchAxes launch_axes(const Kernel& kernel,
                                     const std::vector<std::size_t>& statements,
                                     const std::vector<std::string>& host_loops = {});

/// The value of an iname in the first block or thread of its axis: inames that share an axis are
/// counted from there.
/// @throws as launch_axes
[[nodiscard]] Affine axis_start(const Kernel& kernel, const std::string& iname);

}  // namespace rtcg::loopy
