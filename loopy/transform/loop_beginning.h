#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include "rtcg/loopy/kernel/kernel.h"

// Where a loop begins, for what is around the statements that run ahead of it.

namespace rtcg::loopy {

/// What bounds the loop, without the inames that are not around the statements.
[[nodiscard]] ConstraintSet bounds_of_loop(const Kernel& kernel, const std::string& iname,
                                           const NameSet& around);
/// That `value` is a value of the loop, as far as `known` does not imply it.
///
/// @param bounds  of bounds_of_loop
[[nodiscard]] ConstraintSet in_loop(const ConstraintSet& bounds, const std::string& iname,
                                    const Affine& value, const ConstraintSet& known);
/// The first value of the loop for what is around a statement: a constant, or an affine form of
/// inames that are the same for all threads of a block. Nothing where there is no such form.
[[nodiscard]] std::optional<Affine> beginning_of(const Kernel& kernel, const std::string& iname,
                                                 const NameSet& around);

}  // namespace rtcg::loopy
