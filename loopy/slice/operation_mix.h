#pragma once
// Internal header: it is not installed.

#include <string_view>

#include "rtcg/loopy/slice/enumerate_slicings.h"

namespace rtcg::loopy::detail {

/// Arithmetic, by the units of a device that do it.
struct OperationMix {
  double floats = 0;    ///< additions and multiplications of floats of at most 4 bytes
  double doubles = 0;   ///< those of 8 bytes
  double integers = 0;  ///< those of integers, and comparisons
  double special = 0;   ///< approximations of functions, by the few units that know them
  /// Of the floats and doubles: additions that one instruction does with the product that they add,
  /// and products that neighbouring results share, so that a thread computes them once for several.
  double fused_floats = 0;
  double fused_doubles = 0;

  /// Adds `times` operations, as Statistics::operations names them and their type.
  void add(std::string_view operation, std::string_view type, double times);
  /// All of them, as instructions.
  [[nodiscard]] double count() const {
    return floats - fused_floats + doubles - fused_doubles + integers + special;
  }
  /// Instructions of floats that take a device as long.
  [[nodiscard]] double as_floats(const MachineModel& machine) const;
  void operator*=(double factor);
};

}  // namespace rtcg::loopy::detail
