#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/arrays/kernels/planned_loops.h"

// Expressions along whose elements kernels scan.

namespace rtcg::arrays::detail {

/// A scan of an expression as a kernel runs it: with few axes, its reductions are arrays.
struct ScannedExpression {
  NodePointer root;  ///< of numbers
  ScanForm form{};
  KnownArrays known{};
  Tape tape{};
  runtime::StreamRef stream;
  LoopOperands operands{};

  /// @throws Unsupported  as as_loop_kernel_of_scan
  [[nodiscard]] LoopExpression loops() const;
  /// What two scans have in common that run the same kernel with the same arguments besides
  /// addresses.
  [[nodiscard]] std::string key() const;
};

/// @throws InvalidInput  arrays.evaluate.mixed_devices
[[nodiscard]] ScannedExpression scan_of(const Expression& operand, const ScanForm& form);
/// The array of a leaf; others are evaluated.
[[nodiscard]] AnyArray values_of(const NodePointer& root);

}  // namespace rtcg::arrays::detail
