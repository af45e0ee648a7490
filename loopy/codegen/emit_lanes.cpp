// A statement's copies for the lanes of inline-parallel inames, each under what it needs.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {

void Emitter::emit_lanes(std::size_t statement, const std::vector<std::string>& lanes,
                         std::size_t depth, EmitContext& place, CodeBlock& block) {
  if (depth == lanes.size()) {
    emit_instance(statement, place, block);
    return;
  }
  if (depth + 1 == lanes.size() && tag_of(kernel_, lanes[depth]).kind == AxisKind::vec &&
      emit_vector(statement, lanes, place, block)) {
    return;
  }
  emit_each_lane(statement, lanes, depth, place, block);
}

void Emitter::emit_each_lane(std::size_t statement, const std::vector<std::string>& lanes,
                             std::size_t depth, EmitContext& place, CodeBlock& block) {
  const auto [first, last] = range_of_lane(lanes[depth]);
  place.known.insert(lanes[depth]);
  for (std::int64_t value = first; value <= last; ++value) {
    place.values.insert_or_assign(lanes[depth], Affine(value));
    emit_lane(statement, lanes, depth, place, block);
  }
  place.known.erase(lanes[depth]);
  place.values.erase(lanes[depth]);
}

EmitContext Emitter::at_lane(EmitContext place, const std::string& lane, std::int64_t value) {
  place.known.insert(lane);
  place.values.insert_or_assign(lane, Affine(value));
  return place;
}

std::pair<std::int64_t, std::int64_t> Emitter::range_of_lane(const std::string& lane) {
  const auto range = constant_range(lane);
  if (!range || range->second - range->first >= most_copies) {
    throw InvalidInput(
        "loopy.generate.too_many_copies",
        fmt::format("iname '{}' is inline-parallel, but has {}: split it first", lane,
                    range ? fmt::format("{} values, of at most {}",
                                        range->second - range->first + 1, most_copies)
                          : std::string("no constant length")));
  }
  return *range;
}

void Emitter::emit_lane(std::size_t statement, const std::vector<std::string>& lanes,
                        std::size_t depth, EmitContext& place, CodeBlock& block) {
  const Guards guards = depth + 1 < lanes.size() ? needed_by_lanes(place) : Guards{};
  if (guards.empty()) {
    emit_lanes(statement, lanes, depth + 1, place, block);
    return;
  }
  EmitContext inside = place;
  std::optional<cgen::Expr> condition;
  for (const Constraint& guard : guards) {
    const cgen::Expr test = lower_constraint(scope_of(place), guard);
    condition = condition ? *condition && test : test;
    inside.context.add(guard);
  }
  const std::size_t loaded = loaded_.size();
  CodeBlock code;
  emit_lanes(statement, lanes, depth + 1, inside, code);
  forget_loads(loaded);
  block.items.push_back({CodeIf{*condition, std::move(code), std::nullopt, false}});
}

void Emitter::emit_instance(std::size_t statement, const EmitContext& outside, CodeBlock& block) {
  const Instruction& instruction = kernel_.instructions[statement];
  if (++written_statements_ > options_.most_statements) {
    throw InvalidInput(
        "loopy.generate.too_many_statements",
        fmt::format(
            "the text of kernel '{}' has more than {} statements, copies for unrolled loops "
            "and lanes included, and '{}' is not the last: unroll less, or set "
            "GenerateOptions::most_statements or RTCG_MOST_STATEMENTS to allow more",
            kernel_.name, options_.most_statements, instruction.id));
  }
  std::optional<cgen::Expr> condition;
  const auto require = [&](const cgen::Expr& test) {
    condition = condition ? *condition && test : test;
  };
  const Guards guards = needed_by_lanes(outside);
  std::optional<EmitContext> learnt;  // a copy only where something is
  if (!guards.empty() || !instruction.predicates.empty()) {
    learnt = outside;
  }
  const EmitContext& place = learnt ? *learnt : outside;
  for (const Constraint& guard : guards) {
    if (condition && place.context.implies(guard)) {
      continue;  // the tests before say so
    }
    if (is_never(place.context, guard)) {
      return;
    }
    require(lower_constraint(scope_of(place), guard));
    learnt->context.add(guard);
  }
  const ExprScope scope = scope_of(place);
  for (const Congruence& congruence : facts_.guards(statement).congruences()) {
    const Congruence here{with_values(scope, congruence.expr), congruence.modulus};
    if (is_testable(congruence.expr, place) && !place.context.implies(here)) {
      require(cgen::equal(lower_index(scope, modulo(to_expr(here.expr), here.modulus)), 0));
    }
  }
  std::vector<cgen::Expr> conditions;
  if (condition) {
    conditions.push_back(*condition);
  }
  for (const Expr& predicate : instruction.predicates) {
    if (const auto value = known_condition(scope, predicate)) {
      if (!*value) {
        return;
      }
      continue;
    }
    const auto parts = comparisons_of(with_values(scope, predicate));
    bool is_known = parts.has_value();
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      learnt->context.add(part.quotients);
      if (is_never(place.context, part.constraint)) {
        return;
      }
      is_known = is_known && place.context.implies(part.constraint);
    }
    if (!is_known) {
      conditions.push_back(lower_expr(scope, predicate, cgen::boolean));
    }
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      learnt->context.add(part.constraint);
    }
  }
  CodeBlock own;
  emit_lane_body(statement, scope, own);
  // one test within the other: statements that differ in the later ones share the first
  for (std::size_t i = conditions.size(); i-- > 0;) {
    CodeItem item{CodeIf{conditions[i], std::move(own), std::nullopt, true}};
    own.items.clear();
    own.items.push_back(std::move(item));
  }
  append(block, std::move(own));
}

}  // namespace rtcg::loopy
