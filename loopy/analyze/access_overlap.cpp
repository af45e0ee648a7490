#include "rtcg/loopy/analyze/access_overlap.h"

#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/analyze/joined_indices.h"

namespace rtcg::loopy {
namespace {

std::string instance_name(const Kernel& kernel, const std::string& name, const char* suffix) {
  return is_iname(kernel, name) || find_argument(kernel, name) == nullptr ? name + suffix : name;
}

ConstraintSet instances(const Kernel& kernel, const ArrayAccess& access, const char* suffix) {
  ConstraintSet set = constraints_of(kernel, access.inames);
  for (const Expr& condition : access.conditions) {
    set.add(context_of(condition));
  }
  return with_suffix(kernel, set, suffix);
}

}  // namespace

Affine with_suffix(const Kernel& kernel, const Affine& expr, const char* suffix) {
  return expr.rename([&](const std::string& name) { return instance_name(kernel, name, suffix); });
}

ConstraintSet with_suffix(const Kernel& kernel, const ConstraintSet& set, const char* suffix) {
  return set.rename([&](const std::string& name) { return instance_name(kernel, name, suffix); });
}

ConstraintSet at_one_element(const Kernel& kernel, const ArrayAccess& one,
                             const ArrayAccess& other) {
  ConstraintSet set = instances(kernel, one, "'1");
  set.add(instances(kernel, other, "'2"));
  if (one.is_linear || other.is_linear || one.indices.size() != other.indices.size()) {
    return set;
  }
  const auto add_equal = [&](const Expr& index, const Expr& other_index) {
    const std::vector<IndexCase> left = index_cases(index);
    const std::vector<IndexCase> right = index_cases(other_index);
    if (left.size() == 1 && right.size() == 1) {
      set.add_zero(with_suffix(kernel, left.front().value, "'1") -
                   with_suffix(kernel, right.front().value, "'2"));
      set.add(with_suffix(kernel, left.front().context, "'1"));
      set.add(with_suffix(kernel, right.front().context, "'2"));
    }
  };
  for (std::size_t axis = 0; axis < one.indices.size(); ++axis) {
    add_equal(one.indices[axis], other.indices[axis]);
  }
  const std::vector<JoinedIndex> others = joined_indices(kernel, other.indices);
  for (const JoinedIndex& each : joined_indices(kernel, one.indices)) {
    for (const JoinedIndex& same : others) {
      if (same.key == each.key) {
        add_equal(each.value, same.value);
      }
    }
  }
  return set;
}

}  // namespace rtcg::loopy
