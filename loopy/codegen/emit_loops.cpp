// Levels of the tree: guards around runs of nodes, loops, unrolled copies.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {
namespace {

// What is done fewer times is as good as done once.
constexpr std::int64_t fewest_repetitions = 4;

std::vector<std::string> unknown_but(std::vector<std::string> unknown, const std::string& iname) {
  unknown.erase(std::remove(unknown.begin(), unknown.end(), iname), unknown.end());
  return unknown;
}

/// Copies of a loop's body that a compiler is asked for where nobody says how many: of a loop of
/// unknown length, and at most.
constexpr std::int64_t copies_of_unknown_length = 8;
constexpr std::int64_t most_copies_asked_for = 64;

/// The factor of a hint: what is written, or the loop's length. "All" of a loop whose length
/// nobody knows would be as many copies as the compiler can make.
int unroll_factor(int written, const LoopBounds& bounds, const TargetRules& rules) {
  const auto first = constant_lower(bounds);
  std::optional<std::int64_t> longest;
  for (const Bound& bound : bounds.upper) {
    if (first && bound.numerator.is_constant()) {
      const std::int64_t last = divide_rounding_down(bound.numerator.constant(), bound.divisor);
      const std::int64_t length = std::max<std::int64_t>((last - *first) / bounds.step + 1, 1);
      longest = std::min(longest.value_or(length), length);
    }
  }
  if (written > 0) {
    return static_cast<int>(std::min<std::int64_t>(written, longest.value_or(written)));
  }
  if (!longest) {
    return copies_of_unknown_length;
  }
  return *longest > most_copies_asked_for ? most_copies_asked_for
         : rules.states_short_lengths     ? static_cast<int>(*longest)
                                          : 0;
}

/// What all nodes of a run need.
Guards shared_guards(const std::vector<Guards>& needed, std::size_t begin, std::size_t end) {
  Guards shared = needed[begin];
  for (std::size_t i = begin + 1; i < end; ++i) {
    std::erase_if(shared, [&](const Constraint& each) {
      return std::find(needed[i].begin(), needed[i].end(), each) == needed[i].end();
    });
  }
  return shared;
}

}  // namespace

CodeBlock Emitter::emit_level(const LoopTree& nodes, const EmitContext& place) {
  if (splits_threads() && !place.in_threads) {
    return emit_split(nodes, place);
  }
  CodeBlock block;
  std::vector<Guards> needed;
  LevelGuards known;
  for (const LoopTreeNode& node : nodes) {
    needed.push_back(needed_guards(node, place, known));
  }
  for (std::size_t i = 0; i < nodes.size();) {
    if (const std::size_t end = end_of_call(nodes, i); end != i) {
      const LoopTree run(nodes.begin() + static_cast<std::ptrdiff_t>(i),
                         nodes.begin() + static_cast<std::ptrdiff_t>(end));
      const Guards shared = shared_guards(needed, i, end);
      if (shared.empty()) {
        emit_call(run, place, block);
      } else {
        block.items.push_back(emit_guarded(run, shared, place));
      }
      i = end;
      continue;
    }
    const Guards guards = guards_of_run(nodes, needed, i, place, known);
    if (guards.empty()) {
      i = emit_tile(nodes, i, needed, place, block);
      continue;
    }
    // all that follows and needs these guards too goes under one test
    std::size_t end = i + 1;
    std::size_t last_in_need = end;
    while (end < nodes.size() && may_stand_under(nodes[end], guards, place, known)) {
      ++end;
      last_in_need = needed[end - 1].empty() ? last_in_need : end;
    }
    const LoopTree run(nodes.begin() + static_cast<std::ptrdiff_t>(i),
                       nodes.begin() + static_cast<std::ptrdiff_t>(last_in_need));
    block.items.push_back(emit_guarded(run, guards, place));
    i = last_in_need;
  }
  return block;
}

