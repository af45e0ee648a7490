#include "rtcg/loopy/transform/loosen_bounds.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// The inames of its domain that are reduced together with the iname: they are the loops within it.
std::vector<std::string> loops_within(const Kernel& kernel, const std::string& iname) {
  NameSet together;
  const auto look = [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Reduction* sum = get_if<Reduction>(part);
      if (sum != nullptr &&
          std::find(sum->inames.begin(), sum->inames.end(), iname) != sum->inames.end()) {
        together.insert(sum->inames.begin(), sum->inames.end());
      }
      return true;
    });
  };
  for (const Instruction& each : kernel.instructions) {
    for_each_expression(each, look);
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    look(rule.body);
  }
  std::vector<std::string> within;
  for (const std::string& each : find_home_domain(kernel, iname)->inames) {
    if (each != iname && together.count(each) != 0) {
      within.push_back(each);
    }
  }
  return within;
}

/// The inames of its domain that no statement uses with the iname: its loops cannot test them.
std::vector<std::string> strangers(const Kernel& kernel, const std::string& iname) {
  NameSet known;
  const Kernel expanded = expand_subst(kernel);
  for (const Instruction& each : expanded.instructions) {
    NameSet used = used_inames(each);
    if (used.count(iname) != 0) {
      known.merge(used);
    }
  }
  std::vector<std::string> result = find_home_domain(kernel, iname)->inames;
  std::erase_if(result, [&](const std::string& each) { return known.count(each) != 0; });
  return result;
}

/// The inames of its domain that are reduced within the iname's loops by some statements that use
/// it, and are nothing to others.
std::vector<std::string> sums_within(const Kernel& kernel, const std::string& iname) {
  NameSet known;
  NameSet reduced;
  NameSet missing;
  const Kernel expanded = expand_subst(kernel);
  const std::vector<std::string>& home = find_home_domain(kernel, iname)->inames;
  for (const Instruction& each : expanded.instructions) {
    const NameSet used = used_inames(each);
    if (used.count(iname) == 0) {
      continue;
    }
    const NameSet sums = reduction_inames(each);
    for (const std::string& other : home) {
      const bool is_reduced = sums.count(other) != 0 && each.within_inames.count(other) == 0;
      (used.count(other) == 0 ? missing : is_reduced ? reduced : known).insert(other);
    }
  }
  std::vector<std::string> result;
  std::copy_if(home.begin(), home.end(), std::back_inserter(result), [&](const std::string& each) {
    return missing.count(each) != 0 && reduced.count(each) != 0 && known.count(each) == 0;
  });
  return result;
}

/// The bounds of a loop by inames, from below or from above.
std::vector<Constraint> bounds_by_inames(const Kernel& kernel, const ConstraintSet& set,
                                         const std::string& loop, bool is_lower) {
  std::vector<Constraint> result = set.constraints();
  std::erase_if(result, [&](const Constraint& each) {
    const Affine::Terms terms = each.expr.terms();
    return each.is_equality || each.expr.coefficient(loop) == 0 ||
           (each.expr.coefficient(loop) > 0) != is_lower ||
           std::none_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
             return term.name != loop && is_iname(kernel, term.name);
           });
  });
  return result;
}

/// Without what relates other loops: constraints of the loop and of `within`, and those of names
/// that are left out by themselves.
ConstraintSet own_constraints(const Kernel& kernel, const ConstraintSet& all,
                              const std::string& loop, const NameSet& within,
                              const std::vector<std::string>& left_out) {
  const ConstraintSet needed = all.without_redundancies();
  ConstraintSet result;
  for (const Constraint& each : needed.constraints()) {
    const Affine::Terms terms = each.expr.terms();
    const bool is_of_loop = std::any_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
      return term.name == loop || within.count(term.name) != 0;
    });
    if (is_of_loop || std::all_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
          return !is_iname(kernel, term.name) ||
                 std::find(left_out.begin(), left_out.end(), term.name) != left_out.end();
        })) {
      result.add(each);
    }
  }
  return result;
}

