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
  std::uint32_t number = 0;  ///< in the order in which they were added
  SlicingChoice choice{};
};

/// Takes choices without a layout, and gives the best of them in all layouts, at most
/// SlicingProblem::most_slicings, the same ones for the same choices in the same order. Where
/// layouts are free, a choice is first ranked by what it would take if every array lay as it likes
/// best, so that the many that no layout makes good are not looked at in each. Keeps references to
/// what it is made of.
class SlicingRanking {
 public:
  SlicingRanking(const SlicingProblem& problem, const SlicingCost& cost);

  /// With its unrolled twin, where there is one.
  /// @param shared_bytes  of a block
  void add(SlicingChoice choice, std::int64_t shared_bytes, bool can_be_unrolled);
  /// Whether too many are better than the choice, however many stages it has, in whatever order its
  /// blocks come, however rows lie and whatever is unrolled: none of these is worth adding.
  [[nodiscard]] bool is_too_slow(const SlicingChoice& choice) const;
  /// The best one first. Once.
  [[nodiscard]] std::vector<RankedChoice> take();

 private:
  /// The best ones of those that were added; drops those that too many are better than before there
  /// are many of them.
  class Best {
   public:
    explicit Best(std::size_t most) : most_(most) {}
    void add(float seconds, const SlicingChoice& choice);
    [[nodiscard]] std::vector<RankedChoice> take();
    /// What takes that long is not kept any more.
    [[nodiscard]] float too_slow() const { return too_slow_; }

   private:
    void cut();
    std::size_t most_;
    std::vector<RankedChoice> ranked_{};
    std::uint32_t added_ = 0;
    float too_slow_ = std::numeric_limits<float>::infinity();
  };

  [[nodiscard]] SlicingChoice as_added(SlicingChoice choice) const;

  const SlicingCost& cost_;
  std::vector<LayoutNumbers> layouts_;
  std::size_t most_;
  Best best_;
};

}  // namespace rtcg::loopy::detail
