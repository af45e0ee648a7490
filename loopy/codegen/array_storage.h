#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Temporaries of a thread or a block as arrays of C.

namespace rtcg::loopy {

/// Extents of an array with an index for each axis, whose rows may be longer than the shape says;
/// empty if the strides allow only one index, and for scalars.
/// @throws InvalidInput  loopy.generate.array_length_not_constant,
///         loopy.generate.temporary_too_long
[[nodiscard]] std::vector<std::int64_t> storage_extents(const Kernel& kernel,
                                                        const Temporary& temporary);
/// The same, but one extent if the strides allow only one index.
[[nodiscard]] std::vector<std::int64_t> declared_extents(const Kernel& kernel,
                                                         const Temporary& temporary);

}  // namespace rtcg::loopy
