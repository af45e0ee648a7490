#include "rtcg/loopy/transform/copy_inames.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool has_any(const Affine& expr, const NewNames& names) {
  return std::any_of(expr.terms().begin(), expr.terms().end(),
                     [&](const Affine::Term& term) { return names.count(term.name) != 0; });
}

/// What `set` says of the new inames, with their names.
ConstraintSet constraints_on_copies(const ConstraintSet& set, const NewNames& names) {
  ConstraintSet result;
  const auto new_name = [&](const std::string& old) {
    const auto found = names.find(old);
    return found == names.end() ? old : found->second;
  };
  for (const Constraint& each : set.constraints()) {
    if (has_any(each.expr, names)) {
      result.add(Constraint{each.expr.rename(new_name), each.is_equality});
    }
  }
  for (const Congruence& each : set.congruences()) {
    if (has_any(each.expr, names)) {
      result.add(Congruence{each.expr.rename(new_name), each.modulus});
    }
  }
  return result;
}

}  // namespace

Kernel with_copied_inames(Kernel kernel, const NewNames& names, const NameSet& used) {
  std::vector<Domain> copies;
  for (const Domain& domain : kernel.domains) {
    Domain copy;
    std::vector<std::string> absent;
    for (const std::string& iname : domain.inames) {
      if (const auto found = names.find(iname); found != names.end()) {
        copy.inames.push_back(found->second);
      } else if (used.count(iname) == 0) {
        absent.push_back(iname);
      }
    }
    if (!copy.inames.empty()) {
      copy.constraints = constraints_on_copies(
          absent.empty() ? domain.constraints : domain.constraints.project_out(absent), names);
      copies.push_back(std::move(copy));
    }
  }
  kernel.domains.insert(kernel.domains.end(), copies.begin(), copies.end());
  for (const auto& [iname, copy] : names) {
    add_call_loops(kernel, iname, {copy});
  }
  return kernel;
}

bool is_tied(const Kernel& kernel, const std::string& iname, const NameSet& others,
             const NameSet& used) {
  const Domain* home = find_home_domain(kernel, iname);
  const auto is_here = [&](const std::string& each) { return others.count(each) != 0; };
  if (home == nullptr || std::none_of(home->inames.begin(), home->inames.end(), is_here)) {
    return false;
  }
  std::vector<std::string> absent;
  std::copy_if(
      home->inames.begin(), home->inames.end(), std::back_inserter(absent),
      [&](const auto& each) { return each != iname && !is_here(each) && used.count(each) == 0; });
  const ConstraintSet set =
      absent.empty() ? home->constraints : home->constraints.project_out(absent);
  const auto ties = [&](const auto& each) {
    const Affine::Terms terms = each.expr.terms();
    return each.expr.coefficient(iname) != 0 &&
           std::any_of(terms.begin(), terms.end(),
                       [&](const auto& term) { return term.name != iname && is_here(term.name); });
  };
  return std::any_of(set.constraints().begin(), set.constraints().end(), ties) ||
         std::any_of(set.congruences().begin(), set.congruences().end(), ties);
}

std::string add_counted_iname(Kernel& kernel, NameGenerator& names, const std::string& base,
                              std::int64_t length, const InameTag& tag) {
  const std::string iname = names.make(base);
  Domain domain;
  domain.inames = {iname};
  domain.constraints.add_nonnegative(Affine(iname));
  domain.constraints.add_nonnegative(Affine(length - 1) - Affine(iname));
  kernel.domains.push_back(std::move(domain));
  if (tag.kind != AxisKind::sequential) {
    kernel.iname_tags.insert_or_assign(iname, tag);
  }
  return iname;
}

std::string copy_name(NameGenerator& names, const std::string& iname) {
  for (int number = 0;; ++number) {
    const std::string candidate = fmt::format("{}_{}", iname, number);
    if (names.reserve(candidate)) {
      return candidate;
    }
  }
}

NameSet tied_reduction_inames(const Kernel& kernel, const Expr& reduction, NameSet inames) {
  const NameSet within = reduction_inames(reduction);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Domain& domain : kernel.domains) {
      for (const Constraint& constraint : domain.constraints.constraints()) {
        const Affine::Terms terms = constraint.expr.terms();
        const bool is_tied = std::any_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
          return inames.count(term.name) != 0;
        });
        for (const Affine::Term& term : terms) {
          changed = (is_tied && within.count(term.name) != 0 && inames.insert(term.name).second) ||
                    changed;
        }
      }
    }
  }
  return inames;
}

Kernel with_tagged_copies(Kernel kernel, const NewNames& names, const NameSet& used) {
  kernel = with_copied_inames(std::move(kernel), names, used);
  for (const auto& [old, fresh] : names) {
    if (const InameTag tag = tag_of(kernel, old); tag.kind != AxisKind::sequential) {
      kernel.iname_tags[fresh] = tag;
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
