#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/loopy/kernel/kernel.h"

// Copies into temporaries that move several neighbours at once.

namespace rtcg::loopy {

/// The kernel with the statement that fills `temporary` reading `lanes` neighbours of its source at
/// once: the innermost part of one of its inames becomes the lanes of vectors.
/// @param lanes  2 or 4
/// @throws InvalidInput  loopy.add_prefetch.no_vector
[[nodiscard]] Kernel with_wide_loads(Kernel kernel, const std::string& temporary,
                                     std::int64_t lanes);

/// The kernel with asynchronous copies of 16 bytes, where the first statement that fills
/// `temporary`, or another one that is an asynchronous copy already, has an iname of its own along
/// which both sides are contiguous.
[[nodiscard]] Kernel with_vector_copies(Kernel kernel, const std::string& temporary);

}  // namespace rtcg::loopy
