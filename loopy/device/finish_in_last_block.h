#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::loopy {

/// Of several blocks the one that finishes last: it goes on with what all of them have written.
struct LastBlock {
  /// Counts the blocks that have finished: a u32 in global memory, 0 before and after the launch.
  cgen::Expr counter;
  cgen::Expr blocks;  ///< their number, as u32
  /// Whether this is the thread of the block that counts; nothing: blocks have one thread.
  std::optional<cgen::Expr> is_counting{};
  /// What the last block reads, if only the thread that counts writes it. Nothing: any threads of
  /// the block have written it.
  std::vector<cgen::Statement> writes{};
  std::string is_last_name = "is_last";
  std::string counted_name = "counted";
};

/// Adds to a block's code that the last block runs `finish`.
///
/// A block makes its writes visible to the device, and then counts itself by an atomic function.
/// The one that finds all others counted reads after a fence of its own, and sets the counter back
/// to 0 for the next launch. One fence is enough for the writes of all threads of a block: the
/// barrier before it makes them writes that the fencing thread has seen.
///
/// What the last block reads is volatile: a cache may hold what was there before.
///
/// @param arrays  gets the shared array, which is declared for the whole function
/// @cost  two barriers; one if only the counting thread writes
/// @source NVIDIA CUDA C++ Programming Guide, 10.5 Memory Fence Functions
void finish_in_last_block(const LastBlock& block, const std::vector<cgen::Statement>& finish,
                          cgen::BlockBuilder& arrays, cgen::BlockBuilder& body);

}  // namespace rtcg::loopy
