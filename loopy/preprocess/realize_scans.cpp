// Scans: reductions that grow as a loop, or the threads of a block, go on.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void refuse(const Instruction& around, const Reduction& reduction,
                         const std::string& why) {
  throw Unsupported("loopy.realize_reductions.scan_form",
                    fmt::format("the scan over '{}' in '{}' cannot be computed step by step: {}; "
                                "write reduce() to compute each value anew",
                                reduction.inames.front(), around.id, why));
}

/// The bounds of a scan: lower <= iname <= upper, where only `upper` grows.
struct ScanBounds {
  std::vector<Affine> lower;
  Affine upper;
  /// The inames in `upper`, by descending coefficient.
  std::vector<std::string> sweeps;
  /// New elements in each iteration of the last of these.
  std::int64_t step = 1;
};

ScanBounds bounds_of(const Kernel& kernel, const Reduction& reduction, const Instruction& around) {
  const std::string& iname = reduction.inames.front();
  const Domain& home = *find_home_domain(kernel, iname);
  std::vector<Affine> upper;
  ScanBounds bounds;
  for (const Constraint& constraint : home.constraints.constraints()) {
    const std::int64_t coefficient = constraint.expr.coefficient(iname);
    if (coefficient == 0) {
      continue;
    }
    if (constraint.is_equality || std::abs(coefficient) != 1) {
      refuse(around, reduction, "its bounds are more than plain lower and upper ones");
    }
    const Affine rest = constraint.expr - Affine(iname, coefficient);
    if (coefficient == 1) {
      bounds.lower.push_back(-rest);
    } else {
      upper.push_back(rest);
    }
  }
  for (const Congruence& congruence : home.constraints.congruences()) {
    if (congruence.expr.coefficient(iname) != 0) {
      refuse(around, reduction, "its iname goes in strides");
    }
  }
  const auto grows = [&](const Affine& bound) {
    return std::any_of(bound.terms().begin(), bound.terms().end(), [&](const Affine::Term& term) {
      return around.within_inames.count(term.name) != 0;
    });
  };
  const auto growing = std::find_if(upper.begin(), upper.end(), grows);
  if (growing == upper.end()) {
    refuse(around, reduction, "its upper bound does not grow with a loop around the statement");
  }
  bounds.upper = *growing;
  const ConstraintSet known = constraints_of(kernel, around.within_inames).project_out({iname});
  for (const Affine& other : upper) {
    if (!(other == bounds.upper) && !known.implies_nonnegative(other - bounds.upper)) {
      refuse(around, reduction, "it has several upper bounds");
    }
  }
  for (const Affine::Term& term : bounds.upper.terms()) {
    if (around.within_inames.count(term.name) != 0) {
      bounds.sweeps.push_back(term.name);
      if (term.coefficient < 0) {
        refuse(around, reduction, fmt::format("its upper bound falls with '{}'", term.name));
      }
    }
  }
  std::sort(bounds.sweeps.begin(), bounds.sweeps.end(),
            [&](const std::string& left, const std::string& right) {
              return bounds.upper.coefficient(left) > bounds.upper.coefficient(right);
            });
  bounds.step = bounds.upper.coefficient(bounds.sweeps.back());
  return bounds;
}

