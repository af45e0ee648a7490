#include "rtcg/loopy/slice/seed_shapes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>

namespace rtcg::loopy::detail {
namespace {

using Cut = std::array<std::uint16_t, 3>;  // strided items, threads, contiguous items
using Shape = std::array<Cut, 2>;

bool is_one_of(const Cut& cut, std::initializer_list<Cut> all) {
  return std::find(all.begin(), all.end(), cut) != all.end();
}

bool has_threads(const SlicingChoice& choice, std::int64_t least, std::int64_t most) {
  return choice.threads() >= least && choice.threads() <= most;
}

/// Short rows and a short reduction, which is fetched whole.
std::optional<Shape> whole_rows(const SlicingChoice& choice) {
  const bool has_lanes = choice.fast[2] == 1 && (choice.fast[0] == 1 || choice.fast[0] >= 5);
  return has_lanes && choice.in_thread != 0 && has_threads(choice, 96, 320) &&
                 is_one_of(choice.slow, {{2, 8, 8}, {4, 32, 1}, {6, 16, 1}, {4, 8, 2}})
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// The rows of both operands are along the reduction, and a load covers several steps of it.
std::optional<Shape> strided_items(const SlicingChoice& choice) {
  return choice.fast[2] == 1 && choice.fast[0] >= 4 && choice.in_thread == 0 &&
                 choice.depth % 4 == 0 && has_threads(choice, 64, 256) &&
                 is_one_of(choice.slow, {{6, 16, 1}, {8, 8, 1}, {8, 16, 1}, {12, 8, 1}})
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// A block covers short rows, or half of one.
std::optional<Shape> short_rows(const SlicingChoice& choice) {
  const Cut fast = {choice.fast[0], 0, choice.fast[2]};
  const bool has_lanes = is_one_of(fast, {{2, 0, 4}, {1, 0, 4}}) || fast[0] > 4;
  return has_lanes && has_threads(choice, 64, 256) &&
                 is_one_of(choice.slow, {{2, 8, 4}, {2, 16, 4}, {1, 16, 4}})
             ? std::optional(Shape{fast, choice.slow})
             : std::nullopt;
}

std::optional<Shape> long_rows(const SlicingChoice& choice) {
  return choice.depth % 4 == 0 &&
                 is_one_of(choice.fast, {{2, 16, 4}, {1, 16, 4}, {2, 16, 2}, {1, 8, 4}}) &&
                 is_one_of(choice.slow, {{2, 8, 4}, {1, 8, 8}, {2, 8, 2}, {1, 4, 8}, {2, 4, 2}})
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// A reduction that is fetched whole, since there is too little of it for tiles.
bool is_short(const SlicingProblem& problem) {
  return problem.loops[reduced_loop].length < 48;
}

bool is_tiled(const SlicingProblem& problem, const SlicingChoice& choice) {
  const bool has_depth =
      is_short(problem)
          ? choice.depth == problem.loops[reduced_loop].length && choice.stages == 1
          : choice.depth >= 10 && choice.depth <= 44 && (choice.stages == 2 || choice.stages == 3);
  return has_depth && choice.fetched == (1U << problem.fetchable.size()) - 1 &&
         choice.fetched > 1 && choice.slices == 1 && choice.swizzle_rows == 0 && choice.kept == 0 &&
         choice.may_transpose && !choice.is_vector && !choice.is_unrolled && !choice.is_swizzled &&
         choice.layouts == LayoutNumbers{};
}

}  // namespace

std::vector<std::size_t> seed_places(const SlicingProblem& problem,
                                     const std::vector<RankedChoice>& ranked) {
  std::vector<std::size_t> places;
  const auto add_first_of_shapes = [&](const auto& shape_of, int most_of_a_shape,
                                       std::size_t most) {
    std::map<Shape, int> taken;
    for (std::size_t i = 0; i < ranked.size() && places.size() < most; ++i) {
      const SlicingChoice& choice = ranked[i].choice;
      const std::optional<Shape> shape =
          is_tiled(problem, choice) ? shape_of(choice) : std::nullopt;
      if (shape && taken[*shape]++ < most_of_a_shape) {
        places.push_back(i);
      }
    }
  };
  const bool has_short_rows = problem.loops[fast_loop].length <= 256;
  if (has_short_rows && is_short(problem)) {
    add_first_of_shapes(whole_rows, 1, 16);
  } else if (has_short_rows) {
    add_first_of_shapes(strided_items, 1, 16);
    add_first_of_shapes(short_rows, 3, 40);
  } else {
    add_first_of_shapes(long_rows, 2, 40);
  }
  return places;
}

}  // namespace rtcg::loopy::detail
