#include "rtcg/loopy/codegen/lower_lanes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/codegen/lower_statement.h"
#include "rtcg/loopy/codegen/packed_arithmetic.h"
#include "rtcg/loopy/device/vector_pack.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::string describe(const Instruction& instruction) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  return assignment == nullptr ? instruction.id
                               : fmt::format("{} = {}", to_string(assignment->targets.front()),
                                             to_string(assignment->value));
}

std::size_t hash_of(std::size_t statement, const KnownValues& values) {
  std::size_t hash = statement;
  for (const auto& [iname, value] : values) {
    hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::size_t>(value.constant());
  }
  return hash;
}

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

/// The constraints that mention the statement's lanes and do not hold for all values of them. All
/// others are tested further out.
std::vector<const Constraint*> open_constraints(const LaunchFacts& launch, std::size_t statement,
                                                const EmitContext& context) {
  std::vector<const Constraint*> open;
  const std::vector<std::string>& lanes = launch.facts.lanes(statement);
  if (lanes.empty()) {
    return open;
  }
  for (const Constraint& constraint : launch.facts.guards(statement).constraints()) {
    Affine worst = constraint.expr;
    bool has_lane = false;
    bool has_range = !constraint.is_equality;
    for (const std::string& lane : lanes) {
      const std::int64_t coefficient = constraint.expr.coefficient(lane);
      has_lane = has_lane || coefficient != 0;
      if (coefficient == 0 || !has_range) {
        continue;
      }
      const auto range = launch.constant_range(lane);
      has_range = range.has_value();
      if (has_range) {
        worst = worst.substitute(lane, coefficient > 0 ? range->first : range->second);
      }
    }
    const auto is_settled = [&] {
      return has_range && launch.is_testable(worst, context) &&
             context.assumptions.implies_nonnegative(with_values(context.values, worst));
    };
    if (has_lane && !is_settled()) {
      open.push_back(&constraint);
    }
  }
  return open;
}

void set_lane(EmitContext& context, const std::string& lane, std::int64_t value) {
  context.known.insert(lane);
  context.values.insert_or_assign(lane, Affine(value));
}
void unset_lane(EmitContext& context, const std::string& lane) {
  context.known.erase(lane);
  context.values.erase(lane);
}

/// Code being written, and the vectors that have been loaded before: later rows of lanes use them.
struct LaneBlock {
  struct Load {
    cgen::Expr value;
    cgen::Expr variable;
  };
  CodeBlock code{};
  std::vector<Load> loads{};

  /// A block within: what it loads ends with it.
  [[nodiscard]] LaneBlock inner() const { return {{}, loads}; }
};

/// Of one statement.
class LaneLowering {
 public:
  LaneLowering(KernelVariables& variables, LaneTable& table, std::size_t statement,
               const EmitContext& context)
      : launch_(variables.launch),
        variables_(variables),
        table_(table),
        statement_(statement),
        instruction_(launch_.kernel.instructions[statement]),
        lanes_(launch_.facts.lanes(statement)),
        open_(open_constraints(launch_, statement, context)) {}

  void lower(const EmitContext& context, LaneBlock& block) {
    if (lanes_.empty()) {
      lower_copy(context, block);
    } else {
      EmitContext inside = context;
      lower_from(0, inside, block);
    }
  }

 private:
  /// The lanes from `depth` on, for given values of those before.
  /// @param context  a scratch copy: the same again afterwards
  void lower_from(std::size_t depth, EmitContext& context, LaneBlock& block) {
    if (depth == lanes_.size()) {
      lower_copy(context, block);
      return;
    }
    const bool is_vector =
        depth + 1 == lanes_.size() && tag_of(launch_.kernel, lanes_[depth]).kind == AxisKind::vec;
    if (!is_vector || !lower_vector(context, block)) {
      lower_each(depth, context, block);
    }
  }

  void lower_each(std::size_t depth, EmitContext& context, LaneBlock& block) {
    const auto [first, last] = launch_.range_of_lane(lanes_[depth]);
    context.known.insert(lanes_[depth]);
    for (std::int64_t value = first; value <= last; ++value) {
      context.values.insert_or_assign(lanes_[depth], Affine(value));
      // what one value must meet is tested before the other lanes are
      const Guards guards =
          depth + 1 < lanes_.size() ? guards_of_lanes(context, context.assumptions) : Guards{};
      if (guards.empty()) {
        lower_from(depth + 1, context, block);
        continue;
      }
      EmitContext guarded = context;
      const cgen::Expr condition = tested(guards, guarded);
      LaneBlock body = block.inner();
      lower_from(depth + 1, guarded, body);
      block.code.items.push_back({CodeIf{condition, std::move(body.code), std::nullopt, false}});
    }
    unset_lane(context, lanes_[depth]);
  }

