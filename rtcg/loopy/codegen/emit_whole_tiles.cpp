// One test of a whole tile in place of the tests of its parts.
#include <algorithm>
#include <cstdlib>

#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {
namespace {

// Below, two versions of the code cost more than the tests.
constexpr std::int64_t fewest_runs = 4;
constexpr std::int64_t fewest_runs_of_loops_at_top = 256;
constexpr std::int64_t fewest_tests = 8;
// Above, the text grows too long.
constexpr std::int64_t most_written = 512;
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
  constraints.add(axes_.facts);
  const auto first = constraints.minimum(Affine(iname));
  const auto last = first ? constraints.maximum(Affine(iname)) : std::nullopt;
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
  if (last) {
    range = std::pair(*first, *last);
  }
  return ranges_.emplace(iname, range).first->second;
}

std::int64_t Emitter::runs_within(std::size_t statement, const Place& place, bool only_written) {
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

std::optional<Affine> Emitter::at_worst(const Affine& expr, const Place& place) {
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

void Emitter::add_tile_tests(std::size_t statement, const Place& place, TileTests& found) {
  const ExprScope scope = scope_of(place);
  const std::int64_t runs = runs_within(statement, place, false);
  for (const Constraint& constraint : facts_.tested(statement)) {
    const Constraint here{with_values(scope, constraint.expr), constraint.is_equality};
    const auto test = here.is_equality ? std::nullopt : at_worst(here.expr, place);
    if (!test || place.facts.implies(here) || place.facts.implies_nonnegative(*test)) {
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

Guards Emitter::whole_tile_tests(const LoopTreeNode& node, const Place& place) {
  if (!options_.test_whole_tiles || place.is_partial_tile || place.in_threads ||
      contains_barrier(node)) {
    return {};
  }
  const bool has_threads = target_ != Target::host && axes_.has_block_axes();
  const bool is_one = is<StatementNode>(node);
  const std::int64_t fewest = is_one || place.in_loop ? fewest_runs : fewest_runs_of_loops_at_top;
  TileTests found;
  std::int64_t written = 0;
  for (const std::size_t statement : statements_in(node)) {
    const std::vector<std::string>& lanes = facts_.lanes(statement);
    const bool is_vector =
        is_one && lanes.size() == 1 && tag_of(kernel_, lanes[0]).kind == AxisKind::vec;
    if (is_vector || (lanes.empty() && (is_one || !has_threads))) {
      continue;  // vectors have two versions of their own
    }
    written += runs_within(statement, place, true);
    if (runs_within(statement, place, false) >= fewest) {
      add_tile_tests(statement, place, found);
    }
  }
  const bool never = std::any_of(
      found.tests.begin(), found.tests.end(),
      [&](const Constraint& each) { return place.facts.implies_nonnegative(-each.expr - 1); });
  const bool pays = found.differ && found.saved >= fewest_tests && written <= most_written;
  return pays && !never ? found.tests : Guards{};
}

void Emitter::emit_tile(const LoopTreeNode& node, const Place& place, CodeBlock& block) {
  const Guards tests = whole_tile_tests(node, place);
  if (tests.empty()) {
    emit_node(node, place, block);
    return;
  }
  Place whole = place;
  Place partial = place;
  partial.is_partial_tile = true;
  std::optional<cgen::Expr> condition;
  touched_.clear();
  std::vector<Affine> tested;
  for (const Constraint& test : tests) {
    if (!whole.facts.implies(test)) {
      const cgen::Expr lowered = lower_constraint(scope_of(whole), test);
      condition = condition ? *condition && lowered : lowered;
      whole.facts.add(test);
      tested.push_back(test.expr);
    }
  }
  if (tested.size() == 1) {
    partial.facts.add_nonnegative(-tested.front() - 1);
  }
  const std::set<std::string> in_condition = touched_;
  CodeBlock without_tests;
  CodeBlock with_tests;
  emit_node(node, whole, without_tests);
  emit_node(node, partial, with_tests);
  CodeItem item =
      make_if({*condition, std::move(without_tests), if_any(std::move(with_tests)), false});
  item.variables.insert(in_condition.begin(), in_condition.end());
  block.items.push_back(std::move(item));
}

}  // namespace rtcg::loopy
