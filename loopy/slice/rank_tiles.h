#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rtcg/loopy/slice/slicing_ranking.h"

// Which tiles of results are looked at, in what order, and by how many threads.

namespace rtcg::loopy::detail {

/// How the loops of all results are cut: SlicingChoice has the same fields.
struct ResultTile {
  std::array<std::uint16_t, 3> fast{};
  std::array<std::uint16_t, 3> slow{};
  std::uint8_t in_thread = 0;
};

/// Finds the choices of tiles. What it finds for a tile does not depend on earlier ones. For one
/// thread.
class TileEnumerator {
 public:
  virtual ~TileEnumerator() = default;
  /// All that keep the constraints.
  [[nodiscard]] virtual std::vector<ResultTile> tiles() = 0;
  /// Those of a tile. They are kept until the next call.
  /// @param place     of the tile in tiles()
  /// @param too_slow  what takes that long is left out
  [[nodiscard]] virtual const TileChoices& choices(const ResultTile& tile, std::size_t place,
                                                   float too_slow) = 0;
  /// Of the fastest of some choices that stand for all; infinite if there are no choices.
  [[nodiscard]] virtual float estimated_seconds(const ResultTile& tile) = 0;

 protected:
  TileEnumerator() = default;
  TileEnumerator(const TileEnumerator&) = default;
  TileEnumerator& operator=(const TileEnumerator&) = default;
};

/// The best choices, the best one first, the same ones for any number of threads.
///
/// Where there are more choices than RankingBounds::most_choices, tiles are looked at in the order
/// of their estimates until so many choices have been: this bounds the time for every kernel.
///
/// @param make_enumerator  one for each thread; all find the same
/// @param most_threads     and no more than the machine has cores
[[nodiscard]] std::vector<RankedChoice> ranked_choices(
    const SlicingProblem& problem, const MachineModel& machine,
    const std::function<std::unique_ptr<TileEnumerator>()>& make_enumerator,
    unsigned most_threads = 6);

}  // namespace rtcg::loopy::detail
