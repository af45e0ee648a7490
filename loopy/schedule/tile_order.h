#pragma once
// Internal header: it is not installed.

namespace rtcg::loopy {

/// A tag of statements: the blocks of their launch take their places on the grid in the order in
/// which they begin. Such a statement is C text that reads one private scalar and writes one array
/// of u64 in global memory. The first number of the array counts: its lower half the blocks that
/// have begun, its upper half the launches. The scalar is what the block found there.
inline constexpr const char* takes_tiles_in_order = "(takes tiles in order)";

}  // namespace rtcg::loopy
