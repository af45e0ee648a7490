#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/execute/executor.h"

namespace rtcg::loopy {

/// Whether statements of the kernel are stated to be disjoint.
[[nodiscard]] bool states_disjoint_writes(const Kernel& kernel);

/// Interprets such a kernel with the contents that its arguments have on the stream: debug mode
/// asks before each call. Kernels that cannot be interpreted, or not as a whole, are not checked.
///
/// @param kernel  typed, with rules expanded
/// @throws InvalidInput  loopy.interpret.not_disjoint, loopy.interpret.out_of_bounds
/// @cost   copies all arrays to the host and waits for them
void check_disjoint_writes(const Kernel& kernel, runtime::StreamRef stream,
                           const std::vector<NamedArgument>& arguments,
                           const IntegerValues& integers);

}  // namespace rtcg::loopy
