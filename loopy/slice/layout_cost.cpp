// How arrays lie whose layout is free, and what that costs.
#include <algorithm>
#include <cstdlib>

#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {

const FreeLayout::Way* SlicingCost::find_way(const SlicingChoice& choice,
                                             std::size_t free_layout) const {
  if (free_layout == nowhere) {
    return nullptr;
  }
  static const FreeLayout::Way ideal{{}, any_axis, true};
  const std::uint8_t number = choice.layouts[free_layout];
  return number == ideal_layout ? &ideal : &problem_.free_layouts[free_layout].ways[number];
}

std::size_t SlicingCost::fastest_axis(const SlicingChoice& choice, const SlicedRead& read) const {
  const FreeLayout::Way* way = find_way(choice, read.free_layout);
  return way != nullptr ? way->fastest_axis : read.axes.size() - 1;
}

bool SlicingCost::is_along_rows(const SlicingChoice& choice, const SlicedRead& read) const {
  if (read.axes.empty()) {
    return false;
  }
  const std::size_t fastest = fastest_axis(choice, read);
  return fastest == any_axis ? read.mentions[fast_loop]
                             : read.axes[fastest].coefficients[fast_loop] != 0;
}

std::int64_t SlicingCost::distance_of_neighbours(const SlicingChoice& choice,
                                                 const SlicedRead& read) const {
  const std::size_t fastest = fastest_axis(choice, read);
  return fastest >= read.axes.size()
             ? 1
             : std::max<std::int64_t>(1, std::abs(read.axes[fastest].coefficients[fast_loop]));
}

bool SlicingCost::can_be_laid_out(const SlicingChoice& choice) const {
  for (std::size_t i = 0; i < problem_.free_layouts.size(); ++i) {
    const bool is_copied =
        std::any_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& read) {
          return read.free_layout == i &&
                 (is_fetched(choice, read.fetchable) || is_kept(choice, read.fetchable));
        });
    if (is_copied && problem_.free_layouts[i].ways[choice.layouts[i]].plan.piece != 0) {
      return false;
    }
  }
  return !choice.is_vector ||
         std::all_of(problem_.laid_writes.begin(), problem_.laid_writes.end(),
                     [&](const SlicedRead& each) {
                       return fastest_axis(choice, each) + 1 == each.axes.size();
                     });
}

void SlicingCost::add_laid_writes(const SlicingChoice& choice, Work& work) const {
  for (const SlicedRead& each : problem_.laid_writes) {
    if (each.mentions[fast_loop] && !is_along_rows(choice, each)) {
      // 32 bytes of memory for each element
      work.memory_bytes *= std::max(1.0, 32 / each.element_bytes);
    }
  }
}

double SlicingCost::cpu_layout_factor(const SlicingChoice& choice) const {
  double factor = 1;
  const auto add = [&](const SlicedRead& each) {
    const FreeLayout::Way* way = find_way(choice, each.free_layout);
    if (way == nullptr || !each.mentions[fast_loop]) {
      return;
    }
    const bool is_along = is_along_rows(choice, each);
    // vectors that are not the pieces of an axis divide indices, lane by lane
    const bool is_divided =
        is_along && way->plan.piece != 0 && choice.fast_tile() != way->plan.piece;
    factor *= (is_along ? (way->has_aligned_rows ? 1 : 1.02) : 1.5) * (is_divided ? 8 : 1);
  };
  std::for_each(problem_.reads.begin(), problem_.reads.end(), add);
  std::for_each(problem_.laid_writes.begin(), problem_.laid_writes.end(), add);
  return factor;
}

}  // namespace rtcg::loopy::detail
