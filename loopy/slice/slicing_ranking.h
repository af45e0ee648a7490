#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rtcg/loopy/slice/slicing_choice.h"
#include "rtcg/loopy/slice/slicing_cost.h"

// The choices that the cost model likes best.

namespace rtcg::loopy::detail {

struct RankedChoice {
  float seconds = 0;
  std::uint32_t tile = 0;    ///< of results, in the order of the enumeration
  std::uint32_t number = 0;  ///< in the order in which those of the tile were found
  SlicingChoice choice{};
};

/// What a choice takes and whether it is worth ranking, for the choices of one tile of results
/// after the other. Keeps a reference to the cost; for one thread.
///
/// Where layouts are free, a choice is ranked by what it would take if every array lay as it likes
/// best, so that the many that no layout makes good are not looked at in each.
class TileChoices {
 public:
  TileChoices(const SlicingProblem& problem, const SlicingCost& cost);

  /// Forgets all, and begins with a tile.
  /// @param too_slow  what takes that long is not kept
  void begin(std::size_t tile, float too_slow);
  /// With its unrolled twin, where there is one.
  /// @param shared_bytes  of a block
  void add(SlicingChoice choice, std::int64_t shared_bytes, bool can_be_unrolled);
  /// Whether the choice is too slow, however many stages it has, in whatever order its blocks come,
  /// however rows lie and whatever is unrolled: none of these is worth adding. Counts the question.
  [[nodiscard]] bool is_too_slow(const SlicingChoice& choice);

  /// Those that were kept, in the order in which they were added.
  [[nodiscard]] const std::vector<RankedChoice>& kept() const { return kept_; }
  /// How many choices were looked at.
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  [[nodiscard]] SlicingChoice as_added(SlicingChoice choice) const;
  void keep(float seconds, const SlicingChoice& choice);

  const SlicingCost& cost_;
  bool has_free_layouts_;
  std::uint32_t tile_ = 0;
  std::uint32_t added_ = 0;
  std::size_t count_ = 0;
  float too_slow_ = std::numeric_limits<float>::infinity();
  std::vector<RankedChoice> kept_{};
};

/// The best of the choices of all tiles in all layouts, at most RankingBounds::most_slicings: the
/// same ones in whatever order tiles come, if none is left out for being too slow.
class SlicingRanking {
 public:
  explicit SlicingRanking(const SlicingProblem& problem);

  void add(const std::vector<RankedChoice>& choices);
  /// What takes that long is not kept any more.
  [[nodiscard]] float too_slow() const { return best_.too_slow(); }
  /// The best one first. Once.
  [[nodiscard]] std::vector<RankedChoice> take(const SlicingCost& cost);

 private:
  /// The best ones of those that were added; drops those that too many are better than before there
  /// are many of them.
  class Best {
   public:
    explicit Best(std::size_t most) : most_(most) {}
    void add(const RankedChoice& ranked);
    [[nodiscard]] std::vector<RankedChoice> take();
    [[nodiscard]] float too_slow() const { return too_slow_; }

   private:
    void cut();
    std::size_t most_;
    std::vector<RankedChoice> ranked_{};
    float too_slow_ = std::numeric_limits<float>::infinity();
  };

  std::vector<LayoutNumbers> layouts_;
  std::size_t most_;
  Best best_;
};

}  // namespace rtcg::loopy::detail
