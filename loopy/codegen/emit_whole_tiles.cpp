// One test of a whole tile in place of the tests of its parts.
#include <algorithm>
#include <cstdlib>

#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/codegen/join_conditions.h"
#include "rtcg/loopy/polyhedral/range_of.h"

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

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> Emitter::constant_range(
    const std::string& iname) {
  const auto known = ranges_.find(iname);
  if (known != ranges_.end()) {
    return known->second;
  }
  ConstraintSet constraints = constraints_of(kernel_, {iname});
  constraints.add(axes_.context);
  const auto [first, last] = range_of(constraints, Affine(iname));
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
  if (first && last) {
    range = std::pair(*first, *last);
  }
  return ranges_.emplace(iname, range).first->second;
}

std::int64_t Emitter::runs_within(std::size_t statement, const EmitContext& place,
                                  bool only_written) {
  std::int64_t runs = 1;
  for (const std::string& iname : kernel_.instructions[statement].within_inames) {
    const InameTag tag = tag_of(kernel_, iname);
    if (place.known.count(iname) != 0 ||
        (only_written && !tag.is_lane() && tag.kind != AxisKind::unroll)) {
      continue;
    }
    const auto range = constant_range(iname);
    const std::int64_t length = range ? range->second - range->first + 1 : typical_length;
    runs *= std::clamp<std::int64_t>(length, 1, most_copies);
    runs = std::min(runs, longest_tile);
  }
  return runs;
}

std::optional<Affine> Emitter::at_worst(const Affine& expr, const EmitContext& place) {
  Affine rest = expr;
  std::int64_t extent = 0;
  for (const Affine::Term& term : expr.terms()) {
    if (find_temporary(kernel_, term.name) != nullptr) {
      return std::nullopt;  // it may be computed further in
    }
    if (!is_iname(kernel_, term.name) || place.known.count(term.name) != 0) {
      continue;
    }
    const auto range = constant_range(term.name);
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
        return is_iname(kernel_, term.name) && std::abs(term.coefficient) >= extent;
      });
  if (!is_edge) {
    return std::nullopt;
  }
  return rest.terms().size() == 1 ? rest.divided_rounding_down(rest.coefficient_gcd()) : rest;
}

void Emitter::add_tile_tests(std::size_t statement, std::int64_t runs, const EmitContext& place,
                             TileTests& found) {
  const ExprScope scope = scope_of(place);
  for (const Constraint& constraint : facts_.tested(statement)) {
    const Constraint here{with_values(scope, constraint.expr), constraint.is_equality};
    const auto test = here.is_equality ? std::nullopt : at_worst(here.expr, place);
    if (!test || place.context.implies(here) || place.context.implies_nonnegative(*test)) {
      continue;
    }
    found.saved += runs;
    found.differ = found.differ || !is_testable(constraint.expr, place);
    if (std::none_of(found.tests.begin(), found.tests.end(),
                     [&](const Constraint& each) { return each.expr == *test; })) {
      found.tests.push_back({*test, false});
    }
  }
}

Emitter::TileTests Emitter::find_tile_tests(const LoopTreeNode& node, const EmitContext& place,
                                            std::int64_t fewest) {
  const bool has_threads = rules_.has_threads && axes_.has_block_axes();
  const bool is_one = is<StatementNode>(node);
  TileTests found;
  for (const std::size_t statement : statements_in(node)) {
    const std::vector<std::string>& lanes = facts_.lanes(statement);
    const bool is_vector =
        is_one && lanes.size() == 1 && tag_of(kernel_, lanes[0]).kind == AxisKind::vec;
    const Assignment* assignment = get_if<Assignment>(kernel_.instructions[statement]);
    const bool is_async =
        rules_.has_async_copies && assignment != nullptr && assignment->is_async_copy;
    found.has_versions = found.has_versions || is_vector || is_async;
    if (is_vector || is_async || (lanes.empty() && (is_one || !has_threads))) {
      continue;  // vectors have two versions of their own, copies have a length as an operand
    }
    found.written += runs_within(statement, place, true);
    const std::int64_t runs = runs_within(statement, place, false);
    if (runs >= fewest) {
      add_tile_tests(statement, runs, place, found);
    }
  }
  return found;
}

Emitter::TileTests Emitter::whole_tile_tests(const LoopTreeNode& node, const EmitContext& place) {
  if (!options_.test_whole_tiles || place.is_partial_tile || place.in_threads ||
      contains_barrier(node)) {
    return {};
  }
  const LoopNode* loop = get_if<LoopNode>(node);
  const bool is_written = loop == nullptr || tag_of(kernel_, loop->iname).kind == AxisKind::unroll;
  TileTests found = find_tile_tests(
      node, place, is_written || place.in_loop ? fewest_runs : fewest_runs_of_loops_at_top);
  const bool never = std::any_of(
      found.tests.begin(), found.tests.end(),
      [&](const Constraint& each) { return place.context.implies_nonnegative(-each.expr - 1); });
  const bool pays = found.differ && found.saved >= fewest_tests && found.written <= most_written;
  return pays && !never ? found : TileTests{};
}

std::size_t Emitter::end_of_tile(const LoopTree& nodes, std::size_t first,
                                 const std::vector<Guards>& needed, const TileTests& tile,
                                 const EmitContext& place) {
  std::size_t end = first + 1;
  std::int64_t written = tile.written;
  for (std::size_t next = end; next < nodes.size(); ++next) {
    const std::vector<std::size_t> inside = statements_in(nodes[next]);
    const bool has_lanes = std::all_of(inside.begin(), inside.end(), [&](std::size_t statement) {
      return !facts_.lanes(statement).empty();
    });
    if (!has_lanes || contains_barrier(nodes[next]) || !needed[next].empty() ||
        end_of_call(nodes, next) != next) {
      return end;
    }
    const TileTests own = find_tile_tests(nodes[next], place, 1);
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

std::size_t Emitter::emit_tile(const LoopTree& nodes, std::size_t first,
                               const std::vector<Guards>& needed, const EmitContext& place,
                               CodeBlock& block) {
  const TileTests tile = whole_tile_tests(nodes[first], place);
  if (tile.tests.empty()) {
    emit_node(nodes[first], place, block);
    return first + 1;
  }
  const std::size_t end = end_of_tile(nodes, first, needed, tile, place);
  EmitContext whole = place;
  EmitContext partial = place;
  partial.is_partial_tile = true;
  std::optional<cgen::Expr> condition;
  std::vector<Affine> tested;
  for (const Constraint& test : tile.tests) {
    if (!whole.context.implies(test)) {
      const cgen::Expr lowered = lower_constraint(scope_of(whole), test);
      condition = condition ? *condition && lowered : lowered;
      whole.context.add(test);
      tested.push_back(test.expr);
    }
  }
  if (tested.size() == 1) {
    partial.context.add_nonnegative(-tested.front() - 1);
  }
  CodeBlock without_tests;
  CodeBlock with_tests;
  for (std::size_t i = first; i < end; ++i) {
    emit_node(nodes[i], whole, without_tests);
    emit_node(nodes[i], partial, with_tests);
  }
  with_tests = gather_conditions(std::move(with_tests), variables_);
  block.items.push_back(
      {CodeIf{*condition, std::move(without_tests), if_any(std::move(with_tests)), false}});
  return end;
}

}  // namespace rtcg::loopy
