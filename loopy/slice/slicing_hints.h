#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/loop_cuts.h"
#include "rtcg/loopy/slice/slicing_choice.h"

// What SlicingConstraints asks of single loops and arrays.

namespace rtcg::loopy::detail {

/// Keeps references to what it is made of.
class SlicingHints {
 public:
  /// @throws InvalidInput  loopy.slicings.unknown_hint
  SlicingHints(const SlicingProblem& problem, const SlicingConstraints& constraints);

  /// The ways to cut a loop of results: `defaults`, or all that give the tiles that are asked
  /// for, with at most as many items as a thread may have.
  [[nodiscard]] std::vector<std::array<std::uint16_t, 3>> cuts(
      std::size_t loop, std::vector<std::array<std::uint16_t, 3>> defaults) const;
  /// Of tiles along the reduction; 0: not cut.
  [[nodiscard]] Lengths depths(Lengths defaults) const;
  /// Whether loops that are not cut may be done so.
  [[nodiscard]] bool allows_whole_loops(std::uint8_t in_thread) const;
  /// What the others do not see to: arrays, vectors, reductions.
  [[nodiscard]] bool allows(const SlicingChoice& choice) const;

 private:
  [[nodiscard]] bool allows_reduction(const SlicingChoice& choice) const;
  [[nodiscard]] const InameHint* find(std::size_t loop) const;

  const SlicingProblem& problem_;
  const SlicingConstraints& constraints_;
  std::uint8_t fetched_ = 0;  ///< bits of arrays that have to be
  std::uint8_t not_fetched_ = 0;
  std::uint8_t kept_ = 0;
  std::uint8_t not_kept_ = 0;
};

}  // namespace rtcg::loopy::detail
