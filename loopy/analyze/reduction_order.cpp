#include "rtcg/loopy/analyze/reduction_order.h"

#include <algorithm>

#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

/// Two elements of a reduction.
class ElementPair {
 public:
  ElementPair(const Kernel& kernel, const Reduction& reduction) : reduction_(reduction) {
    NameSet inames(reduction.inames.begin(), reduction.inames.end());
    inames = with_parent_inames(kernel, inames);
    ConstraintSet range = constraints_of(kernel, inames);
    // what inames around the reduction and its own have in common does not count
    Inames others = range.names();
    std::erase_if(others,
                  [&](const std::string& name) { return !is_iname(kernel, name) || is_own(name); });
    range = range.project_out(others);
    both_ = range;
    both_.add(range.rename([&](const std::string& name) { return other(name); }));
    Substitution others_values;
    for (const std::string& iname : reduction.inames) {
      others_values.emplace(iname, Name{other(iname)});
    }
    for (const Expr& value : reduction.order) {
      order_.push_back({index_cases(value), index_cases(substitute(value, others_values))});
    }
  }

  /// Whether the order is that of the iname where those of `outer` agree.
  [[nodiscard]] bool ascends(const Inames& outer, const std::string& iname) const {
    ConstraintSet pair = both_;
    for (const std::string& each : outer) {
      pair.add_zero(Affine(each) - Affine(other(each)));
    }
    pair.add_nonnegative(Affine(other(iname)) - Affine(iname) - 1);
    return !may_be_reversed(pair, 0);
  }

 private:
  /// A value of the order, for either element; empty if nothing is known of it.
  struct Values {
    std::vector<IndexCase> first;
    std::vector<IndexCase> second;
  };

  [[nodiscard]] bool is_own(const std::string& name) const {
    return std::find(reduction_.inames.begin(), reduction_.inames.end(), name) !=
           reduction_.inames.end();
  }
  [[nodiscard]] std::string other(const std::string& name) const {
    return is_own(name) ? name + " of the other" : name;  // no name of a kernel
  }

  /// Whether the first element of a pair may come after the second one, where the values of the
  /// order before `place` are equal.
  [[nodiscard]] bool may_be_reversed(const ConstraintSet& pair, std::size_t place) const {
    if (place == order_.size()) {
      return false;
    }
    const Values& values = order_[place];
    if (values.first.empty()) {
      return true;
    }
    return std::any_of(values.first.begin(), values.first.end(), [&](const IndexCase& first) {
      return std::any_of(values.second.begin(), values.second.end(), [&](const IndexCase& second) {
        ConstraintSet reversed = pair;
        reversed.add(first.context);
        reversed.add(second.context);
        ConstraintSet equal = reversed;
        reversed.add_nonnegative(first.value - second.value - 1);
        equal.add_zero(first.value - second.value);
        return !reversed.is_empty() || (!equal.is_empty() && may_be_reversed(equal, place + 1));
      });
    });
  }

  const Reduction& reduction_;
  ConstraintSet both_;
  std::vector<Values> order_;
};

}  // namespace

std::optional<Inames> levels_in_order(const Kernel& kernel, const Reduction& reduction,
                                      const Inames& preferred) {
  if (preferred.size() == 1 && reduction.order == std::vector<Expr>{Name{preferred.front()}}) {
    return preferred;
  }
  const ElementPair pair(kernel, reduction);
  Inames open = preferred;
  Inames levels;
  while (!open.empty()) {
    const auto next = std::find_if(open.begin(), open.end(), [&](const std::string& iname) {
      return pair.ascends(levels, iname);
    });
    if (next == open.end()) {
      return std::nullopt;
    }
    levels.push_back(*next);
    open.erase(next);
  }
  return levels;
}

std::optional<Inames> outermost_levels(const Kernel& kernel, const Reduction& reduction,
                                       const Inames& outer) {
  Inames preferred = outer;
  for (const std::string& iname : reduction.inames) {
    if (std::find(outer.begin(), outer.end(), iname) == outer.end()) {
      preferred.push_back(iname);
    }
  }
  auto levels = levels_in_order(kernel, reduction, preferred);
  if (levels) {
    levels->resize(outer.size());
  }
  const bool are_outer = levels && std::is_permutation(outer.begin(), outer.end(), levels->begin());
  return are_outer ? levels : std::nullopt;
}

}  // namespace rtcg::loopy
