#pragma once

#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct HoldOptions {
  /// `local`: of a block, in shared memory. `private_`: of a thread.
  AddressSpace address_space = AddressSpace::local;
  /// Of the copy of an argument; empty: `ARRAY_held`. A temporary keeps its name.
  std::string temporary_name{};
};

/// Keeps of an array what one iteration of the loops around all its statements hands on from one
/// nest to another: of a block of the grid in shared memory, of a thread in registers.
///
/// Rewrites
///     for eo [g.0]:
///       for ei [l.1], f [l.0]: t[8*eo + ei, f] = a[8*eo + ei, f]
///       for ei [l.1], i [l.0]: b[8*eo + ei, i] = sum(f, w[i, f]*t[8*eo + ei, f])
///   into
///     t: f32[8, 12] in shared memory
///     for eo [g.0]:
///       for ei [l.1], f [l.0]: t[ei, f] = a[8*eo + ei, f]
///       for ei [l.1], i [l.0]: b[8*eo + ei, i] = sum(f, w[i, f]*t[ei, f])
///
/// The loops that all statements with the array share, and that run one iteration after the other
/// or are on the grid, drop out of its indices; of a thread also those of the block. What the
/// others reach has constant length along each axis, the whole axis where places are computed. A
/// temporary becomes smaller. An argument is written as before, and read from a copy.
/// @param array  each element that an iteration of the shared loops reads was written in it before,
///               under no condition
/// @throws InvalidInput  loopy.hold_array.unknown_array, loopy.hold_array.bad_space,
///                       loopy.hold_array.different_accesses, loopy.hold_array.other_blocks,
///                       loopy.hold_array.several_launches, loopy.hold_array.no_constant_length,
///                       loopy.hold_array.not_written_before, loopy.hold_array.name_taken
[[nodiscard]] Kernel hold_array(Kernel kernel, std::string_view array,
                                const HoldOptions& options = {});

}  // namespace rtcg::loopy
