#include "rtcg/loopy/slice/view_axes.h"

#include <algorithm>
#include <set>

#include "rtcg/loopy/analyze/overfetch.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {

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
  axes.overfetch = std::max(1.0, all[static_cast<std::size_t>(best)]);
  std::rotate(axes.inames.begin() + best, axes.inames.begin() + best + 1, axes.inames.end());
  return axes;
}

}  // namespace rtcg::loopy::detail
