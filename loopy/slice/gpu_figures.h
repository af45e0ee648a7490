#pragma once
// Internal header: it is not installed.

// What the cost models of all families take for the same on all GPUs.

namespace rtcg::loopy::detail::gpu {

inline constexpr double schedulers = 4;     ///< of a multiprocessor: an instruction in each clock
inline constexpr double sector_bytes = 32;  ///< what memory and caches move at once
inline constexpr double launch_seconds = 2e-6;

}  // namespace rtcg::loopy::detail::gpu
