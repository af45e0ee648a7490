#include "rtcg/loopy/slice/slicing_hints.h"

#include <algorithm>

#include "rtcg/loopy/slice/hinted_source.h"

namespace rtcg::loopy::detail {
namespace {

bool is_allowed(const std::vector<std::int64_t>& values, std::int64_t value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

SlicingHints::SlicingHints(const SlicingProblem& problem, const SlicingConstraints& constraints)
    : problem_(problem), constraints_(constraints) {
  std::vector<std::string> inames;
  for (const SlicedLoop& each : problem.loops) {
    if (!each.iname.empty()) {
      inames.push_back(each.iname);
    }
  }
  for (const auto& [name, hint] : constraints.inames) {
    refuse_unknown_hint("iname", name, inames);
  }
  std::vector<std::string> arrays;
  for (const Fetchable& each : problem.fetchable) {
    arrays.push_back(each.array);
  }
  for (const auto& [name, use] : constraints.arrays) {
    refuse_unknown_hint("array", name, arrays);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto bit = static_cast<std::uint8_t>(arrays[i] == name ? 1U << i : 0U);
      fetched_ |= use == ArrayUse::shared ? bit : 0;
      kept_ |= use == ArrayUse::registers ? bit : 0;
      not_fetched_ |= use == ArrayUse::registers || use == ArrayUse::memory ? bit : 0;
      not_kept_ |= use == ArrayUse::shared || use == ArrayUse::memory ? bit : 0;
    }
  }
}

const InameHint* SlicingHints::find(std::size_t loop) const {
  const auto found = constraints_.inames.find(problem_.loops[loop].iname);
  return found == constraints_.inames.end() ? nullptr : &found->second;
}

std::vector<std::array<std::uint16_t, 3>> SlicingHints::cuts(
    std::size_t loop, std::vector<std::array<std::uint16_t, 3>> defaults) const {
  const InameHint* hint = find(loop);
  if (hint == nullptr) {
    return defaults;
  }
  if (!hint->tiles.empty()) {
    defaults.clear();
    for (const std::int64_t tile : hint->tiles) {
      for (std::int64_t items = 1; items <= std::min(tile, constraints_.max_items_per_thread);
           ++items) {
        for (std::int64_t contiguous = 1; tile % items == 0 && contiguous <= items; ++contiguous) {
          const std::int64_t threads = tile / items;
          // items on both sides of no threads are the same items
          if (items % contiguous == 0 && threads <= constraints_.max_threads &&
              (threads > 1 || contiguous == items)) {
            defaults.push_back({static_cast<std::uint16_t>(items / contiguous),
                                static_cast<std::uint16_t>(threads),
                                static_cast<std::uint16_t>(contiguous)});
          }
        }
      }
    }
  }
  std::erase_if(defaults, [&](const auto& cut) { return !is_allowed(hint->threads, cut[1]); });
  return defaults;
}

Lengths SlicingHints::depths(Lengths defaults) const {
  const InameHint* hint = find(reduced_loop);
  if (hint == nullptr || hint->tiles.empty()) {
    return defaults;
  }
  Lengths result;
  for (const std::int64_t tile : hint->tiles) {
    const std::int64_t length = problem_.loops[reduced_loop].length;
    if (tile >= length) {
      result.push_back(0);
    }
    if (tile >= 1 && length <= UINT16_MAX) {
      result.push_back(static_cast<std::uint16_t>(std::min(tile, length)));
    }
  }
  return result;
}

bool SlicingHints::allows_whole_loops(std::uint8_t in_thread) const {
  for (std::size_t loop = first_whole_loop; loop < loop_count; ++loop) {
    const InameHint* hint = find(loop);
    const bool is_whole = (in_thread >> (loop - first_whole_loop) & 1) != 0;
    if (hint != nullptr && (!is_allowed(hint->tiles, is_whole ? problem_.loops[loop].length : 1) ||
                            !is_allowed(hint->threads, 1))) {
      return false;
    }
  }
  return true;
}

bool SlicingHints::allows_reduction(const SlicingChoice& choice) const {
  const InameHint* hint = find(reduced_loop);
  if (hint == nullptr) {
    return true;
  }
  const std::int64_t length = problem_.loops[reduced_loop].length;
  const std::int64_t depth = choice.depth != 0 ? choice.depth : length;
  return is_allowed(hint->threads, choice.reduction_threads * choice.slices) &&
         (hint->tiles.empty() ||
          std::any_of(hint->tiles.begin(), hint->tiles.end(),
                      [&](std::int64_t tile) { return std::min(tile, length) == depth; }));
}

bool SlicingHints::allows(const SlicingChoice& choice) const {
  return (choice.fetched & fetched_) == fetched_ && (choice.fetched & not_fetched_) == 0 &&
         (choice.kept & kept_) == kept_ && (choice.kept & not_kept_) == 0 &&
         is_allowed(constraints_.vector_widths, choice.is_vector ? choice.fast[2] : 1) &&
         (choice.batch == 1 || find(choice.batch_loop()) == nullptr) && allows_reduction(choice);
}

}  // namespace rtcg::loopy::detail
