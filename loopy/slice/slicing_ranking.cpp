#include "rtcg/loopy/slice/slicing_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

namespace rtcg::loopy::detail {

namespace {

/// Smaller for what comes first: floats that are not negative compare as their bits do.
struct Order {
  std::uint64_t seconds_and_tile = 0;
  std::uint32_t number = 0;
  std::uint32_t place = 0;

  friend bool operator<(const Order& a, const Order& b) {
    return a.seconds_and_tile != b.seconds_and_tile ? a.seconds_and_tile < b.seconds_and_tile
                                                    : a.number < b.number;
  }
};

Order order_of(const RankedChoice& ranked, std::size_t place = 0) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &ranked.seconds, sizeof bits);
  return {std::uint64_t{bits} << 32 | ranked.tile, ranked.number,
          static_cast<std::uint32_t>(place)};
}

}  // namespace

TileChoices::TileChoices(const SlicingProblem& problem, const SlicingCost& cost)
    : cost_(cost), has_free_layouts_(layout_combinations(problem.free_layouts).size() > 1) {}

void TileChoices::begin(std::size_t tile, float too_slow) {
  tile_ = static_cast<std::uint32_t>(tile);
  added_ = 0;
  count_ = 0;
  too_slow_ = too_slow;
  kept_.clear();
}

SlicingChoice TileChoices::as_added(SlicingChoice choice) const {
  if (has_free_layouts_) {
    choice.layouts.fill(ideal_layout);
  }
  return choice;
}

bool TileChoices::is_too_slow(const SlicingChoice& choice) {
  ++count_;
  return std::isfinite(too_slow_) &&
         static_cast<float>(cost_.least_run_seconds(as_added(choice))) >= too_slow_;
}

void TileChoices::keep(float seconds, const SlicingChoice& choice) {
  if (seconds < too_slow_) {
    kept_.push_back({seconds, tile_, added_, choice});
  }
  ++added_;
}

void TileChoices::add(SlicingChoice choice, std::int64_t shared_bytes, bool can_be_unrolled) {
  choice = as_added(choice);
  keep(static_cast<float>(cost_.seconds(choice, shared_bytes)), choice);
  if (can_be_unrolled) {
    choice.is_unrolled = true;
    keep(static_cast<float>(cost_.seconds(choice, shared_bytes)), choice);
  }
}

void SlicingRanking::Best::add(const RankedChoice& ranked) {
  if (ranked.seconds < too_slow_) {
    // choices that are moved again and again touch as much memory as the ranking
    if (ranked_.size() == ranked_.capacity() && ranked_.size() >= most_ / 16) {
      ranked_.reserve(most_ + most_ / 2);
    }
    ranked_.push_back(ranked);
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
  std::vector<Order> places;
  places.reserve(ranked_.size());
  for (const RankedChoice& each : ranked_) {
    places.push_back(order_of(each, places.size()));
  }
  std::sort(places.begin(), places.end());
  std::vector<RankedChoice> sorted;
  sorted.reserve(ranked_.size());
  for (const Order& each : places) {
    sorted.push_back(ranked_[each.place]);
  }
  ranked_.clear();
  return sorted;
}

SlicingRanking::SlicingRanking(const SlicingProblem& problem)
    : layouts_(layout_combinations(problem.free_layouts)),
      most_(problem.bounds.most_slicings),
      best_(most_) {}

void SlicingRanking::add(const std::vector<RankedChoice>& choices) {
  for (const RankedChoice& each : choices) {
    best_.add(each);
  }
}

std::vector<RankedChoice> SlicingRanking::take(const SlicingCost& cost) {
  std::vector<RankedChoice> ideal = best_.take();
  if (layouts_.size() == 1) {
    return ideal;
  }
  Best all(most_);
  std::uint32_t place = 0;
  for (const RankedChoice& each : ideal) {
    if (each.seconds >= all.too_slow()) {
      break;
    }
    SlicingChoice choice = each.choice;
    const std::int64_t shared_bytes = cost.shared_bytes(choice);
    std::uint32_t number = 0;
    for (const LayoutNumbers& layouts : layouts_) {
      choice.layouts = layouts;
      if (cost.can_be_laid_out(choice)) {
        all.add({static_cast<float>(cost.seconds(choice, shared_bytes)), place, number++, choice});
      }
    }
    ++place;
  }
  return all.take();
}

}  // namespace rtcg::loopy::detail
