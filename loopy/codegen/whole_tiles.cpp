#include "rtcg/loopy/codegen/whole_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/codegen/call_runs.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

// Below, two versions of the code cost more than the tests.
constexpr std::int64_t fewest_runs = 4;
constexpr std::int64_t fewest_runs_of_loops_at_top = 256;
constexpr std::int64_t fewest_tests = 8;
// Above, the text grows too long.
constexpr std::int64_t most_written = 1024;
constexpr std::int64_t longest_tile = 1 << 20;
// Of a loop whose length is not known.
constexpr std::int64_t typical_length = 16;

/// How often the statement runs for what is known here, or how often its text is written.
std::int64_t runs_within(const LaunchFacts& launch, std::size_t statement,
                         const EmitContext& context, bool only_written) {
  std::int64_t runs = 1;
  for (const std::string& iname : launch.kernel.instructions[statement].within_inames) {
    const InameTag tag = tag_of(launch.kernel, iname);
    if (context.known.count(iname) != 0 ||
        (only_written && !tag.is_lane() && tag.kind != AxisKind::unroll)) {
      continue;
    }
    const auto range = launch.constant_range(iname);
    const std::int64_t length = range ? range->second - range->first + 1 : typical_length;
    runs *= std::clamp<std::int64_t>(length, 1, most_copies);
    runs = std::min(runs, longest_tile);
  }
  return runs;
}

/// Variables that the statements set.
NameSet written_in(const LaunchFacts& launch, const std::vector<std::size_t>& statements) {
  NameSet written;
  for (const std::size_t statement : statements) {
    written.merge(written_variables(launch.kernel.instructions[statement]));
  }
  return written;
}

bool mentions_any(const Affine& expr, const NameSet& names) {
  return std::any_of(expr.terms().begin(), expr.terms().end(),
                     [&](const Affine::Term& term) { return names.count(term.name) != 0; });
}

bool is_warp_function(std::string_view name) {
  constexpr std::string_view functions[] = {shuffle_xor_function, shuffle_up_function,
                                            shuffle_function, warp_any_function, warp_all_function};
  return std::find(std::begin(functions), std::end(functions), name) != std::end(functions);
}

/// Whether all threads of a warp take part in one of the statements: they take the same branch.
bool takes_whole_warps(const LaunchFacts& launch, const std::vector<std::size_t>& statements) {
  return std::any_of(statements.begin(), statements.end(), [&](std::size_t statement) {
    const Instruction& instruction = launch.kernel.instructions[statement];
    bool exchanges = is<WarpProduct>(instruction);
    for_each_expression(instruction, [&](const Expr& expr) {
      for (const std::string& function : called_functions(expr)) {
        exchanges = exchanges || is_warp_function(function);
      }
    });
    return exchanges;
  });
}

/// The smallest value of `expr` for all values of the inames that are not known here, if what is
/// known steps from tile to tile.
///
/// @param written         in the tile: such values are not known before it
/// @param is_for_threads  for all threads of the block, too
std::optional<Affine> at_worst(const LaunchFacts& launch, const Affine& expr,
                               const EmitContext& context, const NameSet& written,
                               bool is_for_threads) {
  if (mentions_any(expr, written)) {
    return std::nullopt;
  }
  Affine rest = expr;
  std::int64_t extent = 0;
  for (const Affine::Term& term : expr.terms()) {
    const bool is_thread = is_for_threads && is_iname(launch.kernel, term.name) &&
                           tag_of(launch.kernel, term.name).kind == AxisKind::block;
    if (!is_iname(launch.kernel, term.name) ||
        (context.known.count(term.name) != 0 && !is_thread)) {
      continue;
    }
    const auto range = launch.constant_range(term.name);
    if (!range || range->second - range->first > longest_tile ||
        std::abs(term.coefficient) > longest_tile) {
      return std::nullopt;
    }
    rest = rest.substitute(term.name, term.coefficient > 0 ? range->first : range->second);
    extent += std::abs(term.coefficient) * (range->second - range->first);
  }
  // tiles follow each other: all but the last one are whole
  const bool is_edge =
      std::any_of(rest.terms().begin(), rest.terms().end(), [&](const Affine::Term& term) {
        return is_iname(launch.kernel, term.name) && std::abs(term.coefficient) >= extent;
      });
  if (!is_edge) {
    return std::nullopt;
  }
  return rest.terms().size() == 1 ? rest.divided_rounding_down(rest.coefficient_gcd()) : rest;
}