/// Whether the statement sets, in each iteration and before the scan, the one element that the scan
/// then takes: `marks[t] = ...` for scan(sum, s, marks[s]) with s <= t. Lanes set theirs together.
bool sets_new_element(const Kernel& kernel, const std::vector<Instruction>& all,
                      const Instruction& setter, const std::string& array,
                      const Reduction& reduction, const Instruction& around,
                      const ScanBounds& bounds) {
  const Assignment* assignment = get_if<Assignment>(setter);
  const Access* target = assignment != nullptr && assignment->targets.size() == 1
                             ? get_if<Access>(assignment->targets.front())
                             : nullptr;
  const auto index = target != nullptr && target->indices.size() == 1
                         ? to_affine(target->indices.front())
                         : std::nullopt;
  if (!index || !(*index == bounds.upper) || setter.within_inames != around.within_inames ||
      !comes_after(all, around, setter.id)) {
    return false;
  }
  bool is_in_thread = false;
  for (const std::string& sweep : bounds.sweeps) {
    const InameTag tag = tag_of(kernel, sweep);
    if (is_in_thread && !tag.is_lane()) {
      return false;  // the scan would have to be within the loop and after it
    }
    is_in_thread = is_in_thread || tag.kind == AxisKind::block;
  }
  bool is_only_element = true;
  for (const Expr& operand : reduction.operands) {
    walk(operand, [&](const Expr& part) {
      const Access* access = get_if<Access>(part);
      is_only_element =
          is_only_element && (access == nullptr || access->array != array ||
                              access->indices == std::vector<Expr>{Name{reduction.inames.front()}});
      return is_only_element;
    });
  }
  return is_only_element;
}

void check_operand(const Kernel& kernel, const std::vector<Instruction>& others,
                   const Reduction& reduction, const Instruction& around,
                   const ScanBounds& bounds) {
  const Expr& operand = reduction.operands.front();
  NameSet read = free_names(operand);
  read.merge(accessed_arrays(operand));
  for (const std::string& sweep : bounds.sweeps) {
    if (read.count(sweep) != 0) {
      refuse(around, reduction, fmt::format("its elements change with '{}'", sweep));
    }
    for (const Affine& lower : bounds.lower) {
      if (lower.coefficient(sweep) != 0) {
        refuse(around, reduction, fmt::format("its lower bound changes with '{}'", sweep));
      }
    }
    for (const Instruction& other : others) {
      for (const std::string& each : written_variables(other)) {
        if (other.within_inames.count(sweep) != 0 && read.count(each) != 0 &&
            !sets_new_element(kernel, others, other, each, reduction, around, bounds)) {
          refuse(around, reduction,
                 fmt::format("'{}' writes '{}' within '{}'", other.id, each, sweep));
        }
      }
    }
    for (const Expr& predicate : around.predicates) {
      if (free_names(predicate).count(sweep) != 0) {
        refuse(around, reduction, fmt::format("a predicate asks for '{}'", sweep));
      }
    }
  }
  for (const Expr& predicate : around.predicates) {
    Instruction condition;
    condition.predicates = {predicate};
    if (!read_variables(kernel, condition).empty()) {
      refuse(around, reduction, "a predicate reads variables");
    }
  }
}

/// The first value of a sweep of the statement, in terms of parameters.
std::optional<Affine> first_of(const Kernel& kernel, const std::string& sweep,
                               const Instruction& around) {
  std::vector<std::string> others = all_inames(kernel);
  std::erase(others, sweep);
  const ConstraintSet known =
      constraints_of(kernel, around.within_inames).project_out(others).without_redundancies();
  std::optional<Affine> first;
  for (const Constraint& each : known.constraints()) {
    if (each.expr.coefficient(sweep) == 0) {
      continue;
    }
    if (each.is_equality || (first && each.expr.coefficient(sweep) > 0)) {
      return std::nullopt;
    }
    if (each.expr.coefficient(sweep) == 1) {
      first = Affine(sweep) - each.expr;
    }
  }
  return first;
}

/// The upper bound in the first iteration of all sweeps, which must go on as one loop would.
Affine first_upper(const Kernel& kernel, const Reduction& reduction, const Instruction& around,
                   const ScanBounds& bounds) {
  Affine result = bounds.upper;
  for (std::size_t i = 0; i < bounds.sweeps.size(); ++i) {
    const std::string& sweep = bounds.sweeps[i];
    const auto first = first_of(kernel, sweep, around);
    if (!first) {
      refuse(around, reduction, fmt::format("'{}' has no simple first value", sweep));
    }
    if (i > 0) {
      const std::string& outer = bounds.sweeps[i - 1];
      const ConstraintSet known = constraints_of(kernel, {outer, sweep});
      const auto last = known.maximum(Affine(sweep));
      const bool goes_on =
          last && bounds.upper.coefficient(outer) == bounds.upper.coefficient(sweep) * (*last + 1);
      const auto only = known.minimum(Affine(outer));
      const bool is_once = only && only == known.maximum(Affine(outer));
      if (!(*first == Affine(0)) || !(goes_on || is_once)) {
        refuse(around, reduction,
               fmt::format("'{}' and '{}' do not go on as one loop", bounds.sweeps[i - 1], sweep));
      }
    }
    result = result.substitute(sweep, *first);
  }
  return result;
}

