#include "rtcg/loopy/slice/access_groups.h"

#include <algorithm>

#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

bool are_affine(const ArrayAccess& access) {
  return !access.is_linear &&
         std::all_of(access.indices.begin(), access.indices.end(),
                     [](const Expr& index) { return to_affine(index).has_value(); });
}

bool differ_by_constants(const Expr& one, const Expr& other) {
  return (*to_affine(one) - *to_affine(other)).is_constant();
}

bool have_any_in_common(const NameSet& one, const NameSet& other) {
  return std::any_of(one.begin(), one.end(),
                     [&](const std::string& each) { return other.count(each) != 0; });
}

/// Scalars that iterations of loops set.
NameSet computed_scalars(const Kernel& expanded) {
  NameSet result;
  for (const Instruction& each : expanded.instructions) {
    if (!each.within_inames.empty()) {
      for (const std::string& name : written_variables(each)) {
        const Temporary* temporary = find_temporary(expanded, name);
        if (temporary != nullptr && temporary->shape.empty()) {
          result.insert(name);
        }
      }
    }
  }
  return result;
}

/// Whether an index is found in arrays, `p[j]`, or in scalars that loops set. A quotient of inames
/// is not affine, but reaches a part of an axis.
bool is_computed(const Expr& index, const NameSet& computed) {
  return (!to_affine(index) && !accessed_arrays(index).empty()) ||
         have_any_in_common(free_names(index), computed);
}

/// None where no axis is gathered, or another index is not affine either.
std::vector<bool> gathered_axes(const ArrayAccess& access, const NameSet& computed) {
  std::vector<bool> gathered;
  for (const Expr& index : access.indices) {
    gathered.push_back(is_computed(index, computed));
    if (access.is_linear || (!gathered.back() && !to_affine(index))) {
      return {};
    }
  }
  const bool is_any = std::find(gathered.begin(), gathered.end(), true) != gathered.end();
  return is_any ? gathered : std::vector<bool>();
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
  const ArrayAccess& first = reads.front();
  if (!is_affine && gathered.empty()) {
    return first.indices == access.indices;
  }
  if (first.indices.size() != access.indices.size() ||
      gathered_axes(access, computed) != gathered || (is_affine && !are_affine(access))) {
    return false;
  }
  // nests that share no loop have copies of their own of what they look up
  const auto is_shared = [&](const std::string& iname) {
    return access.inames.count(iname) != 0 && hosts.count(iname) == 0;
  };
  if (!gathered.empty() && std::none_of(first.inames.begin(), first.inames.end(), is_shared)) {
    return false;
  }
  for (std::size_t axis = 0; axis < first.indices.size(); ++axis) {
    if (!is_gathered(axis) && !differ_by_constants(first.indices[axis], access.indices[axis])) {
      return false;
    }
  }
  return true;
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
  const NameSet computed = computed_scalars(expanded);
  const NameSet hosts = host_loops_of(expanded);
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
    AccessGroup group{{access}, {},   are_affine(access), gathered_axes(access, computed),
                      computed, hosts};
    group.is_affine = group.is_affine && group.gathered.empty();
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      for (const std::string& name : free_names(access.indices[axis])) {
        if (is_iname(expanded, name) && !group.is_gathered(axis)) {
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
