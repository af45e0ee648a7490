#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/code_block.h"

namespace rtcg::loopy {

/// The block with neighbouring conditions joined, here and within: two equal ones become one with
/// both bodies, and the second of two opposite ones becomes the other's `else`. A condition whose
/// whole body is another one without `else` is tested with it if both were one condition of a
/// statement. Conditions are opposite if one is the other's negation as written, or the opposite
/// comparison of integers. Nothing is joined across a statement that may change what the condition
/// reads. Neighbours `a = c ? x : 0` with the same tests that load the same elements become one
/// condition. A condition around the whole body of a loop that no iteration changes is moved out of
/// the loop: it is tested once.
///
/// @param variables  private variables of the block: writes to others are stores, and a condition
///                 that reads one stays within the loops over threads
/// @param gathers  Whether equal conditions that are apart are put together as well, if at most one
///                 of them writes to memory (Gather::one_store). OpenCL on a CPU
///                 runs sums of several statements 1.5 to 3 times as fast so; gcc, which makes
///                 vectors of the host's threads, runs them at 0.7 of the speed.
[[nodiscard]] CodeBlock join_conditions(CodeBlock block, const PrivateVariables& variables,
                                        bool gathers);

/// Which equal conditions are put together.
enum class Gather {
  all,
  /// Those that do not write to memory, and one that does, such as the sums of several statements:
  /// each lane is tested once and loads what they share once. Lanes that store to several arrays
  /// stay apart: compilers make vectors of them.
  one_store,
};

/// The block with conditions that are equal put together if nothing in between prevents it: their
/// bodies go to the first of them. `Gather::all` is for code whose speed does not count:
/// it separates what lanes do.
[[nodiscard]] CodeBlock gather_conditions(CodeBlock block, const PrivateVariables& variables,
                                          Gather which = Gather::all);

}  // namespace rtcg::loopy
