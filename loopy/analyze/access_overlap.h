#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/loopy/analyze/access.h"

namespace rtcg::loopy {

// Two accesses in two iterations: inames, and other names that may differ between them, have a
// suffix, "'1" in the first and "'2" in the second.

[[nodiscard]] Affine with_suffix(const Kernel& kernel, const Affine& expr, const char* suffix);
[[nodiscard]] ConstraintSet with_suffix(const Kernel& kernel, const ConstraintSet& set,
                                        const char* suffix);

/// The iterations in which both happen at the same element. Where an index is not affine, all are.
[[nodiscard]] ConstraintSet at_one_element(const Kernel& kernel, const ArrayAccess& one,
                                           const ArrayAccess& other);

}  // namespace rtcg::loopy
