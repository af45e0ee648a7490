#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rtcg/loopy/slice/slicing_choice.h"
#include "rtcg/loopy/slice/slicing_cost.h"

// The choices that the cost model likes best. Internal to slice.

namespace rtcg::loopy::detail {

/// Searches look through all slicings again and again.
constexpr std::size_t most_slicings = 1500000;

struct RankedChoice {
  float seconds = 0;
  std::uint32_t number = 0;  ///< in the order in which they were added
  SlicingChoice choice{};
};

/// Takes choices without a layout, and gives the best of them in all layouts, at most
/// most_slicings, the same ones for the same choices in the same order. Where layouts are free, a
/// choice is first ranked by what it would take if every array lay as it likes best, so that the
/// many that no layout makes good are not looked at in each. Keeps references to what it is made
/// of.
class SlicingRanking {
 public:
  SlicingRanking(const SlicingProblem& problem, const SlicingCost& cost);

  /// With its unrolled twin, where there is one.
  void add(SlicingChoice choice, bool can_be_unrolled);
  /// The best one first. Once.
  [[nodiscard]] std::vector<RankedChoice> take();

 private:
  /// The best ones of those that were added; drops those that too many are better than before there
  /// are many of them.
  class Best {
   public:
    void add(float seconds, const SlicingChoice& choice);
    [[nodiscard]] std::vector<RankedChoice> take();
    /// What takes that long is not kept any more.
    [[nodiscard]] float too_slow() const { return too_slow_; }

   private:
    void cut();
    std::vector<RankedChoice> ranked_{};
    std::uint32_t added_ = 0;
    float too_slow_ = std::numeric_limits<float>::infinity();
  };

  const SlicingCost& cost_;
  std::vector<LayoutNumbers> layouts_;
  Best best_{};
};

}  // namespace rtcg::loopy::detail
