#include "rtcg/loopy/codegen/place_guards.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/codegen/call_runs.h"
#include "rtcg/loopy/codegen/level_guards.h"
#include "rtcg/loopy/codegen/split_threads.h"
#include "rtcg/loopy/codegen/whole_tiles.h"
#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

// What is done fewer times is as good as done once.
constexpr std::int64_t fewest_repetitions = 4;

/// Copies of a loop's body that a compiler is asked for if no number is given: of a loop of
/// unknown length, and at most.
constexpr std::int64_t copies_of_unknown_length = 8;
constexpr std::int64_t most_copies_asked_for = 64;

/// The factor of a hint: what is written, or the loop's length. "All" of a loop of unknown
/// length would be as many copies as the compiler can make.
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

/// Whether an iteration of the loop writes an element that a later one touches by other indices,
/// `w[i + 1, j + 1] = w[i, j]`, and does more than one such statement.
bool carries_elements(const Kernel& kernel, const LoopNode& loop, const EmitContext& context) {
  const StatementNode* only =
      loop.body.size() == 1 ? get_if<StatementNode>(loop.body.front()) : nullptr;
  if (only != nullptr && tag_of(kernel, loop.iname).kind == AxisKind::sequential) {
    const NameSet& inames = kernel.instructions[only->index].within_inames;
    const bool has_copies = std::any_of(inames.begin(), inames.end(), [&](const auto& iname) {
      return tag_of(kernel, iname).is_lane();
    });
    if (!has_copies) {  // compilers know one statement, and keep what it hands on in a register
      return false;
    }
  }
  std::vector<ArrayAccess> accesses;
  for (const std::size_t statement : statements_in(loop.body)) {
    for (ArrayAccess& access : accesses_of(kernel, kernel.instructions[statement])) {
      if (!access.indices.empty()) {
        accesses.push_back(std::move(access));
      }
    }
  }
  const auto is_carried = [&](const ArrayAccess& write, const ArrayAccess& later) {
    const Temporary* temporary = find_temporary(kernel, write.array);
    const bool is_global = temporary == nullptr || temporary->address_space == AddressSpace::global;
    // a tile is filled anew before each use: its fill and its use have loops of their own
    if (write.array != later.array || write.indices == later.indices ||
        (!is_global && write.inames != later.inames)) {
      return false;
    }
    ConstraintSet both = at_one_element(kernel, write, later);
    for (const std::string& iname : write.inames) {
      if (later.inames.count(iname) != 0 && context.known.count(iname) != 0) {
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

/// The inames that all statements are within.
NameSet shared_inames(const Kernel& kernel, const LoopTree& tree) {
  std::optional<NameSet> shared;
  for (const std::size_t statement : statements_in(tree)) {
    const NameSet& own = kernel.instructions[statement].within_inames;
    if (!shared) {
      shared = own;
    } else {
      std::erase_if(*shared, [&](const std::string& each) { return own.count(each) == 0; });
    }
  }
  return shared.value_or(NameSet{});
}

LoopTree part_of(const LoopTree& nodes, std::size_t begin, std::size_t end) {
  return {nodes.begin() + static_cast<std::ptrdiff_t>(begin),
          nodes.begin() + static_cast<std::ptrdiff_t>(end)};
}

void append(GuardedTree& tree, GuardedTree more) {
  tree.insert(tree.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

ContextRef make_context(EmitContext context) {
  return std::make_shared<const EmitContext>(std::move(context));
}

/// The guards to test one after the other, each unless the ones before imply it; they hold in
/// `context` afterwards.
Guards needed_tests(const Guards& guards, EmitContext& context) {
  Guards tests;
  for (const Constraint& guard : guards) {
    if (!context.assumptions.implies(guard)) {
      context.assumptions.add(guard);
      tests.push_back(guard);
    }
  }
  return tests;
}

class GuardPlacement {
 public:
  explicit GuardPlacement(const LaunchFacts& launch) : launch_(launch) {}

  GuardedTree level(const LoopTree& nodes, const ContextRef& context) {
    if (!launch_.thread_loops.empty() && !context->in_threads) {
      return split(nodes, context);
    }
    GuardedTree tree;
    LevelGuards guards(launch_, nodes, *context);
    for (std::size_t i = 0; i < nodes.size();) {
      std::size_t end = end_of_call(launch_, nodes, i, *context);
      const bool is_call = end != i;
      const Guards needed = is_call ? guards.shared_by(i, end) : guards.of_run(i);
      if (!needed.empty()) {
        // all that follows and needs these guards too goes under one test
        end = is_call ? end : guards.end_of_run(i, needed);
        tree.push_back(guarded(part_of(nodes, i, end), needed, context));
      } else if (is_call) {
        tree.push_back(call(part_of(nodes, i, end), context));
      } else if (const TileTests tile = whole_tile_tests(launch_, nodes[i], *context);
                 !tile.tests.empty()) {
        end = end_of_tile(launch_, nodes, i, tile, guards, *context);
        tree.push_back(versions(part_of(nodes, i, end), tile.tests, context));
      } else {
        end = i + 1;
        append(tree, node(nodes[i], context));
      }
      i = end;
    }
    return tree;
  }

 private:
  /// On the host: what differs by thread goes into loops over the threads, which barriers end.
  GuardedTree split(const LoopTree& nodes, const ContextRef& context) {
    GuardedTree tree;
    for (const LoopTree& segment : thread_segments(launch_.facts, nodes)) {
      switch (thread_share(launch_.facts, segment.front())) {
        case ThreadShare::none:
          append(tree, level(segment, of_first_thread(*context)));
          break;
        case ThreadShare::some:
          append(tree, loop(*get_if<LoopNode>(segment.front()), context));
          break;
        case ThreadShare::all: {
          EmitContext inside = *context;
          inside.in_threads = true;
          tree.push_back({ThreadLoops{context, level(segment, make_context(std::move(inside)))}});
          break;
        }
      }
    }
    return tree;
  }

  /// What is the same for all threads is done once.
  [[nodiscard]] ContextRef of_first_thread(EmitContext context) const {
    context.in_threads = true;
    for (const HardwareAxis* axis : launch_.thread_loops) {
      const Affine first = to_affine(axis->first).value_or(Affine(0));
      context.known.erase(axis->variable);
      context.values.insert_or_assign(axis->variable, first);
      context.assumptions.add_zero(Affine(axis->variable) - first);
    }
    return make_context(std::move(context));
  }

  GuardedNode guarded(const LoopTree& run, const Guards& guards, const ContextRef& context) {
    EmitContext inside = *context;
    Guards tests = needed_tests(guards, inside);
    return {GuardedIf{context, std::move(tests), level(run, make_context(std::move(inside))), {}}};
  }

  /// A version for whole tiles, in which the tests hold, and one for others.
  GuardedNode versions(const LoopTree& run, const Guards& wanted, const ContextRef& context) {
    EmitContext whole = *context;
    EmitContext partial = *context;
    partial.is_partial_tile = true;
    Guards tests = needed_tests(wanted, whole);
    if (tests.size() == 1) {
      partial.assumptions.add_nonnegative(-tests.front().expr - 1);
    }
    GuardedIf both{context, std::move(tests), {}, {}};
    const ContextRef of_whole = make_context(std::move(whole));
    const ContextRef of_partial = make_context(std::move(partial));
    for (const LoopTreeNode& each : run) {
      append(both.then_body, node(each, of_whole));
      append(both.else_body, node(each, of_partial));
    }
    return {std::move(both)};
  }

  GuardedNode call(const LoopTree& run, const ContextRef& context) {
    EmitContext inside = *context;
    inside.frame = call_frame(launch_, run);
    GuardedCall result{context, inside.frame, statements_in(run), {}};
    result.body = level(run, make_context(std::move(inside)));
    return {std::move(result)};
  }

  GuardedTree node(const LoopTreeNode& node, const ContextRef& context) {
    return match(
        node, [&](const LoopNode& each) { return loop(each, context); },
        [&](const StatementNode& each) {
          launch_.check_length(++statements_, each.index);
          return GuardedTree{{GuardedStatement{context, each.index}}};
        },
        [&](const BarrierNode&) {
          return launch_.rules.has_threads ? GuardedTree{{GuardedBarrier{}}} : GuardedTree{};
        },
        [&](const LaunchBoundaryNode&) {
          require_internal(false, "trees of one launch each");
          return GuardedTree{};
        });
  }

  GuardedTree loop(const LoopNode& loop, const ContextRef& context) {
    const Kernel& kernel = launch_.kernel;
    // the bounds cover all statements within, so they mention only inames that all share; with a
    // barrier or loops over the threads within, they are the same for all threads
    const NameSet shared = shared_inames(kernel, loop.body);
    const bool is_of_all = contains_barrier(LoopTreeNode{loop}) ||
                           (!launch_.thread_loops.empty() && !context->in_threads);
    std::vector<std::string> unknown;
    for (const std::string& iname : all_inames(kernel)) {
      const bool is_divergent = is_of_all && tag_of(kernel, iname).kind == AxisKind::block;
      if (context->known.count(iname) == 0 || is_divergent || shared.count(iname) == 0) {
        unknown.push_back(iname);
      }
    }
    std::vector<std::string> others = unknown;
    std::erase(others, loop.iname);
    ConstraintSet constraints = constraints_of(kernel, {loop.iname}).project_out(others);
    for (const auto& [iname, value] : context->values) {
      constraints = constraints.substitute(iname, value);
    }
    LoopBounds bounds = loop_bounds(constraints, loop.iname, unknown, context->assumptions);
    const InameTag tag = tag_of(kernel, loop.iname);
    const auto first = constant_lower(bounds);
    const auto last = constant_upper(bounds);
    const bool runs_once = first && last && *first + bounds.step > *last && *first <= *last;
    EmitContext inside = *context;
    inside.known.insert(loop.iname);
    if (tag.kind == AxisKind::unroll || runs_once) {
      return copies(loop, std::move(inside), std::move(constraints), bounds);
    }
    inside.in_loop = context->in_loop || !first || !last || *last - *first >= fewest_repetitions;
    inside.assumptions.add(bounds.implemented);
    GuardedLoop result{loop.iname,   context, std::move(bounds),
                       std::nullopt, false,   level(loop.body, make_context(std::move(inside)))};
    if (tag.kind == AxisKind::unroll_hint) {
      result.unroll = unroll_factor(tag.number, result.bounds, launch_.rules);
    }
    result.is_ordered =
        launch_.rules.marks_ordered_iterations && carries_elements(kernel, loop, *context);
    return {{std::move(result)}};
  }

  GuardedTree copies(const LoopNode& loop, EmitContext inside, ConstraintSet constraints,
                     const LoopBounds& bounds) {
    constraints.add(inside.assumptions);
    auto [first, last] = range_of(constraints, Affine(loop.iname));
    if (!first || !last) {
      // loops around may say less than the domain; statements have guards for the rest
      std::tie(first, last) =
          range_of(constraints_of(launch_.kernel, {loop.iname}), Affine(loop.iname));
    }
    if (!first || !last || *last - *first >= most_copies) {
      throw InvalidInput(
          "loopy.generate.too_many_copies",
          fmt::format("loop '{}' is to be unrolled, but {}: split it and unroll the inner part",
                      loop.iname,
                      first && last ? fmt::format("it has {} iterations, of at most {}",
                                                  *last - *first + 1, most_copies)
                                    : std::string("its length is not a constant")));
    }
    GuardedTree tree;
    for (std::int64_t value = *first; value <= *last; ++value) {
      if ((value - bounds.remainder) % bounds.step == 0) {
        inside.values.insert_or_assign(loop.iname, Affine(value));
        append(tree, level(loop.body, make_context(inside)));
      }
    }
    return tree;
  }

  const LaunchFacts& launch_;
  std::int64_t statements_ = 0;  // of the text, lanes not counted
};

/// Whether others than the block itself could notice that the statement does not run.
bool is_seen_outside(const LaunchFacts& launch, std::size_t statement) {
  const Instruction& instruction = launch.kernel.instructions[statement];
  return !is<BarrierInstruction>(instruction) && !is<CopyFence>(instruction) &&
         (!is<Assignment>(instruction) || launch.facts.writes_global(statement));
}

/// What a statement's domain says of the place of its block alone.
ConstraintSet domain_of_blocks(const LaunchFacts& launch, std::size_t statement) {
  const ConstraintSet& domain = launch.facts.domain(statement);
  std::vector<std::string> others;
  for (const std::string& name : domain.names()) {
    if (is_iname(launch.kernel, name) && (launch.context->known.count(name) == 0 ||
                                          tag_of(launch.kernel, name).kind == AxisKind::block)) {
      others.push_back(name);
    }
  }
  ConstraintSet blocks = domain.project_out(others);
  for (const auto& [iname, value] : launch.context->values) {
    blocks = blocks.substitute(iname, value);
  }
  return blocks;
}

/// Constraints between axes of the grid, `j_0 <= i_0`, that all results of a block need: other
/// blocks do nothing. Only for blocks with barriers: without them each statement has its test.
Guards tests_of_blocks(const LaunchFacts& launch, const LoopTree& tree) {
  if (std::none_of(tree.begin(), tree.end(), contains_barrier)) {
    return {};
  }
  const auto relates_axes = [&](const Constraint& each) {
    int axes = 0;
    for (const Affine::Term& term : each.expr.terms()) {
      if (find_temporary(launch.kernel, term.name) != nullptr) {
        return false;
      }
      axes += tag_of(launch.kernel, term.name).kind == AxisKind::grid ? 1 : 0;
    }
    return axes >= 2 && !launch.context->assumptions.implies(each);
  };
  std::optional<Guards> tests;
  for (const std::size_t statement : launch.statements) {
    if (!is_seen_outside(launch, statement) || (tests && tests->empty())) {
      continue;
    }
    const ConstraintSet own = domain_of_blocks(launch, statement);
    if (tests) {
      std::erase_if(*tests, [&](const Constraint& each) { return !own.implies(each); });
      continue;
    }
    tests = own.constraints();
    std::erase_if(*tests, [&](const Constraint& each) { return !relates_axes(each); });
  }
  return tests.value_or(Guards{});
}

}  // namespace

GuardedTree place_guards(const LaunchFacts& launch, const LoopTree& tree) {
  GuardPlacement placement(launch);
  const Guards wanted = tests_of_blocks(launch, tree);
  EmitContext inside = *launch.context;
  Guards tests = needed_tests(wanted, inside);
  if (tests.empty()) {
    return placement.level(tree, launch.context);
  }
  GuardedIf both{launch.context, std::move(tests), {}, {}};
  both.then_body = placement.level(tree, make_context(std::move(inside)));
  GuardedTree result;
  result.push_back({std::move(both)});
  return result;
}

}  // namespace rtcg::loopy
