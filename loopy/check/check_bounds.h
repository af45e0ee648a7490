#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels that access elements outside of their arrays.
///
/// Each access to an array with a shape has to keep `0 <= index < length` on every axis, for all
/// values of the inames and parameters that domains, assumptions, predicates and branches admit. An
/// error always comes with a witness, found by a search over small values. Accesses that are
/// neither proven nor refuted pass: indices that read arrays or are not affine (`//`, `%`, abs,
/// min, max are decided), bounds that the kernel computes itself, and witnesses too far out. Rules
/// must be expanded for their accesses to be checked.
///
/// @throws InvalidInput  loopy.check_bounds.out_of_bounds
void check_bounds(const Kernel& kernel);

}  // namespace rtcg::loopy