/// @param runs  of the statement
void add_tests(const LaunchFacts& launch, std::size_t statement, std::int64_t runs,
               const EmitContext& context, const NameSet& written, bool is_for_threads,
               TileTests& found) {
  for (const Constraint& constraint : launch.facts.tested(statement)) {
    const Constraint here = with_values(context.values, constraint);
    const auto test = here.is_equality
                          ? std::nullopt
                          : at_worst(launch, here.expr, context, written, is_for_threads);
    if (!test || context.assumptions.implies(here) ||
        context.assumptions.implies_nonnegative(*test)) {
      continue;
    }
    found.saved += runs;
    found.differ = found.differ || !launch.is_testable(constraint.expr, context);
    if (std::none_of(found.tests.begin(), found.tests.end(),
                     [&](const Constraint& each) { return each.expr == *test; })) {
      found.tests.push_back({*test, false});
    }
  }
}

/// @param fewest  runs of a statement that a test is to be saved for
TileTests find_tests(const LaunchFacts& launch, const LoopTreeNode& node,
                     const EmitContext& context, std::int64_t fewest) {
  const bool has_threads = launch.rules.has_threads && launch.axes.has_block_axes();
  const bool is_one = is<StatementNode>(node);
  TileTests found;
  const std::vector<std::size_t> statements = statements_in(node);
  const NameSet written = written_in(launch, statements);
  const bool is_for_threads = takes_whole_warps(launch, statements);
  for (const std::size_t statement : statements) {
    const std::vector<std::string>& lanes = launch.facts.lanes(statement);
    const bool is_vector =
        is_one && lanes.size() == 1 && tag_of(launch.kernel, lanes[0]).kind == AxisKind::vec;
    const Assignment* assignment = get_if<Assignment>(launch.kernel.instructions[statement]);
    const bool is_async =
        launch.rules.has_async_copies && assignment != nullptr && assignment->is_async_copy;
    found.has_versions = found.has_versions || is_vector || is_async;
    if (is_vector || is_async || (lanes.empty() && (is_one || !has_threads))) {
      continue;  // vectors have two versions of their own, copies have a length as an operand
    }
    found.written += runs_within(launch, statement, context, true);
    const std::int64_t runs = runs_within(launch, statement, context, false);
    if (runs >= fewest) {
      add_tests(launch, statement, runs, context, written, is_for_threads, found);
    }
  }
  return found;
}

}  // namespace

TileTests whole_tile_tests(const LaunchFacts& launch, const LoopTreeNode& node,
                           const EmitContext& context) {
  if (!launch.options.test_whole_tiles || context.is_partial_tile || context.in_threads ||
      contains_barrier(node)) {
    return {};
  }
  const LoopNode* loop = get_if<LoopNode>(node);
  const bool is_written =
      loop == nullptr || tag_of(launch.kernel, loop->iname).kind == AxisKind::unroll;
  TileTests found =
      find_tests(launch, node, context,
                 is_written || context.in_loop ? fewest_runs : fewest_runs_of_loops_at_top);
  const bool never =
      std::any_of(found.tests.begin(), found.tests.end(), [&](const Constraint& each) {
        return context.assumptions.implies_nonnegative(-each.expr - 1);
      });
  const bool pays = found.differ && found.saved >= fewest_tests && found.written <= most_written;
  return pays && !never ? found : TileTests{};
}

std::size_t end_of_tile(const LaunchFacts& launch, const LoopTree& nodes, std::size_t first,
                        const TileTests& tile, const LevelGuards& guards,
                        const EmitContext& context) {
  std::size_t end = first + 1;
  std::int64_t written = tile.written;
  const bool is_for_threads = takes_whole_warps(launch, statements_in(nodes[first]));
  for (std::size_t next = end; next < nodes.size(); ++next) {
    const std::vector<std::size_t> inside = statements_in(nodes[next]);
    const bool has_lanes = std::all_of(inside.begin(), inside.end(), [&](std::size_t statement) {
      return !launch.facts.lanes(statement).empty();
    });
    const NameSet changed = written_in(launch, inside);
    const bool changes_tests =
        std::any_of(tile.tests.begin(), tile.tests.end(),
                    [&](const Constraint& each) { return mentions_any(each.expr, changed); });
    if (!has_lanes || changes_tests || (takes_whole_warps(launch, inside) && !is_for_threads) ||
        contains_barrier(nodes[next]) || !guards.of(next).empty() ||
        end_of_call(launch, nodes, next, context) != next) {
      return end;
    }
    const TileTests own = find_tests(launch, nodes[next], context, 1);
    written += own.written;
    const bool is_covered =
        std::all_of(own.tests.begin(), own.tests.end(), [&](const Constraint& each) {
          return std::find(tile.tests.begin(), tile.tests.end(), each) != tile.tests.end();
        });
    if (own.has_versions || !is_covered || written > most_written) {
      return end;
    }
    end = own.tests.empty() ? end : next + 1;
  }
  return end;
}

}  // namespace rtcg::loopy
