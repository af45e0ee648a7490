#include "rtcg/loopy/slice/slicing_ranking.h"

#include <algorithm>
#include <utility>

namespace rtcg::loopy::detail {

namespace {

bool is_before(const RankedChoice& a, const RankedChoice& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.number < b.number;
}

}  // namespace

void SlicingRanking::Best::add(float seconds, const SlicingChoice& choice) {
  if (seconds < too_slow_) {
    ranked_.push_back({seconds, added_++, choice});
  }
  if (ranked_.size() >= 2 * most_slicings) {
    cut();
  }
}

void SlicingRanking::Best::cut() {
  if (ranked_.size() > most_slicings) {
    const auto last = ranked_.begin() + most_slicings - 1;
    std::nth_element(ranked_.begin(), last, ranked_.end(), is_before);
    too_slow_ = last->seconds;
    ranked_.resize(most_slicings);
  }
}

std::vector<RankedChoice> SlicingRanking::Best::take() {
  cut();
  std::sort(ranked_.begin(), ranked_.end(), is_before);
  return std::move(ranked_);
}

SlicingRanking::SlicingRanking(const SlicingProblem& problem, const SlicingCost& cost)
    : cost_(cost), layouts_(layout_combinations(problem.free_layouts)) {}

void SlicingRanking::add(SlicingChoice choice, bool can_be_unrolled) {
  if (layouts_.size() > 1) {
    choice.layouts.fill(ideal_layout);
  }
  const double seconds = cost_.seconds(choice);
  best_.add(static_cast<float>(seconds), choice);
  if (can_be_unrolled) {
    choice.is_unrolled = true;
    best_.add(static_cast<float>(SlicingCost::unrolled_seconds(seconds)), choice);
  }
}

std::vector<RankedChoice> SlicingRanking::take() {
  std::vector<RankedChoice> ideal = best_.take();
  if (layouts_.size() == 1) {
    return ideal;
  }
  Best all;
  for (const RankedChoice& each : ideal) {
    if (each.seconds >= all.too_slow()) {
      break;
    }
    SlicingChoice choice = each.choice;
    for (const LayoutNumbers& layouts : layouts_) {
      choice.layouts = layouts;
      if (cost_.can_be_laid_out(choice)) {
        all.add(static_cast<float>(cost_.seconds(choice)), choice);
      }
    }
  }
  return all.take();
}

}  // namespace rtcg::loopy::detail
