#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Adds an argument for each name that nothing declares, and gives arrays without a shape the one
/// that their accesses need. Scalars and arrays that bounds, shapes and indices use are i32.
///
/// @throws InvalidInput  loopy.make_kernel.mixed_use, loopy.make_kernel.undeclared_target,
///                       loopy.make_kernel.rank,
///                       loopy.make_kernel.unknown_shape
[[nodiscard]] Kernel infer_arguments(Kernel kernel);

}  // namespace rtcg::loopy
