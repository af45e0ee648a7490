#pragma once

#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy {

enum class LayoutCopy {
  lay_out,      ///< from as the kernel describes it to as the plan says
  put_in_order  ///< back
};

/// A kernel that copies all elements of an argument between two arrays, `described` and `laid_out`.
/// Run it before a kernel whose slicing has the plan, or after one that has written the array. Its
/// other arguments are the parameters in the shape. Padding is not written.
///
///     const Kernel copy = layout_copy(kernel, plan, LayoutCopy::lay_out);
///     Executor(copy, device)(stream, {arg("described", a), arg("laid_out", b), arg("n", 1000)});
///
/// @throws InvalidInput  what layout_steps throws
/// @cost   one launch that reads and writes each element once
[[nodiscard]] Kernel layout_copy(const Kernel& kernel, const LayoutPlan& plan,
                                 LayoutCopy direction);

}  // namespace rtcg::loopy