/// The sweeps by what carries them out: loops, then an axis of the block, then what each thread of
/// it does.
ScanSweeps sweeps_of(const Kernel& kernel, const Reduction& reduction, const Instruction& around,
                     const ScanBounds& bounds, bool looks_back) {
  ScanSweeps result;
  for (const std::string& each : bounds.sweeps) {
    const InameTag tag = tag_of(kernel, each);
    const bool is_in_thread = !result.thread.empty();
    if (looks_back && each == bounds.sweeps.front() && tag.kind == AxisKind::grid) {
      result.grid = each;
    } else if (tag.kind == AxisKind::block && !is_in_thread) {
      result.thread = each;
    } else if (is_in_thread && !tag.is_parallel()) {
      result.items.push_back(each);
    } else if (!is_in_thread && is_loop_iname(kernel, each)) {
      result.loops.push_back(each);
    } else {
      refuse(around, reduction,
             "it goes along loops, along one axis of a block, along loops around that, or along "
             "the items of its threads");
    }
  }
  if (!is_loop_iname(kernel, reduction.inames.front())) {
    refuse(around, reduction, "its own iname is a loop");
  }
  if (!result.items.empty() && bounds.step != 1) {
    refuse(around, reduction, "the items of threads take one element each");
  }
  return result;
}

}  // namespace

/// Adds the elements in lower <= iname <= upper to the accumulators; returns the statement's id, or
/// nothing if there is no element.
std::optional<std::string> Realizer::add_elements(const Reduction& reduction,
                                                  const ReductionOperation& operation,
                                                  const std::vector<std::string>& accumulators,
                                                  const ConstraintSet& elements,
                                                  const NameSet& within, const Instruction& around,
                                                  const std::string& after) {
  ConstraintSet all = constraints_of(kernel_, within);
  const std::string iname = names_.make(reduction.inames.front());
  Domain domain;
  domain.inames = {iname};
  domain.constraints = elements.rename(
      [&](const std::string& name) { return name == reduction.inames.front() ? iname : name; });
  all.add(domain.constraints);
  if (all.is_empty()) {
    return std::nullopt;
  }
  kernel_.domains.push_back(std::move(domain));
  Instruction update = around;
  update.within_inames = within;
  update.within_inames.insert(iname);
  std::vector<Expr> operands;
  for (const Expr& operand : reduction.operands) {
    operands.push_back(
        realize_within(rename_all(operand, {{reduction.inames.front(), iname}}), update));
  }
  return add_combined(operation, accumulators, std::move(operands), update, after);
}

/// The same for the one element at `place`; none if it is below a lower bound.
std::string Realizer::add_element(const Reduction& reduction, const ReductionOperation& operation,
                                  const std::vector<std::string>& accumulators, const Affine& place,
                                  const std::vector<Affine>& lower, const Instruction& around,
                                  const std::string& after) {
  Instruction update = around;
  const ConstraintSet known = constraints_of(kernel_, around.within_inames);
  for (const Affine& each : lower) {
    if (!known.implies_nonnegative(place - each)) {
      update.predicates.push_back(
          Comparison{ComparisonOp::greater_equal, to_expr(place), to_expr(each)});
    }
  }
  std::vector<Expr> operands;
  for (const Expr& operand : reduction.operands) {
    operands.push_back(
        realize_within(substitute(operand, {{reduction.inames.front(), to_expr(place)}}), update));
  }
  return add_combined(operation, accumulators, std::move(operands), update, after);
}

