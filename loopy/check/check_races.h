#pragma once

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Refuses kernels in which two lanes write the same element in no order.
///
/// Lanes are the values of inames on grid and block axes, and of ilp and vec ones; for temporaries
/// in shared memory all but those of the grid. Two writes race
///  - of one statement, if they differ in such an iname and in no sequential one: no barrier
///    separates them;
///  - of one statement, if they differ in a grid axis and in no loop with a global barrier;
///  - of two statements, if they differ in a grid axis, in a kernel without a global barrier.
/// Writes of a block's threads in different statements or iterations do not race: barriers separate
/// them. Not checked are private temporaries and those without an address space, atomic statements,
/// raw code, and indices that read arrays or are not affine.
///
/// An error always has a witness, found by a search over small values; without one the kernel
/// passes. Rules must be expanded.
///
/// @throws InvalidInput  loopy.check_races.write_race
void check_races(const Kernel& kernel);

}  // namespace rtcg::loopy
