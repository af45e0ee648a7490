#include "rtcg/loopy/create/keep_projections.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/polyhedral/set_union.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

/// Whether integers between the bounds of the name may be missing: Fourier and Motzkin are right
/// where each lower bound meets each upper one with a coefficient of 1.
bool may_leave_gaps(const ConstraintSet& set, const std::string& name) {
  std::int64_t lower = 1;
  std::int64_t upper = 1;
  for (const Constraint& each : set.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(name);
    if (coefficient > 0 || each.is_equality) {
      lower = std::max(lower, std::abs(coefficient));
    }
    if (coefficient < 0 || each.is_equality) {
      upper = std::max(upper, std::abs(coefficient));
    }
  }
  return lower > 1 && upper > 1;
}

bool has_congruence(const ConstraintSet& set, const std::string& name) {
  return std::any_of(set.congruences().begin(), set.congruences().end(),
                     [&](const Congruence& each) { return each.expr.coefficient(name) != 0; });
}

/// Whether elimination may find more than there is.
bool leaves_out_some(const ConstraintSet& set, const std::string& name) {
  return may_leave_gaps(set, name) || has_congruence(set, name);
}

/// Whether each point between the bounds of the name leaves room for an integer.
/// @source Pugh 1992, The Omega test, 2.3.1, "dark shadow"
bool always_has_room(const ConstraintSet& set, const std::string& name) {
  const ConstraintSet around = set.project_out({name});
  for (const Constraint& low : set.constraints()) {
    const std::int64_t a = low.expr.coefficient(name);
    if (a != 0 && low.is_equality) {
      return false;
    }
    for (const Constraint& high : set.constraints()) {
      const std::int64_t b = -high.expr.coefficient(name);
      if (a > 0 && b > 0 &&
          !around.implies_nonnegative(high.expr * a + low.expr * b - (a - 1) * (b - 1))) {
        return false;
      }
    }
  }
  return !has_congruence(set, name);
}

/// Whether the sets together have all of the points.
bool are_all_of(SetUnion sets, const ConstraintSet& points) {
  const std::size_t count = disjoint_parts(sets).size();
  sets.push_back(points);
  return disjoint_parts(sets).size() == count;
}

/// The set without the names; nothing where it would be several sets.
std::optional<ConstraintSet> projection(ConstraintSet set, std::vector<std::string> names) {
  while (!names.empty()) {
    // those that leave no gaps first: others may have none then
    auto next = std::find_if(names.begin(), names.end(), [&](const std::string& each) {
      return !leaves_out_some(set, each) || always_has_room(set, each);
    });
    if (next != names.end()) {
      set = set.project_out({*next});
    } else {
      next = names.begin();
      const std::optional<SetUnion> sets = without_existing(set, *next);
      const ConstraintSet between = set.project_out({*next});
      if (!sets || (sets->size() != 1 && !are_all_of(*sets, between))) {
        return std::nullopt;
      }
      set = sets->size() == 1 ? sets->front() : between;
    }
    names.erase(next);
  }
  return set;
}

class Projections {
 public:
  explicit Projections(Kernel& kernel) : kernel_(kernel), described_(kernel.domains) {}

  /// What runs once for each point of the inames.
  void look_at(const Instruction& instruction, const NameSet& inames) {
    const NameSet active = with_parent_inames(kernel_, inames);
    for (std::size_t i = 0; i < described_.size(); ++i) {
      std::vector<std::string> unused;
      bool is_used = false;
      bool has_gaps = false;
      for (const std::string& each : described_[i].inames) {
        if (active.count(each) != 0) {
          is_used = true;
        } else {
          unused.push_back(each);
          has_gaps = has_gaps || leaves_out_some(described_[i].constraints, each);
        }
      }
      if (is_used && has_gaps) {
        keep(instruction, described_[i].constraints, unused, kernel_.domains[i].constraints);
      }
    }
  }

 private:
  static void keep(const Instruction& instruction, const ConstraintSet& described,
                   const std::vector<std::string>& unused, ConstraintSet& stated) {
    const std::optional<ConstraintSet> exact = projection(described, unused);
    if (!exact) {
      refuse(instruction, unused);
    }
    const ConstraintSet known = stated.project_out(unused);
    for (const Constraint& each : exact->constraints()) {
      if (!known.implies(each)) {
        stated.add(each);
      }
    }
    for (const Congruence& each : exact->congruences()) {
      if (!known.implies(each)) {
        stated.add(each);
      }
    }
  }

  [[noreturn]] static void refuse(const Instruction& instruction,
                                  const std::vector<std::string>& unused) {
    throw InvalidInput(
        "loopy.make_kernel.partial_use",
        fmt::format(
            "statement '{0}' uses other inames of a domain, but not '{1}', and the values "
            "for which there is a '{1}' form several sets: give the statement inames of its "
            "own, in a domain with 'exists {1}: ...'",
            instruction.id, unused.front()));
  }

  Kernel& kernel_;
  const std::vector<Domain> described_;
};

}  // namespace

Kernel with_projections(Kernel kernel) {
  const bool has_factors =
      std::any_of(kernel.domains.begin(), kernel.domains.end(), [](const Domain& domain) {
        return domain.inames.size() > 1 &&
               std::any_of(domain.inames.begin(), domain.inames.end(), [&](const auto& each) {
                 return leaves_out_some(domain.constraints, each);
               });
      });
  if (!has_factors) {
    return kernel;
  }
  const Kernel expanded = expand_subst(kernel);
  Projections projections(kernel);
  for (const Instruction& instruction : expanded.instructions) {
    projections.look_at(instruction, instruction.within_inames);
    const auto look = [&](const auto& self, const Expr& expr, const NameSet& around) -> void {
      walk(expr, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        if (reduction == nullptr) {
          return true;
        }
        NameSet inner = around;
        inner.insert(reduction->inames.begin(), reduction->inames.end());
        projections.look_at(instruction, inner);
        for (const Expr& operand : reduction->operands) {
          self(self, operand, inner);
        }
        return false;
      });
    };
    for_each_expression(instruction,
                        [&](const Expr& expr) { look(look, expr, instruction.within_inames); });
  }
  return kernel;
}

}  // namespace rtcg::loopy::detail
