// All lanes of a statement in one vector access or one asynchronous copy.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Whether the constraints of one lane hold exactly where those of the other do.
bool hold_together(const Guards& ones, const Guards& others, const ConstraintSet& context) {
  const auto implies = [&](const Guards& given, const Guards& wanted) {
    ConstraintSet all = context;
    for (const Constraint& each : given) {
      all.add(each);
    }
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const Constraint& each) { return all.implies(each); });
  };
  return implies(ones, others) && implies(others, ones);
}

}  // namespace

bool Emitter::emit_vector(std::size_t statement, const std::vector<std::string>& lanes,
                          const EmitContext& context, CodeBlock& block) {
  const std::string& lane = lanes.back();
  const Assignment* assignment = get_if<Assignment>(launch_.kernel.instructions[statement]);
  if (launch_.rules.has_async_copies && assignment != nullptr && assignment->is_async_copy) {
    return emit_vector_copy(statement, lane, context, block);
  }
  std::optional<VectorPlan> plan =
      launch_.rules.has_vectors
          ? find_vector_plan(launch_.kernel, launch_.kernel.instructions[statement], lane)
          : std::nullopt;
  if (plan && plan->is_clipped && !clips_together(*assignment, lane, plan->lanes, context)) {
    plan->is_clipped = false;
    plan->loads.clear();
  }
  if (!plan || (plan->loads.empty() && !plan->is_store)) {
    return false;
  }
  const std::vector<Congruence>& congruences = launch_.facts.guards(statement).congruences();
  if (std::any_of(congruences.begin(), congruences.end(), [&](const Congruence& each) {
        return !context.assumptions.implies(
            Congruence{with_values(context.values, each.expr), each.modulus});
      })) {
    return false;
  }
  EmitContext whole = context;
  std::optional<cgen::Expr> condition;
  std::vector<Affine> tested;
  for (const std::int64_t value : {0, plan->lanes - 1}) {
    // what holds for the first and the last lane holds for those between
    for (const Constraint& guard : needed_by_lanes(at_lane(whole, lane, value))) {
      if (guard.is_equality || whole.assumptions.implies_nonnegative(-guard.expr - 1)) {
        return false;
      }
      const cgen::Expr test = lower_constraint(scope_of(whole), guard);
      condition = condition ? *condition && test : test;
      if (!whole.assumptions.implies(guard)) {
        tested.push_back(guard.expr);
      }
      whole.assumptions.add(guard);
    }
  }
  if (!condition) {
    emit_vector_body(launch_.kernel.instructions[statement], lane, *plan, whole, block);
    return true;
  }
  const std::size_t loaded = loaded_.size();
  CodeBlock vectors;
  emit_vector_body(launch_.kernel.instructions[statement], lane, *plan, whole, vectors);
  forget_loads(loaded);
  EmitContext rest = context;
  if (tested.size() == 1) {
    rest.assumptions.add_nonnegative(-tested.front() - 1);
  }
  CodeBlock one_by_one;
  emit_each_lane(statement, lanes, lanes.size() - 1, rest, one_by_one);
  block.items.push_back(
      {CodeIf{*condition, std::move(vectors), if_any(std::move(one_by_one)), false}});
  return true;
}

bool Emitter::clips_together(const Assignment& assignment, const std::string& lane,
                             std::int64_t lanes, const EmitContext& context) {
  const Conditional& clipped = *get_if<Conditional>(assignment.value);
  std::array<Guards, 2> tests;
  ConstraintSet both = context.assumptions;
  for (const bool is_last : {false, true}) {
    const EmitContext here = at_lane(context, lane, is_last ? lanes - 1 : 0);
    const auto parts = comparisons_of(with_values(here.values, clipped.condition));
    if (!parts) {
      return false;
    }
    for (const ComparisonForm& part : *parts) {
      tests[is_last ? 1 : 0].push_back(part.constraint);
      both.add(part.quotients);
    }
  }
  return hold_together(tests[0], tests[1], both);
}

cgen::Expr Emitter::clipped_vector(const Conditional& clipped, const cgen::Expr& load,
                                   const cgen::Type& element, const std::string& lane, int lanes,
                                   EmitContext& context) {
  std::optional<cgen::Expr> condition;
  for (const std::int64_t value : {0, lanes - 1}) {
    const EmitContext here = at_lane(context, lane, value);
    const auto parts = comparisons_of(with_values(here.values, clipped.condition));
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      context.assumptions.add(part.quotients);
      if (!context.assumptions.implies(part.constraint)) {
        const cgen::Expr test = lower_comparison(scope_of(context), part);
        condition = condition ? *condition && test : test;
        context.assumptions.add(part.constraint);
      }
    }
  }
  const cgen::Expr zero = lower_expr(scope_of(context), Expr(0), element);
  const std::vector<cgen::Expr> zeros(static_cast<std::size_t>(lanes), zero);
  return condition ? cgen::select(*condition, load,
                                  cgen::make_vector(cgen::vector_of(element, lanes), zeros))
                   : load;
}

