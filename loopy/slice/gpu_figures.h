#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cmath>

#include "rtcg/loopy/slice/enumerate_slicings.h"

// What the cost models of all families take for the same on all GPUs.

namespace rtcg::loopy::detail::gpu {

inline constexpr double schedulers = 4;     ///< of a multiprocessor: an instruction in each clock
inline constexpr double sector_bytes = 32;  ///< what memory and caches move at once
inline constexpr double line_bytes = 128;   ///< of the first-level cache, which finds one at a time
inline constexpr double launch_seconds = 2e-6;
/// From a load of memory to its value.
inline constexpr double clocks_of_load = 700;
/// Of the second-level cache.
inline constexpr double cache_bytes_per_second = 5.5e12;
/// What of the memory of a multiprocessor caches elements that are read again at computed places.
inline constexpr double bytes_of_near_cache = 160 * 1024;
/// Clocks of a warp that reads 32 places of shared memory by chance: so many of them are in the
/// same bank.
inline constexpr double clocks_of_random_places = 3.5;
/// How many times as fast as multiplications and additions one by one, in f64 and in f32, tensor
/// cores are on numbers of f64, of 16 and of 8 bits; with mma.sync on an H200, 2026-11.
inline constexpr double tensor_factor_f64 = 2;
inline constexpr double tensor_factor_16_bits = 9;
inline constexpr double tensor_factor_8_bits = 18;
/// Of a multiprocessor, to use all of the memory's rate.
inline constexpr double bytes_in_flight = 19 * 1024;
/// Shared memory that CUDA keeps of each block, from compute capability 8.0 on.
inline constexpr double reserved_shared_bytes = 1024;
/// Blocks of one multiprocessor, at most.
inline constexpr double most_resident_blocks = 32;

/// Blocks that one multiprocessor holds at once; at least 1.
///
/// @param threads       of a block
/// @param registers     of a thread
/// @param shared_bytes  of a block
[[nodiscard]] inline double resident_blocks(const MachineModel& machine, double threads,
                                            double registers, double shared_bytes) {
  return std::max(
      1.0, std::min({most_resident_blocks, std::floor(machine.threads_per_multiprocessor / threads),
                     std::floor(machine.registers_per_multiprocessor / (registers * threads)),
                     std::floor(static_cast<double>(machine.shared_bytes_per_multiprocessor) /
                                (shared_bytes + reserved_shared_bytes))}));
}

}  // namespace rtcg::loopy::detail::gpu
