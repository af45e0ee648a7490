#include "rtcg/loopy/transform/iname_use.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Whether the inames occur in all-or-nothing fashion.
bool is_all_or_none(const NameSet& used, const std::vector<std::string>& inames) {
  const auto count = std::count_if(inames.begin(), inames.end(), [&](const std::string& iname) {
    return used.count(iname) != 0;
  });
  return count == 0 || count == static_cast<std::ptrdiff_t>(inames.size());
}

bool are_reduced_together(const Expr& expr, const std::vector<std::string>& inames) {
  bool result = true;
  walk(expr, [&](const Expr& part) {
    if (const Reduction* reduction = get_if<Reduction>(part)) {
      result = result &&
               is_all_or_none(NameSet(reduction->inames.begin(), reduction->inames.end()), inames);
    }
    return result;
  });
  return result;
}

}  // namespace

std::optional<std::string> find_use_apart(const Kernel& kernel,
                                          const std::vector<std::string>& inames) {
  for (const Instruction& instruction : kernel.instructions) {
    bool is_fine = is_all_or_none(instruction.within_inames, inames);
    for_each_expression(instruction, [&](const Expr& expr) {
      is_fine = is_fine && are_reduced_together(expr, inames);
    });
    if (!is_fine) {
      return fmt::format("statement '{}'", instruction.id);
    }
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    if (!are_reduced_together(rule.body, inames)) {
      return fmt::format("rule '{}'", rule.name);
    }
  }
  return std::nullopt;
}

NameSet used_inames(const Instruction& instruction) {
  NameSet inames = reduction_inames(instruction);
  inames.insert(instruction.within_inames.begin(), instruction.within_inames.end());
  return inames;
}

NameSet names_in_bounds(const Kernel& kernel, const NameSet& sums) {
  NameSet found;
  const auto look = [&](const Affine& expr) {
    const Affine::Terms terms = expr.terms();
    if (std::none_of(terms.begin(), terms.end(),
                     [&](const Affine::Term& term) { return sums.count(term.name) != 0; })) {
      return;
    }
    for (const Affine::Term& term : terms) {
      if (sums.count(term.name) == 0 &&
          (is_iname(kernel, term.name) || find_temporary(kernel, term.name) != nullptr)) {
        found.insert(term.name);
      }
    }
  };
  for (const Domain& domain : kernel.domains) {
    for (const Constraint& each : domain.constraints.constraints()) {
      look(each.expr);
    }
    for (const Congruence& each : domain.constraints.congruences()) {
      look(each.expr);
    }
  }
  return found;
}

}  // namespace rtcg::loopy