  /// The open constraints that can be tested, and that are not known to hold.
  [[nodiscard]] Guards guards_of_lanes(const EmitContext& context,
                                       const ConstraintSet& assumptions) const {
    Guards needed;
    for (const Constraint* constraint : open_) {
      if (launch_.is_testable(constraint->expr, context)) {
        Constraint here = with_values(context.values, *constraint);
        if (!assumptions.implies(here)) {
          needed.push_back(std::move(here));
        }
      }
    }
    return needed;
  }

  /// The guards as one condition, which is known to hold afterwards.
  [[nodiscard]] cgen::Expr tested(const Guards& guards, EmitContext& context) {
    std::optional<cgen::Expr> condition;
    for (const Constraint& guard : guards) {
      add_test(condition, lower_constraint(variables_.scope_of(context), guard));
      context.assumptions.add(guard);
    }
    return *condition;
  }

  void lower_copy(const EmitContext& outside, LaneBlock& block) {
    launch_.check_length(++table_.statements, statement_);
    std::optional<cgen::Expr> condition;
    const Guards guards = guards_of_lanes(outside, outside.assumptions);
    std::optional<EmitContext> learnt;  // a copy only if something is
    if (!guards.empty() || !instruction_.predicates.empty()) {
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
      add_test(condition, lower_constraint(variables_.scope_of(context), guard));
      learnt->assumptions.add(guard);
    }
    bool has_asked_context = false;
    const ExprScope scope = variables_.scope_of(context, &has_asked_context);
    for (const Congruence& congruence : launch_.facts.guards(statement_).congruences()) {
      const Congruence here{with_values(context.values, congruence.expr), congruence.modulus};
      if (launch_.is_testable(congruence.expr, context) && !context.assumptions.implies(here)) {
        add_test(condition,
                 cgen::equal(lower_index(scope, modulo(to_expr(here.expr), here.modulus)), 0));
      }
    }
    std::vector<cgen::Expr> conditions;
    if (condition) {
      conditions.push_back(*condition);
    }
    for (const Expr& predicate : instruction_.predicates) {
      if (const auto value = known_condition(launch_.kernel, context.values, predicate)) {
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
    has_asked_context = false;
    CodeItem item = lower_body(context, scope, has_asked_context);
    // one test within the other: statements that differ in the later ones share the first
    for (std::size_t i = conditions.size(); i-- > 0;) {
      CodeBlock body;
      body.items.push_back(std::move(item));
      item = {CodeIf{conditions[i], std::move(body), std::nullopt, true}};
    }
    block.code.items.push_back(std::move(item));
  }

  /// @param has_asked_context  what the scope sets
  [[nodiscard]] CodeItem lower_body(const EmitContext& context, const ExprScope& scope,
                                    const bool& has_asked_context) {
    if (!is<Assignment>(instruction_) || context.frame != nullptr || lanes_.empty()) {
      return lower_statement(variables_, instruction_, scope);
    }
    if (const CodeItem* known = table_.find(statement_, context.values)) {
      return *known;
    }
    CodeItem item = lower_statement(variables_, instruction_, scope);
    if (!has_asked_context) {
      table_.add(statement_, context.values, item);
    }
    return item;
  }

  // ---- all values of the innermost lane in one access

  /// Whether it could be done. Where guards may keep lanes out, vectors are for when all hold.
  /// @param context  a scratch copy: the same again afterwards
  bool lower_vector(EmitContext& context, LaneBlock& block) {
    const std::string& lane = lanes_.back();
    const Assignment* assignment = get_if<Assignment>(instruction_);
    if (launch_.rules.has_async_copies && assignment != nullptr && assignment->is_async_copy) {
      return lower_vector_copy(context, block);
    }
    std::optional<VectorPlan> plan = vector_plan();
    if (plan && plan->is_clipped && !clips_together(plan->lanes, context)) {
      plan->is_clipped = false;
      plan->loads.clear();
    }
    if (!plan || (plan->loads.empty() && !plan->is_store)) {
      return false;
    }
    const std::vector<Congruence>& congruences = launch_.facts.guards(statement_).congruences();
    if (std::any_of(congruences.begin(), congruences.end(), [&](const Congruence& each) {
          return !context.assumptions.implies(
              Congruence{with_values(context.values, each.expr), each.modulus});
        })) {
      return false;
    }
    std::optional<EmitContext> guarded;  // a copy only if a lane is tested
    std::optional<cgen::Expr> condition;
    std::vector<Affine> tests;
    for (const std::int64_t value : {0, plan->lanes - 1}) {
      set_lane(context, lane, value);
      const Guards guards =
          guards_of_lanes(context, guarded ? guarded->assumptions : context.assumptions);
      unset_lane(context, lane);
      if (!guards.empty() && !guarded) {
        guarded = context;
      }
      // what holds for the first and the last lane holds for those between
      for (const Constraint& guard : guards) {
        if (guard.is_equality || guarded->assumptions.implies_nonnegative(-guard.expr - 1)) {
          return false;
        }
        add_test(condition, lower_constraint(variables_.scope_of(*guarded), guard));
        if (!guarded->assumptions.implies(guard)) {
          tests.push_back(guard.expr);
        }
        guarded->assumptions.add(guard);
      }
    }
    if (!condition) {
      lower_vector_body(*plan, context, block);
      return true;
    }
    LaneBlock vectors = block.inner();
    lower_vector_body(*plan, *guarded, vectors);
    EmitContext rest = context;
    if (tests.size() == 1) {
      rest.assumptions.add_nonnegative(-tests.front() - 1);
    }
    LaneBlock one_by_one = block.inner();
    lower_each(lanes_.size() - 1, rest, one_by_one);
    block.code.items.push_back(
        {CodeIf{*condition, std::move(vectors.code), if_any(std::move(one_by_one.code)), false}});
    return true;
  }

  /// Does not depend on the values of the other lanes.
  [[nodiscard]] const std::optional<VectorPlan>& vector_plan() {
    if (!is_vector_plan_known_ && launch_.rules.has_vectors) {
      vector_plan_ = find_vector_plan(launch_.kernel, instruction_, lanes_.back());
    }
    is_vector_plan_known_ = true;
    return vector_plan_;
  }

  /// Whether the condition of a clipped value holds for all lanes or for none.
  [[nodiscard]] bool clips_together(std::int64_t lanes, const EmitContext& context) const {
    const Conditional& clipped = *get_if<Conditional>(get_if<Assignment>(instruction_)->value);
    std::array<Guards, 2> tests;
    ConstraintSet both = context.assumptions;
    for (const bool is_last : {false, true}) {
      const EmitContext here = at_lane(context, lanes_.back(), is_last ? lanes - 1 : 0);
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

  /// `load`, or zeros if the condition does not hold; afterwards it is known to hold.
  [[nodiscard]] cgen::Expr clipped_vector(const Conditional& clipped, const cgen::Expr& load,
                                          const cgen::Type& element, int lanes,
                                          EmitContext& context) {
    std::optional<cgen::Expr> condition;
    for (const std::int64_t value : {0, lanes - 1}) {
      const EmitContext here = at_lane(context, lanes_.back(), value);
      const auto parts = comparisons_of(with_values(here.values, clipped.condition));
      for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
        context.assumptions.add(part.quotients);
        if (!context.assumptions.implies(part.constraint)) {
          add_test(condition, lower_comparison(variables_.scope_of(context), part));
          context.assumptions.add(part.constraint);
        }
      }
    }
    const cgen::Expr zero = lower_expr(variables_.scope_of(context), Expr(0), number_type(element));
    const std::vector<cgen::Expr> zeros(static_cast<std::size_t>(lanes * numbers_in(element)),
                                        zero);
    return condition ? cgen::select(*condition, load, pack_of(element, lanes).join(zeros)) : load;
  }

  /// An asynchronous copy of all lanes at once; whether it could be done.
  bool lower_vector_copy(const EmitContext& context, LaneBlock& block) {
    const std::string& lane = lanes_.back();
    const auto source = vector_copy_source(launch_.kernel, instruction_, lane);
    const std::int64_t last = launch_.range_of_lane(lane).second;
    EmitContext first = at_lane(context, lane, 0);
    const Guards guards = guards_of_lanes(first, first.assumptions);
    const Guards others = guards_of_lanes(at_lane(context, lane, last), context.assumptions);
    if (!source || !hold_together(guards, others, context.assumptions)) {
      return false;
    }
    std::optional<cgen::Expr> condition;
    if (!guards.empty()) {
      condition = tested(guards, first);
    }
    const Assignment& copy = *get_if<Assignment>(instruction_);
    const Conditional* clipped = get_if<Conditional>(copy.value);
    if (clipped != nullptr && !clips_together(last + 1, first)) {
      return false;
    }
    const ExprScope scope = variables_.scope_of(first);
    const cgen::Type type = variables_.type_of(*source);
    const cgen::Expr target = lower_expr(scope, copy.targets.front(), type);
    const CodeItem item{CodeStatement{copy_call(
        variables_, (last + 1) * size_bytes(type), target, lower_expr(scope, *source, type),
        clipped != nullptr ? &clipped->condition : nullptr, scope)}};
    block.code.items.push_back(
        condition ? CodeItem{CodeIf{*condition, CodeBlock{{item}}, std::nullopt, false}} : item);
    return true;
  }

  [[nodiscard]] static VectorPack pack_of(const cgen::Type& element, int lanes) {
    return {number_type(element), numbers_in(element), lanes};
  }

  /// An element of a loaded vector.
  [[nodiscard]] static cgen::Expr element_of(const cgen::Expr& vector, const cgen::Type& element,
                                             int lanes, int number) {
    const VectorPack pack = pack_of(element, lanes);
    return is<cgen::Complex>(element)
               ? cgen::call(cgen::Intrinsic::make_complex,
                            {pack.element(vector, number, 0), pack.element(vector, number, 1)})
               : pack.element(vector, number);
  }

  /// The values of all lanes as a vector; complex ones get variables, since each is used twice.
  [[nodiscard]] cgen::Expr joined(const std::vector<cgen::Expr>& values, const cgen::Type& element,
                                  LaneBlock& block) {
    const auto lanes = static_cast<int>(values.size());
    if (!is<cgen::Complex>(element)) {
      return pack_of(element, lanes).join(values);
    }
    std::vector<cgen::Expr> parts;
    for (const cgen::Expr& value : values) {
      const std::string name = variables_.new_name("lane");
      block.code.items.push_back(
          {CodeStatement{cgen::declare(cgen::const_(element), name, value).declaration()}});
      const cgen::Expr variable = cgen::variable(name, element);
      parts.push_back(cgen::call(cgen::Intrinsic::real, {variable}));
      parts.push_back(cgen::call(cgen::Intrinsic::imag, {variable}));
    }
    return pack_of(element, lanes).join(parts);
  }

  /// `*(float4*)&element`.
  [[nodiscard]] cgen::Expr as_vector(const Expr& access, int lanes, const EmitContext& context,
                                     bool is_read) {
    const std::optional<Argument> argument = find_global_array(launch_.kernel, target_name(access));
    cgen::Type type = pack_of(variables_.type_of(access), lanes).type();
    type = is_read ? cgen::const_(type) : type;
    const bool is_constant = argument && argument->address_space == AddressSpace::constant;
    const cgen::AddressSpace space = !argument     ? cgen::AddressSpace::shared
                                     : is_constant ? cgen::AddressSpace::constant
                                                   : cgen::AddressSpace::global;
    const cgen::Expr element = lower_expr(variables_.scope_of(context), access);
    return cgen::deref(
        cgen::cast(cgen::pointer_to(cgen::in_space(space, type)), cgen::address_of(element)));
  }

  /// The variable of a vector that the statement loads: that of an earlier row of its lanes if it
  /// is equal.
  [[nodiscard]] cgen::Expr loaded_vector(const Expr& load, const cgen::Expr& value,
                                         LaneBlock& block) {
    const auto known =
        std::find_if(block.loads.begin(), block.loads.end(),
                     [&](const LaneBlock::Load& each) { return each.value == value; });
    if (known != block.loads.end()) {
      return known->variable;
    }
    const cgen::Type type = cgen::value_type(value.type());
    const std::string name = variables_.new_name(target_name(load) + "_vec");
    block.code.items.push_back(
        {CodeStatement{cgen::declare(cgen::const_(type), name, value).declaration()}});
    const cgen::Expr variable = cgen::variable(name, type);
    const std::string& written = target_name(get_if<Assignment>(instruction_)->targets.front());
    if (free_names(load).count(written) == 0 && accessed_arrays(load).count(written) == 0) {
      block.loads.push_back({value, variable});
    }
    return variable;
  }

  /// Loads, then each lane's value from the loaded vectors, then a store of all or of each.
  /// @param first  a scratch copy: the same again afterwards
  void lower_vector_body(const VectorPlan& plan, EmitContext& first, LaneBlock& block) {
    const std::string& lane = lanes_.back();
    std::optional<EmitContext> learnt;  // a copy only if something is
    if (plan.is_clipped) {
      learnt = first;
    }
    set_lane(first, lane, 0);
    const Assignment& assignment = *get_if<Assignment>(instruction_);
    const Expr& target = assignment.targets.front();
    std::vector<cgen::Expr> vectors;
    for (const Expr& load : plan.loads) {
      cgen::Expr value = as_vector(load, plan.lanes, first, true);
      if (plan.is_clipped) {
        value = clipped_vector(*get_if<Conditional>(assignment.value), value,
                               variables_.type_of(load), plan.lanes, *learnt);
      }
      vectors.push_back(loaded_vector(load, value, block));
    }
    const cgen::Type type = variables_.type_of(target);
    std::vector<cgen::Expr> values;
    EmitContext& here = learnt ? *learnt : first;
    here.known.insert(lane);
    for (int number = 0; number < plan.lanes; ++number) {
      here.values.insert_or_assign(lane, Affine(number));
      std::vector<Access> loaded;  // in this lane
      for (const Expr& load : plan.loads) {
        loaded.push_back(*get_if<Access>(with_values(here.values, load)));
      }
      ExprScope scope = variables_.scope_of(here);
      const auto of_memory = scope.element;
      scope.element = [&, of_memory](const std::string& array, const std::vector<Expr>& indices) {
        for (std::size_t i = 0; i < loaded.size(); ++i) {
          if (loaded[i].array == array && loaded[i].indices == indices) {
            return element_of(vectors[i], variables_.type_of(plan.loads[i]), plan.lanes, number);
          }
        }
        return of_memory(array, indices);
      };
      if (!plan.is_store) {
        block.code.items.push_back(lower_statement(variables_, instruction_, scope));
        continue;
      }
      const cgen::Expr value =
          lower_expr(scope, assignment.value, value_type(variables_, assignment, type));
      values.push_back(value.type() == type ? value : cgen::cast(type, value));
    }
    if (plan.is_store) {
      first.values.insert_or_assign(lane, Affine(0));
      std::vector<LoadedVector> loads;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        loads.push_back({vectors[i], variables_.type_of(plan.loads[i])});
      }
      const auto packed = packed_values(variables_, values, type, loads);
      const cgen::Expr all = packed ? *packed : joined(values, type, block);
      block.code.items.push_back(
          {CodeStatement{cgen::assign(as_vector(target, plan.lanes, first, false), all)}});
    }
    unset_lane(first, lane);
  }

  const LaunchFacts& launch_;
  KernelVariables& variables_;
  LaneTable& table_;
  const std::size_t statement_;
  const Instruction& instruction_;
  const std::vector<std::string>& lanes_;
  const std::vector<const Constraint*> open_;
  std::optional<VectorPlan> vector_plan_{};
  bool is_vector_plan_known_ = false;
};

}  // namespace

const CodeItem* LaneTable::find(std::size_t statement, const KnownValues& values) const {
  const auto [begin, end] = lanes_.equal_range(hash_of(statement, values));
  const auto found = std::find_if(begin, end, [&](const auto& each) {
    const Lane& lane = each.second;
    return lane.statement == statement &&
           std::equal(lane.values.begin(), lane.values.end(), values.begin(), values.end(),
                      [](const auto& left, const auto& right) {
                        return left.first == right.first && left.second == right.second;
                      });
  });
  return found == end ? nullptr : &found->second.item;
}

void LaneTable::add(std::size_t statement, const KnownValues& values, CodeItem item) {
  lanes_.emplace(hash_of(statement, values),
                 Lane{statement, {values.begin(), values.end()}, std::move(item)});
}

CodeBlock lower_lanes(KernelVariables& variables, LaneTable& table, std::size_t statement,
                      const EmitContext& context) {
  LaneBlock block;
  if (variables.launch.options.statement_comments) {
    block.code.items.push_back(
        {CodeStatement{cgen::comment(describe(variables.launch.kernel.instructions[statement]))}});
  }
  LaneLowering(variables, table, statement, context).lower(context, block);
  return std::move(block.code);
}

}  // namespace rtcg::loopy
