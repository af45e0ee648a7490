#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>

#include "rtcg/cgen/support/gpu_limits.h"

namespace rtcg::loopy {

/// How a launch adds up the parts of results that blocks have stored, where threads have results of
/// their own. There are as few tiles of results as made the blocks share the sums: the items of a
/// thread become blocks, and several threads add up the parts of one result.
struct SecondLaunch {
  std::int64_t blocks = 1;   ///< of each tile
  std::int64_t threads = 1;  ///< of each result
};

/// @param tile_threads  of a tile of results
/// @param longest_items the longest loop over items of a thread, which becomes blocks
/// @param other_items   of a thread, along its other lanes
/// @param parts         of each result; nothing if that is not known
[[nodiscard]] constexpr SecondLaunch second_launch(std::int64_t tile_threads,
                                                   std::int64_t longest_items,
                                                   std::int64_t other_items,
                                                   std::optional<std::int64_t> parts) {
  constexpr std::int64_t most_threads = most_threads_of_block / 2;  // that all devices have
  constexpr std::int64_t most_meeting_bytes = 32 * 1024;
  constexpr std::int64_t most_bytes_of_number = 8;
  constexpr std::int64_t likely_parts = 32;
  SecondLaunch result{.blocks = longest_items};
  const auto fits = [&](std::int64_t threads) {
    const std::int64_t all = threads * tile_threads;
    // each adds up two parts or more
    return all <= most_threads && 2 * threads <= parts.value_or(likely_parts) &&
           all * other_items * most_bytes_of_number <= most_meeting_bytes;
  };
  while (fits(2 * result.threads)) {
    result.threads *= 2;
  }
  return result;
}

}  // namespace rtcg::loopy
