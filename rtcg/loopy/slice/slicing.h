#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// One of the loops that an iname is cut into.
struct SlicingFactor {
  /// Iterations; 0 for the outermost one, which takes what the others leave.
  std::int64_t length = 0;
  InameTag axis{};
  friend bool operator==(const SlicingFactor&, const SlicingFactor&) = default;
};

/// What an iname is cut into, from the outermost loop to the innermost.
struct InameSlicing {
  std::string iname{};
  std::vector<SlicingFactor> factors{};
  friend bool operator==(const InameSlicing&, const InameSlicing&) = default;
};

/// An array that is copied before it is read: by a block to shared memory, or by each thread to
/// registers.
struct FetchPlan {
  std::string array{};
  /// The first axis varies fastest in shared memory.
  bool is_transposed = false;
  /// Elements left free after each row of shared memory.
  std::int64_t padding = 0;
  /// What the lanes of one thread, and its inner loops, read: each element once.
  bool in_registers = false;
  friend bool operator==(const FetchPlan&, const FetchPlan&) = default;
};

/// One way to run a kernel, as data: how each iname lies on grid, block, lanes and loops, and what
/// is kept in shared memory.
///
/// As text:
///     i: g.1 l.1*16 ilp*4; j: g.0 l.0*16 vec*4; k: for for*8; fetch a transposed pad 4; fetch b;
///     stages 3; swizzle 8
///     k: g.0 for*16 l.0*256; atomic k
///     x: g.0 l.0*64 ilp*4; fetch image registers
struct Slicing {
  std::vector<InameSlicing> inames{};
  std::vector<FetchPlan> fetches{};
  /// Buffers of what is fetched along the loop of a reduction: more than one lets the copies run
  /// ahead, see pipeline().
  std::int64_t stages = 1;
  /// Blocks along g.1 that come before the next along g.0, see swizzle(); 0: as the hardware has
  /// it.
  std::int64_t swizzle_rows = 0;
  /// Reductions over an axis of the grid whose blocks add to the result by atomic functions, see
  /// reduce_over_grid(); those of others are added up by a second launch.
  std::vector<std::string> atomic_reductions{};
  friend bool operator==(const Slicing&, const Slicing&) = default;
};

[[nodiscard]] std::string to_string(const Slicing& slicing);
/// @throws InvalidInput  loopy.parse_slicing.syntax, loopy.iname_tag.unknown
[[nodiscard]] Slicing parse_slicing(std::string_view text);

/// The transformations that a slicing stands for. The loops of iname i are called i_0, i_1, ...
/// from the outermost on; fetches sweep all of them that lie within a block, those to registers all
/// that lie within a thread.
///
/// @throws InvalidInput  loopy.recipe_of.unknown_iname, loopy.recipe_of.unknown_array,
///                       loopy.recipe_of.nothing_to_pipeline, loopy.recipe_of.nothing_to_share,
///                       loopy.recipe_of.nothing_to_keep
[[nodiscard]] std::vector<RecipeStep> recipe_of(const Kernel& kernel, const Slicing& slicing);

/// @throws InvalidInput  what recipe_of and the transformations throw
[[nodiscard]] Kernel apply(const Kernel& kernel, const Slicing& slicing);

}  // namespace rtcg::loopy
