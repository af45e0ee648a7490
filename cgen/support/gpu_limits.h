#pragma once
// Internal header: it is not installed.

#include <cstdint>
// Internal header: it is not installed.

// What is the same on all GPUs that rtcg knows, for code that is generated without a device.

namespace rtcg {

/// Threads that run in lock step: on every NVIDIA GPU (CUDA Programming Guide, Compute
/// Capabilities).
inline constexpr int warp_size = 32;
/// Most threads of a block.
inline constexpr std::int64_t most_threads_of_block = 1024;
/// Most blocks along g.1 and g.2; along g.0 there may be 2^31 - 1.
inline constexpr std::int64_t most_blocks_across = 65535;

}  // namespace rtcg
