#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/kernels/loop_expression.h"

// Running values along an axis of an expression as a kernel of the loop engine, and arguments of
// such kernels.

namespace rtcg::arrays::detail {

/// The memory from the lowest to the highest element of the array, marked as used.
[[nodiscard]] loopy::NamedArgument loop_argument(const std::string& name, const AnyArray& array,
                                                 runtime::StreamRef stream);

struct ScanForm {
  Op op = Op::sum;            ///< sum, product, min or max
  int axis = 0;               ///< from 0 on
  bool is_exclusive = false;  ///< without the element itself
  bool is_reverse = false;    ///< from the last element on
};

/// `out[i] = scan(sum, j, operand[j])` with 0 <= j <= i, or j < i where it is exclusive, for each
/// row along the axis; both indices are mirrored where it is reverse.
///
/// @param operand  has the type of the result
/// @throws Unsupported  arrays.as_loop_kernel.no_loop: as as_loop_kernel, and reductions within
///         the operand along the axis
[[nodiscard]] LoopExpression as_loop_kernel_of_scan(const Expression& operand,
                                                    const ScanForm& scan);

}  // namespace rtcg::arrays::detail
