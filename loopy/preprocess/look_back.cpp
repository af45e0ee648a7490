// Scans along the blocks of the grid in one launch, by decoupled look-back.
#include <algorithm>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/look_back_places.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/transform/loop_end.h"
#include "rtcg/loopy/transform/scan_over_grid.h"

namespace rtcg::loopy {
namespace {

/// Words of 64 bits, each with 32 bits of a value.
std::int64_t published_words(const ReductionOperation& operation) {
  std::int64_t words = 0;
  for (const cgen::Type& type : operation.types()) {
    words += (size_bytes(type) + 3) / 4;
  }
  return words;
}

}  // namespace

std::string Realizer::add_look_back_state(const Expr& length_words) {
  const std::string state =
      add_temporary("look_back_state", cgen::u64, AddressSpace::global, {2 + length_words});
  look_back_states_.push_back(state);
  return state;
}

std::vector<Expr> Realizer::look_back_with(const std::vector<Expr>& totals,
                                           const Reduction& reduction, const Instruction& around) {
  const ReductionOperation operation(kernel_, reduction, types_of_targets(kernel_, reduction));
  ScanSweeps sweeps;
  for (const std::string& each : around.within_inames) {
    const auto& constraints = find_home_domain(kernel_, reduction.inames.front())->constraints;
    const bool grows =
        std::any_of(constraints.constraints().begin(), constraints.constraints().end(),
                    [&](const Constraint& one) { return one.expr.coefficient(each) != 0; });
    sweeps.grid = grows ? each : sweeps.grid;
  }
  sweeps.thread = find_look_back_threads(kernel_);
  sweeps.publishes_first = true;
  std::string last;
  const std::vector<Expr> before = look_back(operation, totals, sweeps, around, last);
  new_dependencies_.insert(last);
  return before;
}

std::vector<Expr> Realizer::look_back(const ReductionOperation& operation,
                                      const std::vector<Expr>& total, const ScanSweeps& sweeps,
                                      const Instruction& threads, std::string& last) {
  const auto variables = [&](const std::string& base) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < operation.types().size(); ++i) {
      names.push_back(add_temporary(base + operation.suffix(i), operation.types()[i]));
    }
    return names;
  };
  const std::vector<std::string> before = variables("before");
  const std::vector<Expr> so_far = as_names(before);
  const std::vector<Expr> found = as_names(variables("found"));
  const std::vector<Expr> next = as_names(variables("found_next"));
  const std::vector<Expr> combined = as_names(variables("found_combined"));
  const std::vector<Expr> neutral = operation.neutral();
  const std::vector<Expr> found_and_next = operation.combine(found, next);
  const std::vector<Expr> found_and_before = operation.combine(found, so_far);
  const std::vector<Expr> before_and_total = operation.combine(so_far, total);
  LookBack code;
  for (std::size_t i = 0; i < total.size(); ++i) {
    code.values.push_back({.total = total[i],
                           .neutral = neutral[i],
                           .before = so_far[i],
                           .found = found[i],
                           .next = next[i],
                           .combined = combined[i],
                           .found_and_next = found_and_next[i],
                           .found_and_before = found_and_before[i],
                           .before_and_total = before_and_total[i]});
  }
  code.drawn = Name{add_temporary("drawn", cgen::u64)};
  const std::string thread = whole_axis(sweeps.thread);
  code.thread = Name{thread};
  code.tile = Name{sweeps.grid};
  Expr row = 0;
  Expr rows = 1;
  for (const std::string& each : threads.within_inames) {
    if (each != sweeps.grid) {
      const Expr length = end_of_loop(kernel_, each);
      row = row * length + Name{each};
      rows = rows * length;
    }
  }
  const Expr groups_of_groups =
      floor_div(end_of_loop(kernel_, sweeps.grid) + (tiles_of_groups - 1), tiles_of_groups);
  const Expr words_of_row = groups_of_groups * Expr(places_of_groups * published_words(operation));
  const std::string state = add_look_back_state(simplify_index(rows * words_of_row));
  // values of two words begin where a load of both may
  const std::int64_t first = published_words(operation) % 2 == 0 ? 2 : 1;
  code.published = access(state, {simplify_index(first + row * words_of_row)});

  Instruction statement;
  statement.id = names_.make("look_back");
  code.step = sweeps.publishes_first ? LookBack::Step::looks : LookBack::Step::publishes_and_looks;
  statement.kind = code;
  statement.within_inames = threads.within_inames;
  statement.within_inames.insert(thread);
  statement.depends_on = threads.depends_on;
  if (!last.empty()) {
    statement.depends_on.insert(last);
  }
  statement.call_site = threads.call_site;
  if (sweeps.publishes_first) {
    Instruction publication = statement;
    publication.id = names_.make("publish");
    code.step = LookBack::Step::publishes;
    publication.kind = code;
    kernel_.instructions.push_back(publication);
    statement.depends_on.insert(publication.id);
  }
  kernel_.instructions.push_back(statement);

  const SharedParts parts = add_parts(operation, {before, statement.id}, thread, 1, threads);
  Instruction first_thread = threads;
  first_thread.predicates.push_back(Comparison{ComparisonOp::equal, Name{thread}, 0});
  last = add_statements("_store", parts.at(0), as_names(before), parts.arrays,
                        statement.within_inames, first_thread, statement.id);
  return parts.at(0);
}

}  // namespace rtcg::loopy
