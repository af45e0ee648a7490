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

/// Adds the inames of reductions around those over `iname` that read an array.
void add_sums_around(const Expr& expr, const std::string& array, const std::string& iname,
                     const NameSet& outer, NameSet& result) {
  NameSet around = outer;
  if (const Reduction* sum = get_if<Reduction>(expr)) {
    const bool is_it =
        std::find(sum->inames.begin(), sum->inames.end(), iname) != sum->inames.end();
    if (is_it && accessed_arrays(expr).count(array) != 0) {
      result.insert(outer.begin(), outer.end());
    }
    around.insert(sum->inames.begin(), sum->inames.end());
  }
  for_each_child(expr,
                 [&](const Expr& child) { add_sums_around(child, array, iname, around, result); });
}

}  // namespace

bool AccessGroup::contains(const ArrayAccess& access) const {
  return is_affine ? are_affine(access) && differ_by_constants(reads.front(), access)
                   : reads.front().indices == access.indices;
}

std::vector<ArrayAccess> distinct_accesses(std::vector<ArrayAccess> accesses) {
  std::vector<ArrayAccess> result;
  for (ArrayAccess& access : accesses) {
    const bool is_known =
        !access.is_write && std::any_of(result.begin(), result.end(), [&](const auto& each) {
          return !each.is_write && each.array == access.array &&
                 each.is_linear == access.is_linear && each.indices == access.indices &&
                 each.inames == access.inames;
        });
    if (!is_known) {
      result.push_back(std::move(access));
    }
  }
  return result;
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

NameSet sums_around(const Kernel& expanded, const AccessGroup& group, const std::string& iname) {
  NameSet result;
  for (const Instruction& each : expanded.instructions) {
    const bool is_user =
        std::any_of(group.reads.begin(), group.reads.end(),
                    [&](const ArrayAccess& read) { return read.statement == each.id; });
    if (is_user && reduction_inames(each).count(iname) != 0) {
      for_each_expression(each, [&](const Expr& expr) {
        add_sums_around(expr, group.reads.front().array, iname, {}, result);
      });
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
