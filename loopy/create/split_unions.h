#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The kernel with a domain for each part of a union, and statements of their own within it: those
/// of one part run after those of the part before. A reduction over a union combines one of each
/// part. Rules whose values depend on the part are expanded.
///
/// @throws Unsupported  loopy.make_kernel.union_use
[[nodiscard]] Kernel with_unions_split(Kernel kernel);

}  // namespace rtcg::loopy
