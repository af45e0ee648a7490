#include "rtcg/loopy/codegen/level_guards.h"

#include <algorithm>

namespace rtcg::loopy {
namespace {

bool contains(const Guards& guards, const Constraint& guard) {
  return std::find(guards.begin(), guards.end(), guard) != guards.end();
}

Guards in_both(Guards ones, const Guards& others) {
  std::erase_if(ones, [&](const Constraint& each) { return !contains(others, each); });
  return ones;
}

}  // namespace

LevelGuards::LevelGuards(const LaunchFacts& launch, const LoopTree& nodes,
                         const EmitContext& context)
    : launch_(launch), nodes_(nodes), context_(context) {
  for (const LoopTreeNode& node : nodes) {
    needed_.push_back(of_node(node));
  }
}

Guards LevelGuards::of_node(const LoopTreeNode& node) {
  if (is<BarrierNode>(node)) {
    return {};
  }
  const std::vector<std::size_t> statements = statements_in(node);
  // a loop in which nothing else is seen outside is tested as a whole, not each iteration
  const auto is_relaxed = [&](std::size_t each) { return launch_.facts.is_relaxed(each); };
  const bool is_whole = is<LoopNode>(node) && !contains_barrier(node) &&
                        std::any_of(statements.begin(), statements.end(),
                                    [&](std::size_t each) {
                                      return is_relaxed(each) && launch_.facts.hands_on(each);
                                    }) &&
                        !std::all_of(statements.begin(), statements.end(), is_relaxed);
  std::optional<Guards> common;
  for (const std::size_t statement : statements) {
    Guards own = of_statement(statement, is_whole && is_relaxed(statement)
                                             ? launch_.facts.domain(statement)
                                             : launch_.facts.guards(statement));
    common = common ? in_both(*std::move(common), own) : std::move(own);
    if (common->empty()) {
      break;
    }
  }
  if (common && contains_barrier(node)) {
    std::erase_if(*common,
                  [&](const Constraint& each) { return launch_.differs_by_thread(each.expr); });
  }
  return std::move(common).value_or(Guards{});
}

const Guards& LevelGuards::of_constraints(const ConstraintSet& constraints) {
  const auto found = known_.find(&constraints);
  if (found != known_.end()) {
    return found->second;
  }
  Guards needed;
  for (const Constraint& constraint : constraints.constraints()) {
    if (!launch_.is_testable(constraint.expr, context_)) {
      continue;
    }
    Constraint here = with_values(context_.values, constraint);
    if (!context_.assumptions.implies(here)) {
      needed.push_back(std::move(here));
    }
  }
  return known_.emplace(&constraints, std::move(needed)).first->second;
}

Guards LevelGuards::of_statement(std::size_t statement, const ConstraintSet& constraints) {
  Guards needed = of_constraints(constraints);
  for (const HardwareAxis* axis : launch_.unused_axes(statement)) {
    if (axis->kind == AxisKind::block && !launch_.thread_loops.empty() && !context_.in_threads) {
      continue;
    }
    const Constraint at_first{Affine(axis->variable) - to_affine(axis->first).value_or(Affine(0)),
                              true};
    if (!context_.assumptions.implies(at_first)) {
      needed.push_back(at_first);
    }
  }
  return needed;
}

Guards LevelGuards::shared_by(std::size_t begin, std::size_t end) const {
  Guards shared = needed_[begin];
  for (std::size_t i = begin + 1; i < end; ++i) {
    shared = in_both(std::move(shared), needed_[i]);
  }
  return shared;
}

Guards LevelGuards::of_run(std::size_t first) {
  const auto may_run_outside = [&](const LoopTreeNode& node) {
    const std::vector<std::size_t> statements = statements_in(node);
    return !is<BarrierNode>(node) &&
           std::all_of(statements.begin(), statements.end(),
                       [&](std::size_t statement) { return launch_.facts.is_relaxed(statement); });
  };
  std::size_t in_need = first;
  while (in_need < nodes_.size() && needed_[in_need].empty()) {
    if (!may_run_outside(nodes_[in_need++])) {
      return {};
    }
  }
  if (in_need == nodes_.size()) {
    return {};
  }
  for (std::size_t before = first; before < in_need; ++before) {
    if (!may_share(nodes_[before], needed_[in_need])) {
      return {};
    }
  }
  return needed_[in_need];
}

std::size_t LevelGuards::end_of_run(std::size_t first, const Guards& guards) {
  std::size_t last_in_need = first + 1;
  for (std::size_t end = first + 1; end < nodes_.size() && may_share(nodes_[end], guards);) {
    ++end;
    last_in_need = needed_[end - 1].empty() ? last_in_need : end;
  }
  return last_in_need;
}

bool LevelGuards::hands_on(const LoopTreeNode& node) const {
  if (const StatementNode* statement = get_if<StatementNode>(node)) {
    return launch_.facts.is_relaxed(statement->index) && launch_.facts.hands_on(statement->index);
  }
  const LoopNode* loop = get_if<LoopNode>(node);
  return loop != nullptr && tag_of(launch_.kernel, loop->iname).kind == AxisKind::unroll &&
         std::any_of(loop->body.begin(), loop->body.end(),
                     [&](const LoopTreeNode& each) { return hands_on(each); });
}

bool LevelGuards::may_share(const LoopTreeNode& node, const Guards& guards) {
  if (is<BarrierNode>(node)) {
    return false;
  }
  if (context_.in_loop && hands_on(node)) {
    return false;
  }
  if (contains_barrier(node) && std::any_of(guards.begin(), guards.end(), [&](const auto& each) {
        return launch_.differs_by_thread(each.expr);
      })) {
    return false;
  }
  const std::vector<std::size_t> statements = statements_in(node);
  return std::all_of(statements.begin(), statements.end(), [&](std::size_t statement) {
    const ConstraintSet& domain = launch_.facts.domain(statement);
    const bool has_all_axes = launch_.unused_axes(statement).empty();
    const Guards by_axes = has_all_axes ? Guards{} : of_statement(statement, domain);
    const Guards& own = has_all_axes ? of_constraints(domain) : by_axes;
    return std::all_of(guards.begin(), guards.end(),
                       [&](const Constraint& each) { return contains(own, each); });
  });
}

}  // namespace rtcg::loopy
