#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The kernel with rules expanded and types inferred, after all checks that a kernel passes before
/// it is run or its text is shown. Its recipe stays as it is.
///
/// @throws InvalidInput  what expand_subst, infer_types, check_kernel, check_bounds,
///                       choose_address_spaces, check_races and check_order throw
[[nodiscard]] Kernel checked_kernel(const Kernel& kernel);

}  // namespace rtcg::loopy
