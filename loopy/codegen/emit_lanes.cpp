// A statement's copies for the lanes of inline-parallel inames, each under what it needs.
#include <algorithm>

#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {

void Emitter::emit_lanes(std::size_t statement, const std::vector<std::string>& lanes,
                         std::size_t depth, EmitContext& context, CodeBlock& block) {
  if (depth == lanes.size()) {
    emit_instance(statement, context, block);
    return;
  }
  if (depth + 1 == lanes.size() && tag_of(launch_.kernel, lanes[depth]).kind == AxisKind::vec &&
      emit_vector(statement, lanes, context, block)) {
    return;
  }
  emit_each_lane(statement, lanes, depth, context, block);
}

void Emitter::emit_each_lane(std::size_t statement, const std::vector<std::string>& lanes,
                             std::size_t depth, EmitContext& context, CodeBlock& block) {
  const auto [first, last] = launch_.range_of_lane(lanes[depth]);
  context.known.insert(lanes[depth]);
  for (std::int64_t value = first; value <= last; ++value) {
    context.values.insert_or_assign(lanes[depth], Affine(value));
    emit_lane(statement, lanes, depth, context, block);
  }
  context.known.erase(lanes[depth]);
  context.values.erase(lanes[depth]);
}

void Emitter::settle_lanes(std::size_t statement, const EmitContext& context) {
  unsettled_.clear();
  const std::vector<std::string>& lanes = launch_.facts.lanes(statement);
  if (lanes.empty()) {
    return;
  }
  const ExprScope scope = scope_of(context);
  for (const Constraint& constraint : launch_.facts.guards(statement).constraints()) {
    Affine worst = constraint.expr;
    bool has_lane = false;
    bool has_range = !constraint.is_equality;
    for (const std::string& lane : lanes) {
      const std::int64_t coefficient = constraint.expr.coefficient(lane);
      has_lane = has_lane || coefficient != 0;
      if (coefficient == 0 || !has_range) {
        continue;
      }
      const auto range = launch_.constant_range(lane);
      has_range = range.has_value();
      if (has_range) {
        worst = worst.substitute(lane, coefficient > 0 ? range->first : range->second);
      }
    }
    const auto is_settled = [&] {
      return has_range && launch_.is_testable(worst, context) &&
             context.assumptions.implies_nonnegative(with_values(context.values, worst));
    };
    if (has_lane && !is_settled()) {
      unsettled_.push_back(&constraint);
    }
  }
}

Guards Emitter::needed_by_lanes(const EmitContext& context) {
  Guards needed;
  if (unsettled_.empty()) {
    return needed;
  }
  const ExprScope scope = scope_of(context);
  for (const Constraint* constraint : unsettled_) {
    if (!launch_.is_testable(constraint->expr, context)) {
      continue;
    }
    const Constraint here{with_values(context.values, constraint->expr), constraint->is_equality};
    if (!context.assumptions.implies(here)) {
      needed.push_back(here);
    }
  }
  return needed;
}

void Emitter::emit_lane(std::size_t statement, const std::vector<std::string>& lanes,
                        std::size_t depth, EmitContext& context, CodeBlock& block) {
  const Guards guards = depth + 1 < lanes.size() ? needed_by_lanes(context) : Guards{};
  if (guards.empty()) {
    emit_lanes(statement, lanes, depth + 1, context, block);
    return;
  }
  EmitContext inside = context;
  std::optional<cgen::Expr> condition;
  for (const Constraint& guard : guards) {
    const cgen::Expr test = lower_constraint(scope_of(context), guard);
    condition = condition ? *condition && test : test;
    inside.assumptions.add(guard);
  }
  const std::size_t loaded = loaded_.size();
  CodeBlock code;
  emit_lanes(statement, lanes, depth + 1, inside, code);
  forget_loads(loaded);
  block.items.push_back({CodeIf{*condition, std::move(code), std::nullopt, false}});
}

void Emitter::emit_instance(std::size_t statement, const EmitContext& outside, CodeBlock& block) {
  const Instruction& instruction = launch_.kernel.instructions[statement];
  launch_.check_length(++written_statements_, statement);
  std::optional<cgen::Expr> condition;
  const auto require = [&](const cgen::Expr& test) {
    condition = condition ? *condition && test : test;
  };
  const Guards guards = needed_by_lanes(outside);
  std::optional<EmitContext> learnt;  // a copy only where something is
  if (!guards.empty() || !instruction.predicates.empty()) {
    learnt = outside;
  }
  const EmitContext& context = learnt ? *learnt : outside;
  for (const Constraint& guard : guards) {
    if (condition && context.assumptions.implies(guard)) {
      continue;  // the tests before say so
    }
    if (is_never(context.assumptions, guard)) {
      return;
    }
    require(lower_constraint(scope_of(context), guard));
    learnt->assumptions.add(guard);
  }
  const ExprScope scope = scope_of(context);
  for (const Congruence& congruence : launch_.facts.guards(statement).congruences()) {
    const Congruence here{with_values(context.values, congruence.expr), congruence.modulus};
    if (launch_.is_testable(congruence.expr, context) && !context.assumptions.implies(here)) {
      require(cgen::equal(lower_index(scope, modulo(to_expr(here.expr), here.modulus)), 0));
    }
  }
  std::vector<cgen::Expr> conditions;
  if (condition) {
    conditions.push_back(*condition);
  }
  for (const Expr& predicate : instruction.predicates) {
    if (const auto value = known_condition(context.values, predicate)) {
      if (!*value) {
        return;
      }
      continue;
    }
    const auto parts = comparisons_of(with_values(context.values, predicate));
    bool is_known = parts.has_value();
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      learnt->assumptions.add(part.quotients);
      if (is_never(context.assumptions, part.constraint)) {
        return;
      }
      is_known = is_known && context.assumptions.implies(part.constraint);
    }
    if (!is_known) {
      conditions.push_back(lower_expr(scope, predicate, cgen::boolean));
    }
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      learnt->assumptions.add(part.constraint);
    }
  }
  CodeBlock own;
  emit_lane_body(statement, context.frame != nullptr, scope, own);
  // one test within the other: statements that differ in the later ones share the first
  for (std::size_t i = conditions.size(); i-- > 0;) {
    CodeItem item{CodeIf{conditions[i], std::move(own), std::nullopt, true}};
    own.items.clear();
    own.items.push_back(std::move(item));
  }
  append(block, std::move(own));
}

}  // namespace rtcg::loopy
