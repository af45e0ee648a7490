#include "rtcg/loopy/transform/rename_iname.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"

namespace rtcg::loopy {
namespace {

ConstraintSet renamed(const ConstraintSet& set, std::string_view old, const std::string& new_name) {
  return set.rename([&](const std::string& each) { return each == old ? new_name : each; });
}

bool implies_all(const ConstraintSet& set, const ConstraintSet& others) {
  return std::all_of(others.constraints().begin(), others.constraints().end(),
                     [&](const Constraint& each) { return set.implies(each); }) &&
         std::all_of(others.congruences().begin(), others.congruences().end(),
                     [&](const Congruence& each) { return set.implies(each); });
}

/// What is known around statements within `iname` but not `other`, with `iname` called `new_name`.
ConstraintSet known_within(const Kernel& kernel, std::string_view iname, std::string_view other,
                           const std::string& new_name) {
  ConstraintSet set = kernel.assumptions;
  set.add(find_home_domain(kernel, iname)->constraints);
  return renamed(set.project_out({std::string(other)}), iname, new_name);
}

/// Those of the constraints that decide which values `iname` takes: the ones on other inames of
/// its domain hold around statements that use these.
ConstraintSet bounds_in(const ConstraintSet& set, const Domain& domain, const std::string& iname) {
  const auto decides = [&](const Affine& expr) {
    return expr.coefficient(iname) != 0 ||
           std::none_of(domain.inames.begin(), domain.inames.end(),
                        [&](const std::string& each) { return expr.coefficient(each) != 0; });
  };
  ConstraintSet bounds;
  for (const Constraint& each : set.constraints()) {
    if (decides(each.expr)) {
      bounds.add(each);
    }
  }
  for (const Congruence& each : set.congruences()) {
    if (decides(each.expr)) {
      bounds.add(each);
    }
  }
  return bounds;
}

std::optional<Refusal> find_uniting_refusal(const Kernel& kernel, std::string_view iname,
                                            std::string_view other) {
  for (const Instruction& instruction : kernel.instructions) {
    const NameSet inames = used_inames(instruction);
    if (inames.count(iname) != 0 && inames.count(other) != 0) {
      return Refusal{"loopy.rename_iname.used_together",
                     fmt::format("'{}' cannot become '{}': statement '{}' uses both", iname, other,
                                 instruction.id)};
    }
  }
  const std::string common(other);
  const ConstraintSet old_known = known_within(kernel, iname, other, common);
  ConstraintSet new_known = known_within(kernel, other, iname, common);
  const Domain& old_home = *find_home_domain(kernel, iname);
  const Domain& new_home = *find_home_domain(kernel, other);
  if (&old_home != &new_home) {
    // no statement within `iname` is within these
    std::vector<std::string> others = new_home.inames;
    std::erase(others, common);
    new_known = new_known.project_out(others);
  }
  if (!implies_all(old_known, bounds_in(new_known, new_home, common)) ||
      !implies_all(new_known, bounds_in(old_known, old_home, common))) {
    return Refusal{
        "loopy.rename_iname.different_bounds",
        fmt::format("'{}' cannot become '{}': they do not take the same values", iname, other)};
  }
  return std::nullopt;
}

/// The old iname's own bounds go; other domains that mention it now mention the new one.
Kernel united(Kernel kernel, const std::string& iname, const std::string& other) {
  for (Domain& domain : kernel.domains) {
    const auto found = std::find(domain.inames.begin(), domain.inames.end(), iname);
    if (found != domain.inames.end()) {
      domain.inames.erase(found);
      domain.constraints = domain.constraints.project_out({iname});
    }
  }
  std::erase_if(kernel.domains, [](const Domain& domain) { return domain.inames.empty(); });
  kernel = replace_iname(std::move(kernel), iname, name(other), {other});
  return map_constraints(std::move(kernel),
                         [&](const ConstraintSet& set) { return renamed(set, iname, other); });
}

/// Why the statements of two loops cannot share one.
std::optional<Refusal> find_fusion_refusal(const Kernel& kernel, const std::string& iname,
                                           const std::string& other) {
  const Kernel fused = united(kernel, iname, other);
  const auto orders = iteration_orders(kernel, fused);
  if (!orders) {
    return std::nullopt;
  }
  const IterationOrder before = substitute(orders->before, {{iname, Affine(other)}});
  const auto why = find_reversed_dependence(fused, before, orders->after);
  return why ? std::optional(Refusal{
                   "loopy.rename_iname.carried_value",
                   fmt::format("loops '{}' and '{}' cannot become one: {}", iname, other, *why)})
             : std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view iname,
                                    std::string_view new_name) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.rename_iname.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (iname != new_name && is_iname(kernel, new_name)) {
    const std::optional<Refusal> refusal = find_uniting_refusal(kernel, iname, new_name);
    return refusal ? refusal
                   : find_fusion_refusal(kernel, std::string(iname), std::string(new_name));
  }
  if (new_name.empty() || why_not_new_name(kernel, new_name)) {
    return Refusal{"loopy.rename_iname.name_taken",
                   why_not_new_name(kernel, new_name)
                       .value_or(fmt::format("'{}' cannot have an empty name", iname))};
  }
  return std::nullopt;
}

}  // namespace

Kernel rename_iname(Kernel kernel, std::string_view iname, std::string_view new_name) {
  throw_if_refused(find_refusal(kernel, iname, new_name));
  const std::string old(iname);
  const std::string fresh(new_name);
  if (is_iname(kernel, fresh)) {
    kernel = united(std::move(kernel), old, fresh);
  } else {
    kernel = replace_iname(std::move(kernel), old, name(fresh), {fresh});
    if (const auto tag = kernel.iname_tags.find(old); tag != kernel.iname_tags.end()) {
      kernel.iname_tags[fresh] = tag->second;
    }
  }
  kernel.iname_tags.erase(old);
  kernel = map_constraints(std::move(kernel),
                           [&](const ConstraintSet& set) { return renamed(set, old, fresh); });
  record(kernel, "rename_iname", {old, fresh});
  return kernel;
}

std::optional<std::string> why_not_rename_iname(const Kernel& kernel, std::string_view iname,
                                                std::string_view new_name) {
  return reason_of(find_refusal(kernel, iname, new_name));
}

Kernel remove_unused_inames(Kernel kernel) {
  NameSet used;
  for (const Instruction& instruction : kernel.instructions) {
    used.merge(used_inames(instruction));
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    used.merge(reduction_inames(rule.body));
    used.merge(free_names(rule.body));
  }
  used = with_parent_inames(kernel, used);
  for (Domain& domain : kernel.domains) {
    std::vector<std::string> unused;
    for (const std::string& iname : domain.inames) {
      if (used.count(iname) == 0) {
        unused.push_back(iname);
        kernel.iname_tags.erase(iname);
      }
    }
    std::erase_if(domain.inames, [&](const std::string& each) { return used.count(each) == 0; });
    if (!unused.empty()) {
      domain.constraints = domain.constraints.project_out(unused);
    }
  }
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    std::erase_if(priority, [&](const std::string& each) { return used.count(each) == 0; });
  }
  std::erase_if(kernel.loop_priorities, [](const auto& priority) { return priority.size() < 2; });
  std::erase_if(kernel.domains, [](const Domain& domain) { return domain.inames.empty(); });
  record(kernel, "remove_unused_inames", {});
  return kernel;
}

}  // namespace rtcg::loopy
