// Which constraints have to be tested, and where in the tree.
#include <algorithm>

#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {

Guards Emitter::needed_guards(const LoopTreeNode& node, const EmitContext& place,
                              LevelGuards& known) {
  if (is<BarrierNode>(node)) {
    return {};
  }
  std::optional<Guards> common;
  for (const std::size_t statement : statements_in(node)) {
    Guards own = needed_by(statement, facts_.guards(statement), place, known);
    if (!common) {
      common = std::move(own);
    } else {
      std::erase_if(*common, [&](const Constraint& each) {
        return std::find(own.begin(), own.end(), each) == own.end();
      });
    }
    if (common->empty()) {
      break;
    }
  }
  if (common && contains_barrier(node)) {
    std::erase_if(*common, [&](const Constraint& each) { return differs_by_thread(each.expr); });
  }
  return common.value_or(Guards{});
}

const Guards& Emitter::needed_of(const ConstraintSet& constraints, const EmitContext& place,
                                 LevelGuards& known) {
  const auto found = known.find(&constraints);
  if (found != known.end()) {
    return found->second;
  }
  Guards needed;
  const ExprScope scope = scope_of(place);
  for (const Constraint& constraint : constraints.constraints()) {
    if (!is_testable(constraint.expr, place)) {
      continue;
    }
    const Constraint here{with_values(scope, constraint.expr), constraint.is_equality};
    if (!place.context.implies(here)) {
      needed.push_back(here);
    }
  }
  return known.emplace(&constraints, std::move(needed)).first->second;
}

Guards Emitter::needed_by(std::size_t statement, const ConstraintSet& constraints,
                          const EmitContext& place, LevelGuards& known) {
  Guards needed = needed_of(constraints, place, known);
  for (const auto& [kind, number] : unused_axes(statement)) {
    const HardwareAxis* axis = axes_.find(kind, number);
    if (kind == AxisKind::block && splits_threads() && !place.in_threads) {
      continue;
    }
    const auto first = to_affine(axis->first);
    const Constraint at_first{Affine(axis->variable) - first.value_or(Affine(0)), true};
    if (!place.context.implies(at_first)) {
      needed.push_back(at_first);
    }
  }
  return needed;
}

void Emitter::settle_lanes(std::size_t statement, const EmitContext& place) {
  unsettled_.clear();
  const std::vector<std::string>& lanes = facts_.lanes(statement);
  if (lanes.empty()) {
    return;
  }
  const ExprScope scope = scope_of(place);
  for (const Constraint& constraint : facts_.guards(statement).constraints()) {
    Affine worst = constraint.expr;
    bool has_lane = false;
    bool has_range = !constraint.is_equality;
    for (const std::string& lane : lanes) {
      const std::int64_t coefficient = constraint.expr.coefficient(lane);
      has_lane = has_lane || coefficient != 0;
      if (coefficient == 0 || !has_range) {
        continue;
      }
      const auto range = constant_range(lane);
      has_range = range.has_value();
      if (has_range) {
        worst = worst.substitute(lane, coefficient > 0 ? range->first : range->second);
      }
    }
    const auto is_settled = [&] {
      return has_range && is_testable(worst, place) &&
             place.context.implies_nonnegative(with_values(scope, worst));
    };
    if (has_lane && !is_settled()) {
      unsettled_.push_back(&constraint);
    }
  }
}

Guards Emitter::needed_by_lanes(const EmitContext& place) {
  Guards needed;
  if (unsettled_.empty()) {
    return needed;
  }
  const ExprScope scope = scope_of(place);
  for (const Constraint* constraint : unsettled_) {
    if (!is_testable(constraint->expr, place)) {
      continue;
    }
    const Constraint here{with_values(scope, constraint->expr), constraint->is_equality};
    if (!place.context.implies(here)) {
      needed.push_back(here);
    }
  }
  return needed;
}

const std::vector<std::pair<AxisKind, int>>& Emitter::unused_axes(std::size_t statement) {
  const auto known = unused_axes_.find(statement);
  if (known != unused_axes_.end()) {
    return known->second;
  }
  std::vector<std::pair<AxisKind, int>>& unused = unused_axes_[statement];
  if (!facts_.writes_shared(statement)) {
    return unused;
  }
  const Instruction& instruction = kernel_.instructions[statement];
  for (const HardwareAxis& axis : axes_.axes) {
    const bool is_used =
        std::any_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                    [&](const std::string& iname) {
                      return tag_of(kernel_, iname) == InameTag{axis.kind, axis.number};
                    });
    if (!is_used) {
      unused.emplace_back(axis.kind, axis.number);
    }
  }
  const auto is_of_block = [&](const std::string& name) {
    const Temporary* temporary = find_temporary(kernel_, name);
    return temporary != nullptr && temporary->address_space != AddressSpace::global;
  };
  if (!unused.empty()) {
    const NameSet written = written_variables(instruction);
    if (std::all_of(written.begin(), written.end(), is_of_block)) {
      // each block has its own
      std::erase_if(unused, [](const auto& axis) { return axis.first == AxisKind::grid; });
    }
  }
  return unused;
}

bool Emitter::is_testable(const Affine& expr, const EmitContext& place) const {
  return std::all_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
    return place.known.count(term.name) != 0 || !is_iname(kernel_, term.name);
  });
}

bool Emitter::differs_by_thread(const Affine& expr) const {
  return std::any_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
    return tag_of(kernel_, term.name).kind == AxisKind::block || facts_.is_varying(term.name);
  });
}

Guards Emitter::guards_of_run(const LoopTree& nodes, const std::vector<Guards>& needed,
                              std::size_t first, const EmitContext& place, LevelGuards& known) {
  std::size_t in_need = first;
  while (in_need < nodes.size() && needed[in_need].empty()) {
    if (is<BarrierNode>(nodes[in_need]) || !has_lane_domain(nodes[in_need])) {
      return {};
    }
    ++in_need;
  }
  if (in_need == nodes.size()) {
    return {};
  }
  for (std::size_t before = first; before < in_need; ++before) {
    if (!may_stand_under(nodes[before], needed[in_need], place, known)) {
      return {};
    }
  }
  return needed[in_need];
}

bool Emitter::has_lane_domain(const LoopTreeNode& node) const {
  const std::vector<std::size_t> statements = statements_in(node);
  return std::all_of(statements.begin(), statements.end(),
                     [&](std::size_t statement) { return facts_.is_relaxed(statement); });
}

bool Emitter::may_stand_under(const LoopTreeNode& node, const Guards& guards,
                              const EmitContext& place, LevelGuards& known) {
  if (is<BarrierNode>(node)) {
    return false;
  }
  if (contains_barrier(node) && std::any_of(guards.begin(), guards.end(), [&](const auto& each) {
        return differs_by_thread(each.expr);
      })) {
    return false;
  }
  const std::vector<std::size_t> statements = statements_in(node);
  return std::all_of(statements.begin(), statements.end(), [&](std::size_t statement) {
    const ConstraintSet& domain = facts_.domain(statement);
    const bool has_all_axes = unused_axes(statement).empty();
    const Guards by_axes = has_all_axes ? Guards{} : needed_by(statement, domain, place, known);
    const Guards& own = has_all_axes ? needed_of(domain, place, known) : by_axes;
    return std::all_of(guards.begin(), guards.end(), [&](const Constraint& each) {
      return std::find(own.begin(), own.end(), each) != own.end();
    });
  });
}

}  // namespace rtcg::loopy
