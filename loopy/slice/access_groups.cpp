#include "rtcg/loopy/slice/access_groups.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

bool are_affine(const ArrayAccess& access) {
  return !access.is_linear &&
         std::all_of(access.indices.begin(), access.indices.end(),
                     [](const Expr& index) { return to_affine(index).has_value(); });
}

bool differ_by_constants(const ArrayAccess& one, const ArrayAccess& other) {
  return std::equal(
      one.indices.begin(), one.indices.end(), other.indices.begin(), other.indices.end(),
      [](const Expr& a, const Expr& b) { return (*to_affine(a) - *to_affine(b)).is_constant(); });
}

}  // namespace

bool AccessGroup::contains(const ArrayAccess& access) const {
  return is_affine ? are_affine(access) && differ_by_constants(reads.front(), access)
                   : reads.front().indices == access.indices;
}

std::vector<AccessGroup> access_groups(const Kernel& expanded, std::string_view array) {
  std::vector<AccessGroup> groups;
  for (const ArrayAccess& access : accesses_of(expanded)) {
    if (access.array != array || access.is_write) {
      continue;
    }
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& each) { return each.contains(access); });
    if (known != groups.end()) {
      known->reads.push_back(access);
      continue;
    }
    AccessGroup group{{access}, {}, are_affine(access)};
    for (const Expr& index : access.indices) {
      for (const std::string& name : free_names(index)) {
        if (is_iname(expanded, name)) {
          group.inames.insert(name);
        }
      }
    }
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.inames.size() > b.inames.size(); });
  return groups;
}

}  // namespace rtcg::loopy::detail