CodeItem Emitter::emit_guarded(const LoopTree& run, const Guards& guards, EmitContext place) {
  // tested one after the other, so that what the first ones say may make later ones superfluous
  std::optional<cgen::Expr> condition;
  for (const Constraint& guard : guards) {
    if (place.context.implies(guard)) {
      continue;
    }
    const cgen::Expr test = lower_constraint(scope_of(place), guard);
    condition = condition ? *condition && test : test;
    place.context.add(guard);
  }
  return {CodeIf{*condition, emit_level(run, place), std::nullopt, false}};
}

void Emitter::emit_node(const LoopTreeNode& node, const EmitContext& place, CodeBlock& block) {
  match(
      node, [&](const LoopNode& loop) { emit_loop(loop, place, block); },
      [&](const StatementNode& statement) { emit_statement(statement.index, place, block); },
      [&](const BarrierNode&) {
        if (rules_.has_threads) {
          block.items.push_back({CodeStatement{cgen::barrier()}});
        }
      },
      [&](const LaunchBoundaryNode&) { require_internal(false, "trees of one launch each"); });
}

NameSet Emitter::shared_inames(const LoopTree& tree) const {
  std::optional<NameSet> shared;
  for (const std::size_t statement : statements_in(tree)) {
    const NameSet& own = kernel_.instructions[statement].within_inames;
    if (!shared) {
      shared = own;
    } else {
      std::erase_if(*shared, [&](const std::string& each) { return own.count(each) == 0; });
    }
  }
  return shared.value_or(NameSet{});
}

void Emitter::emit_loop(const LoopNode& loop, const EmitContext& place, CodeBlock& block) {
  // the bounds cover all statements within, so they speak only of inames that all share; with a
  // barrier within, they are the same for all threads
  const NameSet shared = shared_inames(loop.body);
  const bool has_barrier = contains_barrier(LoopTreeNode{loop});
  std::vector<std::string> unknown;
  for (const std::string& iname : all_inames(kernel_)) {
    const bool is_divergent = has_barrier && tag_of(kernel_, iname).kind == AxisKind::block;
    if (place.known.count(iname) == 0 || is_divergent || shared.count(iname) == 0) {
      unknown.push_back(iname);
    }
  }
  const ExprScope scope = scope_of(place);
  ConstraintSet constraints =
      constraints_of(kernel_, {loop.iname}).project_out(unknown_but(unknown, loop.iname));
  for (const auto& [iname, value] : place.values) {
    constraints = constraints.substitute(iname, value);
  }
  const LoopBounds bounds = loop_bounds(constraints, loop.iname, unknown, place.context);
  const InameTag tag = tag_of(kernel_, loop.iname);
  const auto first = constant_lower(bounds);
  const auto last = constant_upper(bounds);
  const bool runs_once = first && last && *first + bounds.step > *last && *first <= *last;
  EmitContext inside = place;
  inside.known.insert(loop.iname);
  if (tag.kind == AxisKind::unroll || runs_once) {
    emit_copies(loop, inside, constraints, bounds, block);
    return;
  }
  inside.in_loop = place.in_loop || !first || !last || *last - *first >= fewest_repetitions;
  inside.context.add(bounds.implemented);
  CodeLoop code{loop.iname,
                options_.index_type,
                lower_first_value(scope, bounds),
                lower_end_value(scope, bounds),
                1,
                {},
                {},
                false,
                {}};
  if (bounds.step != 1) {
    code.step = static_cast<int>(bounds.step);
  }
  if (tag.kind == AxisKind::unroll_hint) {
    code.unroll = unroll_factor(tag.number, bounds, rules_);
  }
  code.body = emit_level(loop.body, inside);
  if (code.body.items.empty()) {
    return;  // the tests around leave nothing to do
  }
  if (rules_.marks_ordered_iterations && carries_elements(loop, place)) {
    const HelperFunction order(Helper::ordered_iterations);
    helpers_.insert(order);
    code.body.items.insert(
        code.body.items.begin(),
        {CodeStatement{cgen::Statement(cgen::call(order.name(), {}, cgen::void_type))}});
  }
  block.items.push_back({std::move(code)});
}

