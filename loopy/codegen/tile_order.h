#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/kernel_variables.h"

// Launches whose blocks take their places on the grid in the order in which they begin.

namespace rtcg::loopy {

/// Marks the arrays that blocks of such launches count themselves in and publish values in.
void mark_tile_counters(const Kernel& kernel, std::vector<KernelParameter>& parameters);

/// The places of a block on the axes of the grid, by their numbers; empty if the launch has no
/// order of its own. The axis along which blocks wait for each other goes on fastest.
///
/// One thread counts the block by an atomic function. The last block of a launch sets the counter
/// back and counts the launch.
/// @param body    gets the variables that the places mention
/// @param memory  gets the shared memory that they take
[[nodiscard]] std::map<int, cgen::Expr> tiles_in_order(KernelVariables& variables,
                                                       cgen::BlockBuilder& body,
                                                       BlockMemory& memory);

}  // namespace rtcg::loopy
