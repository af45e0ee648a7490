#include "rtcg/loopy/slice/slicing_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace rtcg::loopy::detail {

namespace {

/// Smaller for what comes first: floats that are not negative compare as their bits do.
std::uint64_t order_of(const RankedChoice& ranked) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &ranked.seconds, sizeof bits);
  return std::uint64_t{bits} << 32 | ranked.number;
}

}  // namespace

void SlicingRanking::Best::add(float seconds, const SlicingChoice& choice) {
  if (seconds < too_slow_) {
    ranked_.push_back({seconds, added_++, choice});
  }
  if (ranked_.size() >= most_ + most_ / 2) {
    cut();
  }
}

void SlicingRanking::Best::cut() {
  if (ranked_.size() > most_) {
    const auto last = ranked_.begin() + static_cast<std::ptrdiff_t>(most_) - 1;
    std::nth_element(
        ranked_.begin(), last, ranked_.end(),
        [](const RankedChoice& a, const RankedChoice& b) { return order_of(a) < order_of(b); });
    too_slow_ = last->seconds;
    ranked_.resize(most_);
  }
}

std::vector<RankedChoice> SlicingRanking::Best::take() {
  cut();
  // choices are large: their places are sorted
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  places.reserve(ranked_.size());
  for (const RankedChoice& each : ranked_) {
    places.emplace_back(order_of(each), static_cast<std::uint32_t>(places.size()));
  }
  std::sort(places.begin(), places.end());
  std::vector<RankedChoice> sorted;
  sorted.reserve(ranked_.size());
  for (const auto& [order, place] : places) {
    sorted.push_back(ranked_[place]);
  }
  ranked_.clear();
  return sorted;
}

SlicingRanking::SlicingRanking(const SlicingProblem& problem, const SlicingCost& cost)
    : cost_(cost),
      layouts_(layout_combinations(problem.free_layouts)),
      most_(problem.most_slicings),
      best_(most_) {}

SlicingChoice SlicingRanking::as_added(SlicingChoice choice) const {
  if (layouts_.size() > 1) {
    choice.layouts.fill(ideal_layout);
  }
  return choice;
}

bool SlicingRanking::is_too_slow(const SlicingChoice& choice) const {
  return std::isfinite(best_.too_slow()) &&
         static_cast<float>(cost_.least_run_seconds(as_added(choice))) >= best_.too_slow();
}

void SlicingRanking::add(SlicingChoice choice, std::int64_t shared_bytes, bool can_be_unrolled) {
  choice = as_added(choice);
  const double seconds = cost_.seconds(choice, shared_bytes);
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
  Best all(most_);
  for (const RankedChoice& each : ideal) {
    if (each.seconds >= all.too_slow()) {
      break;
    }
    SlicingChoice choice = each.choice;
    const std::int64_t shared_bytes = cost_.shared_bytes(choice);
    for (const LayoutNumbers& layouts : layouts_) {
      choice.layouts = layouts;
      if (cost_.can_be_laid_out(choice)) {
        all.add(static_cast<float>(cost_.seconds(choice, shared_bytes)), choice);
      }
    }
  }
  return all.take();
}

}  // namespace rtcg::loopy::detail