bool Emitter::carries_elements(const LoopNode& loop, const EmitContext& place) const {
  const StatementNode* only =
      loop.body.size() == 1 ? get_if<StatementNode>(loop.body.front()) : nullptr;
  if (only != nullptr && tag_of(kernel_, loop.iname).kind == AxisKind::sequential) {
    const NameSet& inames = kernel_.instructions[only->index].within_inames;
    const bool has_copies = std::any_of(inames.begin(), inames.end(), [&](const auto& iname) {
      return tag_of(kernel_, iname).is_lane();
    });
    if (!has_copies) {  // compilers know one statement, and keep what it hands on in a register
      return false;
    }
  }
  std::vector<ArrayAccess> accesses;
  for (const std::size_t statement : statements_in(loop.body)) {
    for (ArrayAccess& access : accesses_of(kernel_, kernel_.instructions[statement])) {
      if (!access.indices.empty()) {
        accesses.push_back(std::move(access));
      }
    }
  }
  const auto is_carried = [&](const ArrayAccess& write, const ArrayAccess& later) {
    const Temporary* temporary = named_.find_temporary(write.array);
    const bool is_global = temporary == nullptr || temporary->address_space == AddressSpace::global;
    // a tile is filled anew before each use: its fill and its use have loops of their own
    if (write.array != later.array || write.indices == later.indices ||
        (!is_global && write.inames != later.inames)) {
      return false;
    }
    ConstraintSet both = at_one_element(kernel_, write, later);
    for (const std::string& iname : write.inames) {
      if (later.inames.count(iname) != 0 && place.known.count(iname) != 0) {
        both.add_zero(Affine(iname + "'1") - Affine(iname + "'2"));
      }
    }
    both.add_nonnegative(Affine(loop.iname + "'2") - Affine(loop.iname + "'1") - 1);
    return !both.is_empty();
  };
  return std::any_of(accesses.begin(), accesses.end(), [&](const ArrayAccess& write) {
    return write.is_write &&
           std::any_of(accesses.begin(), accesses.end(),
                       [&](const ArrayAccess& later) { return is_carried(write, later); });
  });
}

void Emitter::emit_copies(const LoopNode& loop, EmitContext& inside,
                          const ConstraintSet& constraints, const LoopBounds& bounds,
                          CodeBlock& block) {
  const std::optional<std::int64_t> first = smallest(constraints, inside, loop.iname);
  const std::optional<std::int64_t> last = largest(constraints, inside, loop.iname);
  if (!first || !last || *last - *first >= most_copies) {
    throw InvalidInput(
        "loopy.generate.too_many_copies",
        fmt::format("loop '{}' is to be unrolled, but {}: split it and unroll the inner part",
                    loop.iname,
                    first && last ? fmt::format("it has {} iterations, of at most {}",
                                                *last - *first + 1, most_copies)
                                  : std::string("its length is not a constant")));
  }
  for (std::int64_t value = *first; value <= *last; ++value) {
    if ((value - bounds.remainder) % bounds.step != 0) {
      continue;
    }
    inside.values.insert_or_assign(loop.iname, Affine(value));
    EmitContext copy = inside;
    append(block, emit_level(loop.body, copy));
  }
}

std::optional<std::int64_t> Emitter::smallest(const ConstraintSet& constraints,
                                              const EmitContext& place,
                                              const std::string& iname) const {
  ConstraintSet all = constraints;
  all.add(place.context);
  return all.minimum(Affine(iname));
}

std::optional<std::int64_t> Emitter::largest(const ConstraintSet& constraints,
                                             const EmitContext& place,
                                             const std::string& iname) const {
  ConstraintSet all = constraints;
  all.add(place.context);
  return all.maximum(Affine(iname));
}

}  // namespace rtcg::loopy
