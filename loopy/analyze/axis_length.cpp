#include "rtcg/loopy/analyze/axis_length.h"

#include <algorithm>

namespace rtcg::loopy {

std::optional<std::int64_t> constant_length(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet set = constraints_of(kernel, {iname});
  std::optional<std::int64_t> length;
  const auto consider = [&](std::optional<std::int64_t> last) {
    if (last) {
      length = std::min(length.value_or(*last + 1), *last + 1);
    }
  };
  for (const Constraint& constraint : set.constraints()) {
    // iname - low >= 0: how far above low it gets
    if (constraint.expr.coefficient(iname) == 1) {
      consider(set.maximum(constraint.expr));
    }
  }
  const auto low = set.minimum(Affine(iname));
  const auto high = set.maximum(Affine(iname));
  if (low && high) {
    consider(*high - *low);
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