/// What constraints say about a loop without other names. Where several bounds by inames are left
/// on one side, those that come through other loops are dropped: with `i <= j <= k` the loop of k
/// runs from what j says, and not from what i says through j, too, which would leave no beginning
/// that is one affine form.
/// @param within  the loops of its reductions that can test the rest; they are among `left_out`
ConstraintSet outer_bounds(const Kernel& kernel, const ConstraintSet& all, const std::string& loop,
                           const NameSet& within, const std::vector<std::string>& left_out) {
  ConstraintSet projected = all.project_out(left_out).without_redundancies();
  for (const bool is_lower : {true, false}) {
    const std::vector<Constraint> bounds = bounds_by_inames(kernel, projected, loop, is_lower);
    if (bounds.size() < 2) {
      continue;
    }
    const std::vector<Constraint> own =
        bounds_by_inames(kernel,
                         own_constraints(kernel, all, loop, within, left_out)
                             .project_out(left_out)
                             .without_redundancies(),
                         loop, is_lower);
    if (own.empty()) {
      continue;
    }
    ConstraintSet fewer;
    for (const Constraint& each : projected.constraints()) {
      if (std::find(bounds.begin(), bounds.end(), each) == bounds.end()) {
        fewer.add(each);
      }
    }
    for (const Constraint& each : own) {
      fewer.add(each);
    }
    projected = std::move(fewer);
  }
  ConstraintSet result;
  for (const Constraint& each : projected.constraints()) {
    if (each.expr.coefficient(loop) != 0) {
      result.add(each);
    }
  }
  return result;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::string& iname,
                                    const std::vector<std::string>& from) {
  std::vector<std::string> all = from;
  all.push_back(iname);
  for (const std::string& each : all) {
    if (!is_iname(kernel, each)) {
      return Refusal{"loopy.loosen_bounds.unknown_iname", unknown_iname_text(kernel, each)};
    }
  }
  std::vector<std::string> group = loops_within(kernel, iname);
  for (const std::string& each : from) {
    if (each == iname || std::find(group.begin(), group.end(), each) != group.end()) {
      return Refusal{"loopy.loosen_bounds.not_possible",
                     fmt::format("'{}' is a loop of the same reduction as '{}': only those around "
                                 "it can be left out",
                                 each, iname)};
    }
  }
  if (group.empty()) {
    return Refusal{"loopy.loosen_bounds.not_possible",
                   fmt::format("no other loop of a reduction could test what bounds '{0}'; split "
                               "'{0}' first",
                               iname)};
  }
  group.push_back(iname);
  if (const auto user = find_use_apart(kernel, group)) {
    return Refusal{"loopy.loosen_bounds.not_possible",
                   fmt::format("{} is not within all of {}: what bounds '{}' has to be tested "
                               "further in",
                               *user, list_text(group), iname)};
  }
  return std::nullopt;
}

}  // namespace

Kernel loosen_bounds(Kernel kernel, std::string_view iname, const std::vector<std::string>& from) {
  const std::string loop(iname);
  throw_if_refused(find_refusal(kernel, loop, from));
  const auto home = std::find_if(kernel.domains.begin(), kernel.domains.end(), [&](const auto& d) {
    return std::find(d.inames.begin(), d.inames.end(), loop) != d.inames.end();
  });
  const bool depends = std::any_of(from.begin(), from.end(), [&](const std::string& each) {
    return home->constraints.mentions(each);
  });
  if (depends) {
    Domain sums{sums_within(kernel, loop), home->constraints};
    std::vector<std::string> outside = strangers(kernel, loop);
    outside.insert(outside.end(), sums.inames.begin(), sums.inames.end());
    Domain inner{loops_within(kernel, loop), home->constraints.project_out(outside)};
    Domain around{home->inames, {}};
    std::erase(around.inames, loop);
    for (const Domain* each : {&inner, &sums}) {
      std::erase_if(around.inames, [&](const std::string& name) {
        return std::find(each->inames.begin(), each->inames.end(), name) != each->inames.end();
      });
    }
    std::vector<std::string> others = from;
    others.insert(others.end(), inner.inames.begin(), inner.inames.end());
    others.insert(others.end(), sums.inames.begin(), sums.inames.end());
    ConstraintSet all = constraints_of(kernel, {from.begin(), from.end()});
    all.add(home->constraints);
    NameSet within(inner.inames.begin(), inner.inames.end());
    within.insert(sums.inames.begin(), sums.inames.end());
    const Domain outer{{loop}, outer_bounds(kernel, all, loop, within, others)};
    std::vector<Domain> parts;
    if (!around.inames.empty()) {
      others = inner.inames;
      others.insert(others.end(), sums.inames.begin(), sums.inames.end());
      others.push_back(loop);
      around.constraints = home->constraints.project_out(others);
      parts.push_back(std::move(around));
    }
    parts.push_back(outer);
    parts.push_back(std::move(inner));
    if (!sums.inames.empty()) {
      parts.push_back(std::move(sums));
    }
    const auto place = kernel.domains.erase(home);
    kernel.domains.insert(place, parts.begin(), parts.end());
  }
  record(kernel, "loosen_bounds", {loop, list_text(from)});
  return kernel;
}

}  // namespace rtcg::loopy