bool Emitter::emit_vector_copy(std::size_t statement, const std::string& lane,
                               const EmitContext& context, CodeBlock& block) {
  const Instruction& instruction = launch_.kernel.instructions[statement];
  const auto source = vector_copy_source(launch_.kernel, instruction, lane);
  const std::int64_t last = launch_.range_of_lane(lane).second;
  EmitContext first = at_lane(context, lane, 0);
  const Guards guards = needed_by_lanes(first);
  const Guards others = needed_by_lanes(at_lane(context, lane, last));
  if (!source || !hold_together(guards, others, context.assumptions)) {
    return false;
  }
  std::optional<cgen::Expr> condition;
  for (const Constraint& guard : guards) {
    const cgen::Expr test = lower_constraint(scope_of(first), guard);
    condition = condition ? *condition && test : test;
    first.assumptions.add(guard);
  }
  const Assignment& copy = *get_if<Assignment>(instruction);
  const Conditional* clipped = get_if<Conditional>(copy.value);
  if (clipped != nullptr && !clips_together(copy, lane, last + 1, first)) {
    return false;
  }
  const ExprScope scope = scope_of(first);
  const cgen::Type type = type_of(*source);
  const auto bytes = (last + 1) * size_bytes(type);
  const cgen::Statement call = copy_call(bytes, lower_expr(scope, copy.targets.front(), type),
                                         lower_expr(scope, *source, type),
                                         clipped != nullptr ? &clipped->condition : nullptr, scope);
  const CodeItem item{CodeStatement{call}};
  block.items.push_back(
      condition ? CodeItem{CodeIf{*condition, CodeBlock{{item}}, std::nullopt, false}} : item);
  return true;
}

cgen::Statement Emitter::copy_call(std::int64_t bytes, const cgen::Expr& target,
                                   const cgen::Expr& source, const Expr* condition,
                                   const ExprScope& scope) {
  const HelperFunction function(Helper::copy_async, static_cast<int>(bytes));
  helpers_.insert(function);
  const Expr size = condition != nullptr ? Expr(Conditional{*condition, bytes, 0}) : Expr(bytes);
  return cgen::Statement(cgen::call(
      function.name(),
      {cgen::address_of(target), cgen::address_of(source), lower_expr(scope, size, cgen::i32)},
      cgen::void_type));
}

cgen::Expr Emitter::as_vector(const Expr& access, int lanes, const EmitContext& context,
                              bool is_read) {
  const std::string& array = target_name(access);
  const Argument* argument = find_argument(launch_.kernel, array);
  cgen::Type type = cgen::vector_of(type_of(access), lanes);
  type = is_read ? cgen::const_(type) : type;
  const bool is_constant = argument != nullptr && argument->address_space == AddressSpace::constant;
  const cgen::AddressSpace space = argument == nullptr ? cgen::AddressSpace::shared
                                   : is_constant       ? cgen::AddressSpace::constant
                                                       : cgen::AddressSpace::global;
  const cgen::Expr element = lower_expr(scope_of(context), access);
  return cgen::deref(
      cgen::cast(cgen::pointer_to(cgen::in_space(space, type)), cgen::address_of(element)));
}

cgen::Expr Emitter::loaded_vector(const Expr& load, const cgen::Expr& value,
                                  const std::string& written, CodeBlock& block) {
  const auto known = std::find_if(loaded_.begin(), loaded_.end(),
                                  [&](const LoadedVector& each) { return each.value == value; });
  if (known != loaded_.end()) {
    return known->variable;
  }
  const cgen::Type type = cgen::value_type(value.type());
  const std::string name = new_name(target_name(load) + "_vec");
  block.items.push_back(
      {CodeStatement{cgen::declare(cgen::const_(type), name, value).declaration()}});
  const cgen::Expr variable = cgen::variable(name, type);
  if (free_names(load).count(written) == 0 && accessed_arrays(load).count(written) == 0) {
    loaded_.push_back({value, variable});
  }
  return variable;
}

void Emitter::forget_loads(std::size_t kept) {
  loaded_.erase(loaded_.begin() + static_cast<std::ptrdiff_t>(kept), loaded_.end());
}

void Emitter::emit_vector_body(const Instruction& instruction, const std::string& lane,
                               const VectorPlan& plan, EmitContext context, CodeBlock& block) {
  const EmitContext first = at_lane(context, lane, 0);
  const Assignment& assignment = *get_if<Assignment>(instruction);
  const Expr& target = assignment.targets.front();
  std::vector<cgen::Expr> vectors;
  for (const Expr& load : plan.loads) {
    cgen::Expr value = as_vector(load, plan.lanes, first, true);
    if (plan.is_clipped) {
      value = clipped_vector(*get_if<Conditional>(assignment.value), value, type_of(load), lane,
                             plan.lanes, context);
    }
    vectors.push_back(loaded_vector(load, value, target_name(target), block));
  }
  const cgen::Type type = type_of(target);
  std::vector<cgen::Expr> values;
  for (int number = 0; number < plan.lanes; ++number) {
    const EmitContext here = at_lane(context, lane, number);
    ExprScope scope = scope_of(here);
    const auto of_memory = scope.element;
    scope.element = [&, of_memory](const std::string& array, const std::vector<Expr>& indices) {
      for (std::size_t i = 0; i < plan.loads.size(); ++i) {
        const Access& load = *get_if<Access>(plan.loads[i]);
        const auto is_same = [&](const Expr& index, const Expr& own) {
          return index == with_values(here.values, own);
        };
        if (load.array == array && std::equal(indices.begin(), indices.end(), load.indices.begin(),
                                              load.indices.end(), is_same)) {
          return cgen::Expr(
              cgen::Member{vectors[i], std::string(1, "xyzw"[static_cast<std::size_t>(number)])});
        }
      }
      return of_memory(array, indices);
    };
    if (!plan.is_store) {
      emit_body_of(instruction, scope, block);
      continue;
    }
    const cgen::Expr value = lower_expr(scope, assignment.value, value_type(assignment, type));
    values.push_back(value.type() == type ? value : cgen::cast(type, value));
  }
  if (plan.is_store) {
    const cgen::Expr all = cgen::make_vector(cgen::vector_of(type, plan.lanes), values);
    block.items.push_back(
        {CodeStatement{cgen::assign(as_vector(target, plan.lanes, first, false), all)}});
  }
}

}  // namespace rtcg::loopy
