#include "rtcg/loopy/slice/view_axes.h"

#include <algorithm>
#include <set>

#include "rtcg/loopy/analyze/overfetch.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

NeighbourLines lines_along(const Kernel& kernel, const ArrayAccess& access,
                           const std::string& iname) {
  constexpr std::int64_t line_elements = 32;
  NeighbourLines lines{{1, 2, 4, 8, 16, 32}, 1};  // each has one of its own
  const auto places = places_along(kernel, access, iname, request_threads);
  if (!places) {
    return lines;
  }
  std::set<std::int64_t> known;
  const auto length = static_cast<std::int64_t>(places->size());
  for (std::size_t power = 0; power < lines.counts.size(); ++power) {
    const std::int64_t count = std::int64_t{1} << power;
    for (std::int64_t i = count / 2; i < std::min(count, length); ++i) {
      known.insert(divide_rounding_down(places->at(static_cast<std::size_t>(i)), line_elements));
    }
    lines.counts.at(power) = static_cast<double>(known.size()) * static_cast<double>(count) /
                             static_cast<double>(std::min(count, length));
  }
  while (lines.contiguous < length && places->at(static_cast<std::size_t>(lines.contiguous)) ==
                                          places->front() + lines.contiguous) {
    ++lines.contiguous;
  }
  return lines;
}

}  // namespace

ViewAxes view_axes(const Kernel& kernel, const ArrayAccess& access) {
  ViewAxes axes;
  std::set<std::string> known;
  for (const Expr& index : access.indices) {
    for (const std::string& name : free_names(index)) {
      if (is_iname(kernel, name) && known.insert(name).second) {
        axes.inames.push_back(name);
      }
    }
  }
  if (axes.inames.empty()) {
    return axes;
  }
  std::vector<double> all;
  for (const std::string& iname : axes.inames) {
    all.push_back(overfetch_along(kernel, access, iname).value_or(sector_elements));
  }
  const auto best = std::min_element(all.begin(), all.end()) - all.begin();
  axes.lines = lines_along(kernel, access, axes.inames[static_cast<std::size_t>(best)]);
  axes.overfetch = std::max(1.0, all[static_cast<std::size_t>(best)]);
  std::rotate(axes.inames.begin() + best, axes.inames.begin() + best + 1, axes.inames.end());
  return axes;
}

}  // namespace rtcg::loopy::detail
