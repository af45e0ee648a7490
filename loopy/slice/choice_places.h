#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rtcg/loopy/slice/slicing_ranking.h"

// Finds choices in a ranking by what was decided, not by looking at all of them.

namespace rtcg::loopy::detail {

/// The places of the choices of a ranking, which are all different. Keeps a reference to the
/// ranking. Any thread may ask.
class ChoicePlaces {
 public:
  /// @cost  some 50 ns a choice
  explicit ChoicePlaces(const std::vector<RankedChoice>& ranked);

  /// Nothing for a choice that is not ranked.
  [[nodiscard]] std::optional<std::size_t> find(const SlicingChoice& choice) const;
  /// All for which are_neighbours() holds, in the order of the ranking.
  /// @cost  a look-up for each step that there is, some thousands
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const;

 private:
  using Copies = std::pair<std::uint8_t, std::uint8_t>;  ///< SlicingChoice::fetched and kept

  const std::vector<RankedChoice>& ranked_;
  std::vector<std::uint32_t> slots_{};      ///< places by keys, each in the first free slot
  std::vector<std::vector<int>> values_{};  ///< of each number of the decisions, ascending
  std::vector<Copies> copies_{};            ///< that some choice has
};

}  // namespace rtcg::loopy::detail
