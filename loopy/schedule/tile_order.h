#pragma once
// Internal header: it is not installed.

namespace rtcg::loopy {

/// A tag of statements: the blocks of their launch take their places on the grid in the order in
/// which they begin. Such a statement is a LookBack. What it publishes is in an array of u64 in
/// global memory, whose first number counts: its lower half the blocks that have begun, its upper
/// half the launches. LookBack::drawn is what the block found there.
inline constexpr const char* takes_tiles_in_order = "(takes tiles in order)";

}  // namespace rtcg::loopy
