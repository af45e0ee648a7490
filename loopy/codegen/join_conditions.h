#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/code_block.h"

namespace rtcg::loopy {

/// The block with neighbouring conditions joined, here and within: of two equal ones the bodies
/// stand under one, of two opposite ones the second body becomes the other's `else`, and a
/// condition whose whole body is another one without `else` is tested with it where both were one
/// condition of a statement. Conditions are opposite where one is the other's negation as written,
/// or the opposite comparison of integers. Nothing is joined across a statement that may change
/// what the condition reads. A loop that stands under a condition as a whole, which no iteration
/// changes, goes under it: it is tested once.
///
/// @param gathers  Whether equal conditions that do not stand next to each other are put together,
///                 too, where one at most writes to memory (Gather::one_store). OpenCL on a CPU
///                 runs sums of several statements 1.5 to 3 times as fast so; gcc, which makes
///                 vectors of the host's threads, runs them at 0.7 of the speed.
[[nodiscard]] CodeBlock join_conditions(CodeBlock block, const PrivateVariables& variables,
                                        bool gathers);

/// Which equal conditions are put together.
enum class Gather {
  all,
  /// Those of which one at most writes to memory, such as the sums of several statements: each lane
  /// is tested once and loads what they share once. Lanes that store to several arrays stay apart,
  /// which compilers make vectors of.
  one_store,
};

/// The block with conditions that are equal put together where nothing in between minds: what is
/// done under them goes to the first of them. `Gather::all` is for code whose speed does not count:
/// it separates what lanes do.
[[nodiscard]] CodeBlock gather_conditions(CodeBlock block, const PrivateVariables& variables,
                                          Gather which = Gather::all);

}  // namespace rtcg::loopy
