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
  /// The inames in `upper`, those that grow it most first.
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
        if (other.within_inames.count(sweep) != 0 && read.count(each) != 0) {
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
      const auto last = constraints_of(kernel, {sweep}).maximum(Affine(sweep));
      const std::int64_t outer = bounds.upper.coefficient(bounds.sweeps[i - 1]);
      if (!(*first == Affine(0)) || !last ||
          outer != bounds.upper.coefficient(sweep) * (*last + 1)) {
        refuse(around, reduction,
               fmt::format("'{}' and '{}' do not go on as one loop", bounds.sweeps[i - 1], sweep));
      }
    }
    result = result.substitute(sweep, *first);
  }
  return result;
}

}  // namespace

/// Adds to the accumulator what lies in lower <= iname <= upper; gives the statement's id, or
/// nothing where that is no element.
std::optional<std::string> Realizer::add_elements(const Reduction& reduction,
                                                  const ReductionOperation& operation,
                                                  const std::string& accumulator,
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
  NameSet inner = within;
  inner.insert(iname);
  Instruction update = around;
  update.within_inames = inner;
  const Expr operand = realize_within(
      rename_all(reduction.operands.front(), {{reduction.inames.front(), iname}}), update);
  return add_statement(accumulator + "_update", Name{accumulator},
                       operation.combine({Name{accumulator}}, {operand}).front(), inner, around,
                       after);
}

/// The same for the one element at `place`, which is none where it lies below a lower bound.
std::string Realizer::add_element(const Reduction& reduction, const ReductionOperation& operation,
                                  const std::string& accumulator, const Affine& place,
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
  const Expr operand = realize_within(
      substitute(reduction.operands.front(), {{reduction.inames.front(), to_expr(place)}}), update);
  return add_statement(accumulator + "_update", Name{accumulator},
                       operation.combine({Name{accumulator}}, {operand}).front(),
                       around.within_inames, update, after);
}

Expr Realizer::realize_scan(const Reduction& reduction, const Instruction& around) {
  if (reduction.inames.size() != 1 || reduction.operands.size() != 1) {
    refuse(around, reduction, "it is over one iname and gives one value");
  }
  const ReductionOperation operation(reduction.operation, types_of_targets(kernel_, reduction));
  const std::string& iname = reduction.inames.front();
  const ScanBounds bounds = bounds_of(kernel_, reduction, around);
  check_operand(kernel_, described_, reduction, around, bounds);
  const Affine first = first_upper(kernel_, reduction, around, bounds);
  const bool is_in_loops =
      std::all_of(bounds.sweeps.begin(), bounds.sweeps.end(),
                  [&](const std::string& each) { return is_loop_iname(kernel_, each); });
  const bool is_in_block =
      bounds.sweeps.size() == 1 && tag_of(kernel_, bounds.sweeps.front()).kind == AxisKind::block;
  if ((!is_in_loops && !is_in_block) || !is_loop_iname(kernel_, iname)) {
    refuse(around, reduction, "it goes along loops, or along one axis of a block");
  }
  ConstraintSet lower;
  for (const Affine& each : bounds.lower) {
    lower.add_nonnegative(Affine(iname) - each);
  }
  // what the first iteration has beyond the new elements of each
  ConstraintSet before = lower;
  // the new elements of an iteration
  ConstraintSet step = lower;
  step.add_nonnegative(bounds.upper - Affine(iname));
  step.add_nonnegative(Affine(iname) - bounds.upper + (bounds.step - 1));
  NameSet outer = around.within_inames;
  if (is_in_block) {
    const std::string& thread = bounds.sweeps.front();
    before.add_nonnegative(bounds.upper - Affine(bounds.step) - Affine(iname));
    before.add_zero(Affine(thread));
    outer.erase(thread);
    outer.insert(whole_axis(thread));
  } else {
    before.add_nonnegative(first - Affine(bounds.step) - Affine(iname));
    for (const std::string& each : bounds.sweeps) {
      outer.erase(each);
    }
    if (bounds.sweeps.size() > 1) {
      kernel_.loop_priorities.push_back(bounds.sweeps);
    }
  }
  const std::string accumulator = add_temporary(base_name(reduction), operation.types().front());
  std::string last = add_statement(accumulator + "_init", Name{accumulator},
                                   operation.neutral().front(), outer, around, "");
  last = add_elements(reduction, operation, accumulator, before,
                      is_in_block ? around.within_inames : outer, around, last)
             .value_or(last);
  last = bounds.step == 1 ? add_element(reduction, operation, accumulator, bounds.upper,
                                        bounds.lower, around, last)
                          : add_elements(reduction, operation, accumulator, step,
                                         around.within_inames, around, last)
                                .value_or(last);
  new_dependencies_.insert(last);
  return is_in_block ? scan_threads(operation, {{accumulator}, last}, bounds.sweeps.front(), around)
                     : Expr(Name{accumulator});
}

/// Each thread takes over what the thread `distance` before it has, for distances 1, 2, 4, ...; two
/// arrays by turns, so that one barrier is enough for each.
/// @source Hillis and Steele 1986, Data parallel algorithms
Expr Realizer::scan_threads(const ReductionOperation& operation, const Accumulated& own,
                            const std::string& iname, const Instruction& around) {
  const std::int64_t length = length_of(iname);
  Instruction threads = around;
  threads.within_inames.erase(iname);
  SharedParts parts = add_parts(operation, own, length, threads);
  SharedParts other = add_parts(operation, own, length, threads);
  const Expr thread = Name{whole_axis(iname)};
  NameSet within = threads.within_inames;
  within.insert(whole_axis(iname));
  std::string last = add_statement(parts.arrays.front() + "_store", parts.at(thread).front(),
                                   Name{own.names.front()}, within, around, own.last);
  for (std::int64_t distance = 1; distance < length; distance *= 2) {
    const std::vector<Expr> here = parts.at(thread);
    const Expr sum = operation.combine(parts.at(thread - Expr(distance)), here).front();
    last = add_statement(
        fmt::format("{}_step_{}", parts.arrays.front(), distance), other.at(thread).front(),
        Conditional{Comparison{ComparisonOp::greater_equal, thread, distance}, sum, here.front()},
        within, around, last);
    std::swap(parts, other);
  }
  new_dependencies_.insert(last);
  return parts.at(Name{iname}).front();
}

}  // namespace rtcg::loopy
