#include "rtcg/loopy/analyze/axis_length.h"

#include <algorithm>

#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {

std::optional<std::int64_t> constant_length(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet set = constraints_of(kernel, {iname});
  std::optional<std::int64_t> length;
  const auto consider = [&](std::optional<std::int64_t> last) {
    if (last) {
      length = std::min(length.value_or(*last + 1), *last + 1);
    }
  };
  const auto [low, high] = range_of(set, Affine(iname));
  if (low && high) {
    consider(*high - *low);
  }
  for (const Constraint& constraint : set.constraints()) {
    // iname - first >= 0: how far above the first value it gets; constant ones are in the range
    const bool is_in_range = low && high && constraint.expr.terms().size() == 1;
    if (constraint.expr.coefficient(iname) == 1 && !is_in_range) {
      consider(set.maximum(constraint.expr));
    }
  }
  return length;
}

std::vector<std::string> inames_on_axis(const Kernel& kernel, const InameTag& tag) {
  std::vector<std::string> inames;
  for (const std::string& iname : all_inames(kernel)) {
    if (tag_of(kernel, iname) == tag) {
      inames.push_back(iname);
    }
  }
  return inames;
}

std::optional<std::int64_t> block_length(const Kernel& kernel, int axis) {
  std::int64_t longest = 1;
  for (const std::string& iname : inames_on_axis(kernel, {AxisKind::block, axis})) {
    const auto length = constant_length(kernel, iname);
    if (!length) {
      return std::nullopt;
    }
    longest = std::max(longest, *length);
  }
  return longest;
}

}  // namespace rtcg::loopy
