#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels in which two lanes write the same element and nothing can order them.
///
/// Lanes are the values of inames on grid and block axes, and of ilp and vec ones; for temporaries
/// in shared memory all but those of the grid. Two writes race
///  - of one statement, where they differ in such an iname and in no sequential one: no barrier
///    comes between;
///  - of one statement, where they differ in a grid axis and in no loop with a global barrier
///    within;
///  - of two statements, where they differ in a grid axis, in a kernel without a global barrier.
/// What threads of a block write in different statements or iterations is no race: barriers are put
/// between. Private temporaries and those without an address space yet, atomic statements and raw
/// code are passed over, and so are indices that read arrays or are not affine.
///
/// An error always comes with a witness, found by a search over small values; where none is found
/// the kernel passes. Rules must be expanded.
///
/// @throws InvalidInput  loopy.check_races.write_race
void check_races(const Kernel& kernel);

}  // namespace rtcg::loopy
