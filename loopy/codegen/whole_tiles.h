#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/codegen/level_guards.h"

// One test of a whole tile in place of the tests of its parts.

namespace rtcg::loopy {

struct TileTests {
  /// What a tile must meet so that nothing within needs a test of its own.
  Guards tests{};
  /// How many tests are made without them.
  std::int64_t saved = 0;
  /// How many statements the text has.
  std::int64_t written = 0;
  /// Whether some of those differ from one run of a statement to the next.
  bool differ = false;
  /// Whether there are statements that have versions for whole and partial tiles themselves.
  bool has_versions = false;
};

/// The tests of the node; none if two versions of it do not pay.
[[nodiscard]] TileTests whole_tile_tests(const LaunchFacts& launch, const LoopTreeNode& node,
                                         const EmitContext& context);
/// One past the last node that the tests of the node at `first` serve as well.
[[nodiscard]] std::size_t end_of_tile(const LaunchFacts& launch, const LoopTree& nodes,
                                      std::size_t first, const TileTests& tile,
                                      const LevelGuards& guards, const EmitContext& context);

}  // namespace rtcg::loopy