/// `accumulators = accumulators op operands` in a statement like `update`.
std::string Realizer::add_combined(const ReductionOperation& operation,
                                   const std::vector<std::string>& accumulators,
                                   std::vector<Expr> operands, const Instruction& update,
                                   const std::string& after) {
  if (operation.repeats_operands()) {
    operands = as_variables(operands, {accumulators, after}, update.within_inames, update);
  }
  return add_combination(operation, "_update", as_names(accumulators), operands, accumulators,
                         update.within_inames, update, after);
}

std::vector<Expr> Realizer::realize_scan(const Reduction& reduction, bool looks_back,
                                         const Instruction& around) {
  if (reduction.inames.size() != 1) {
    refuse(around, reduction, "it is over one iname");
  }
  const ReductionOperation operation(kernel_, reduction, types_of_targets(kernel_, reduction));
  const std::string& iname = reduction.inames.front();
  const ScanBounds bounds = bounds_of(kernel_, reduction, around);
  check_operand(kernel_, described_, reduction, around, bounds);
  const Affine first = first_upper(kernel_, reduction, around, bounds);
  const ScanSweeps sweeps = sweeps_of(kernel_, reduction, around, bounds, looks_back);
  const bool is_in_block = !sweeps.thread.empty();
  if (sweeps.loops.size() > 1) {
    kernel_.loop_priorities.push_back(sweeps.loops);
  }
  ConstraintSet lower;
  for (const Affine& each : bounds.lower) {
    lower.add_nonnegative(Affine(iname) - each);
  }
  // what the first iteration has beyond the new elements of each
  ConstraintSet before = lower;
  before.add_nonnegative(first - Affine(bounds.step) - Affine(iname));
  // the new elements of an iteration
  ConstraintSet step = lower;
  step.add_nonnegative(bounds.upper - Affine(iname));
  step.add_nonnegative(Affine(iname) - bounds.upper + (bounds.step - 1));
  NameSet outside = around.within_inames;
  for (const std::string& each : bounds.sweeps) {
    outside.erase(each);
  }
  ConstraintSet all_before = constraints_of(kernel_, outside);
  all_before.add(before);
  Accumulated so_far;  // nothing where each thread has all that it starts from
  if (!is_in_block || !sweeps.loops.empty() || !all_before.is_empty()) {
    so_far = start_scan(reduction, operation, before, outside, around);
  }
  if (!sweeps.items.empty()) {
    const ScanItems items =
        load_items(reduction, operation, sweeps, bounds.upper, bounds.lower, around);
    return scan_items(operation, so_far, items, sweeps, around);
  }
  Accumulated own = so_far;
  if (is_in_block) {
    NameSet threads = around.within_inames;
    threads.erase(sweeps.thread);
    threads.insert(whole_axis(sweeps.thread));
    own = start_scan(reduction, operation, {}, threads, around);
  }
  own.last = bounds.step == 1 ? add_element(reduction, operation, own.names, bounds.upper,
                                            bounds.lower, around, own.last)
                              : add_elements(reduction, operation, own.names, step,
                                             around.within_inames, around, own.last)
                                    .value_or(own.last);
  new_dependencies_.insert(own.last);
  return is_in_block ? scan_threads(operation, so_far, own, sweeps, around) : as_names(own.names);
}

/// Accumulators that hold the elements `before`: none where that is unconstrained.
Realizer::Accumulated Realizer::start_scan(const Reduction& reduction,
                                           const ReductionOperation& operation,
                                           const ConstraintSet& before, const NameSet& within,
                                           const Instruction& around) {
  Accumulated started;
  for (std::size_t i = 0; i < operation.types().size(); ++i) {
    started.names.push_back(
        add_temporary(base_name(reduction) + operation.suffix(i), operation.types()[i]));
  }
  started.last = add_statements("_init", as_names(started.names), operation.neutral(),
                                started.names, within, around, "");
  if (!before.is_unconstrained()) {
    started.last =
        add_elements(reduction, operation, started.names, before, within, around, started.last)
            .value_or(started.last);
  }
  return started;
}

}  // namespace rtcg::loopy
