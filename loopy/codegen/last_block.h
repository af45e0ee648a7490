#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/codegen/write_body.h"
#include "rtcg/loopy/schedule/launches.h"

// Launches that go on with the last block of each group of blocks.

namespace rtcg::loopy {

/// Adds a parameter to `parameters` for each launch that goes on with last blocks: a counter for
/// each group. Marks the temporaries that blocks pass to last blocks.
/// @returns the name of the parameter for each launch; empty for those that end with all blocks
[[nodiscard]] std::vector<std::string> add_last_block_counters(
    const Kernel& kernel, const std::vector<LaunchTree>& launches,
    const std::vector<LaunchAxes>& axes, std::vector<KernelParameter>& parameters);

/// Adds to the body of a launch that the last block of each group runs `last`, when all blocks of
/// the group have run the body; see finish_in_last_block().
///
/// @param groups  axes of the grid along which the blocks of a group differ
void append_last_block(const LaunchFacts& launch, const std::vector<int>& groups,
                       const std::string& counters, KernelBody last, KernelBody& body);

}  // namespace rtcg::loopy
