// Results and sums whose loops bound each other: the share of a box that has points, and where sums
// begin.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/slice/slicing_cost.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy::detail {
namespace {

/// The first and the last block along a loop that may begin elsewhere than at 0: blocks begin at
/// multiples of their tile.
struct Blocks {
  std::int64_t tile = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Blocks blocks_of(const SlicingProblem& problem, const SlicingCost& cost,
                 const SlicingChoice& choice, std::size_t loop) {
  const SlicedLoop& own = problem.loops[loop];
  if (loop != fast_loop && loop != slow_loop && cost.blocks_along(choice, loop) == 1) {
    return {own.begin + own.length, 0, 0};  // all of it in each block
  }
  const std::int64_t tile = loop == fast_loop             ? choice.fast_tile()
                            : loop == slow_loop           ? choice.slow_tile()
                            : loop == choice.batch_loop() ? std::int64_t{choice.batch}
                                                          : 1;
  return {tile, divide_rounding_down(own.begin, tile),
          divide_rounding_down(own.begin + own.length - 1, tile)};
}

/// SlicingProblem::beginnings, and what they say of other loops where one has a single block: with
/// `i <= j <= k` the sums of such a j begin at i.
std::vector<LoopBound> beginnings_of(const SlicingProblem& problem, const SlicingCost& cost,
                                     const SlicingChoice& choice) {
  std::vector<LoopBound> result = problem.beginnings;
  for (const LoopBound& bound : problem.beginnings) {
    for (const std::size_t loop : {fast_loop, slow_loop}) {
      for (const LoopBound& other : problem.triangles) {
        const std::int64_t own = bound.coefficients[loop];
        const std::int64_t opposite = other.coefficients[loop];
        const Blocks blocks = blocks_of(problem, cost, choice, loop);
        if (own == 0 || opposite == 0 || (own > 0) == (opposite > 0) ||
            blocks.first != blocks.last) {
          continue;
        }
        LoopBound sum;
        for (std::size_t i = 0; i < loop_count; ++i) {
          sum.coefficients[i] =
              std::abs(opposite) * bound.coefficients[i] + std::abs(own) * other.coefficients[i];
        }
        sum.constant = std::abs(opposite) * bound.constant + std::abs(own) * other.constant;
        result.push_back(sum);
      }
    }
  }
  return result;
}

}  // namespace

/// Share of the box in which all triangles' bounds hold, each loosened by so many iterations.
double SlicingCost::share_of_results(double shift_of_fast, double shift_of_slow) const {
  const auto fast_length = static_cast<double>(problem_.loops[fast_loop].length);
  const auto slow_length = static_cast<double>(problem_.loops[slow_loop].length);
  // integral of a number that is clamped to [0, 1]
  const auto integral = [](double to) { return to <= 0 ? 0 : to <= 1 ? to * to / 2 : to - 0.5; };
  double share = 1;
  for (const LoopBound& each : problem_.triangles) {
    const auto of_fast = static_cast<double>(each.coefficients[fast_loop]);
    const auto of_slow = static_cast<double>(each.coefficients[slow_loop]);
    const double shift =
        std::max(std::abs(of_fast) * shift_of_fast, std::abs(of_slow) * shift_of_slow);
    // rows of the slow loop along the fast one, as shares of it
    const double scale = std::abs(of_slow) * slow_length;
    const double first =
        (static_cast<double>(each.constant) + shift) / scale + (of_slow > 0 ? 1 : 0);
    const double slope = of_fast * fast_length / scale;
    share -= 1 - (integral(first + slope) - integral(first)) / slope;
  }
  const double least = 1 / (fast_length * slow_length);
  return std::clamp(share, least, 1.0);
}

double SlicingCost::share_of_blocks(const SlicingChoice& choice) const {
  return problem_.triangles.empty() ? 1
                                    : share_of_results(static_cast<double>(choice.fast_tile()) / 2,
                                                       static_cast<double>(choice.slow_tile()) / 2);
}

double SlicingCost::share_of_steps() const {
  double points = density_ * static_cast<double>(problem_.other_results);
  for (const SlicedLoop& loop : problem_.loops) {
    points *= static_cast<double>(loop.length);
  }
  return std::clamp(problem_.least_steps / points, 0.0, 1.0);
}

bool SlicingCost::has_known_beginning(const SlicingChoice& choice) const {
  if (problem_.beginnings.empty()) {
    return true;
  }
  if (choice.shared_steps != 0) {
    return false;  // each block's part of a sum has bounds of its threads
  }
  // least and greatest first tile that each bound gives, over all blocks
  struct Range {
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    bool is_constant = true;
    bool is_affine = true;
  };
  std::vector<Range> ranges;
  for (const LoopBound& each : beginnings_of(problem_, *this, choice)) {
    const std::int64_t step = each.coefficients[reduced_loop] * choice.depth;
    if (step == 0) {
      return false;
    }
    Range range;
    // at the best point of a block, for the first and for the last block
    std::int64_t least = -each.constant - (step - each.coefficients[reduced_loop]);
    std::int64_t greatest = least;
    for (std::size_t i = 0; i < loop_count; ++i) {
      const std::int64_t coefficient = each.coefficients[i];
      if (i == reduced_loop || coefficient == 0) {
        continue;
      }
      const auto [tile, first, last] = blocks_of(problem_, *this, choice, i);
      const std::int64_t at_best = coefficient > 0 ? -coefficient * (tile - 1) : 0;
      const auto [low, high] =
          std::minmax({-coefficient * tile * first, -coefficient * tile * last});
      least += at_best + low;
      greatest += at_best + high;
      range.is_constant = false;
      range.is_affine = range.is_affine && coefficient * tile % step == 0;
    }
    range.least = -((-least) / step);
    range.least = least > 0 ? ceil_divide(least, step) : range.least;
    range.greatest = greatest > 0 ? ceil_divide(greatest, step) : -((-greatest) / step);
    ranges.push_back(range);
  }
  const auto is_for_all = [&](std::int64_t first, const Range* own) {
    return std::all_of(ranges.begin(), ranges.end(),
                       [&](const Range& each) { return &each == own || each.greatest <= first; });
  };
  std::int64_t constant = INT64_MAX;
  for (const Range& each : ranges) {
    constant = std::min(constant, each.least);
  }
  for (const Range& each : ranges) {
    constant = each.is_constant ? std::max(constant, each.least) : constant;
  }
  return is_for_all(constant, nullptr) ||
         std::any_of(ranges.begin(), ranges.end(), [&](const Range& each) {
           return !each.is_constant && each.is_affine && is_for_all(each.least, &each);
         });
}

}  // namespace rtcg::loopy::detail
