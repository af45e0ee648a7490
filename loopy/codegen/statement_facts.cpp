#include "rtcg/loopy/codegen/statement_facts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_shared_space(AddressSpace space) {
  return space == AddressSpace::local || space == AddressSpace::global;
}

/// Whether an expression may fault for values that its statement was not meant for.
bool may_trap(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const Expr& part) {
    const FloorDiv* division = get_if<FloorDiv>(part);
    const Modulo* remainder = get_if<Modulo>(part);
    found = found || is<LinearAccess>(part) ||
            (division != nullptr && !as_integer(division->denominator)) ||
            (remainder != nullptr && !as_integer(remainder->denominator));
    return !found;
  });
  return found;
}

/// Whether an index is within its axis wherever the context holds.
bool is_within(const ConstraintSet& context, const Expr& index, const Expr& axis_length) {
  const auto length = to_affine(axis_length);
  const std::vector<IndexCase> cases = length ? index_cases(index) : std::vector<IndexCase>{};
  return !cases.empty() && std::all_of(cases.begin(), cases.end(), [&](const IndexCase& each) {
    ConstraintSet here = context;
    here.add(each.context);
    return here.implies_nonnegative(each.value) &&
           here.implies_nonnegative(*length - each.value - 1);
  });
}

/// First and last value of `x // c` or `x % c`; nothing for other expressions.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of_quotient(
    const Expr& expr, const ConstraintSet& domain) {
  const Modulo* remainder = get_if<Modulo>(expr);
  const FloorDiv* quotient = get_if<FloorDiv>(expr);
  if (remainder != nullptr) {
    const auto divisor = as_integer(remainder->denominator);
    return divisor > 0 ? std::optional(std::pair(std::int64_t{0}, *divisor - 1)) : std::nullopt;
  }
  const auto divisor = quotient != nullptr ? as_integer(quotient->denominator) : std::nullopt;
  const auto numerator = divisor > 0 ? to_affine(quotient->numerator) : std::nullopt;
  const auto first = numerator ? domain.minimum(*numerator) : std::nullopt;
  const auto last = first ? domain.maximum(*numerator) : std::nullopt;
  return last ? std::optional(std::pair(divide_rounding_down(*first, *divisor),
                                        divide_rounding_down(*last, *divisor)))
              : std::nullopt;
}

/// Not more than `sign * expr` anywhere: quotients are taken for the worst that they can be.
std::optional<Affine> least_of(const Expr& expr, std::int64_t sign, const ConstraintSet& domain) {
  const Expr simple = simplify_index(expr);
  const Sum* sum = get_if<Sum>(simple);
  Affine least;
  for (const Expr& term : sum != nullptr ? sum->terms : std::vector<Expr>{simple}) {
    if (const auto affine = to_affine(term)) {
      least = least + *affine * sign;
      continue;
    }
    const Product* product = get_if<Product>(term);
    const bool is_multiple = product != nullptr && product->factors.size() == 2;
    const auto factor = is_multiple ? as_integer(product->factors[0]) : std::int64_t{1};
    const auto range = range_of_quotient(is_multiple ? product->factors[1] : term, domain);
    if (!factor || !range) {
      return std::nullopt;
    }
    const std::int64_t times = *factor * sign;
    least = least + Affine(times * (times > 0 ? range->first : range->second));
  }
  return least;
}

/// An affine form that is nonnegative only where the comparison holds.
std::optional<Affine> least_margin(const ComparisonForm& form, const ConstraintSet& domain) {
  const Comparison& comparison = *get_if<Comparison>(form.comparison);
  const bool is_less = comparison.op == ComparisonOp::less;
  if (!is_less && comparison.op != ComparisonOp::less_equal) {
    return std::nullopt;
  }
  const auto right = least_of(comparison.right, 1, domain);
  const auto left = right ? least_of(comparison.left, -1, domain) : std::nullopt;
  return left ? std::optional(*right + *left - (is_less ? 1 : 0)) : std::nullopt;
}

}  // namespace

StatementFacts::StatementFacts(const Kernel& kernel, const std::vector<std::size_t>& statements)
    : kernel_(kernel), statements_(kernel.instructions.size()) {
  for (const std::string& iname : all_inames(kernel)) {
    if (tag_of(kernel, iname).is_lane()) {
      lane_inames_.push_back(iname);
    }
  }
  for (const std::size_t statement : statements) {
    Statement& own = statements_[statement];
    own.written = written_variables(kernel.instructions[statement]);
    if (!kernel.temporaries.empty()) {  // nothing is asked of arguments
      own.reads = read_variables(kernel, kernel.instructions[statement]);
    }
    own.touched = own.written;
    own.touched.insert(own.reads.begin(), own.reads.end());
    own.writes_shared = !std::all_of(own.written.begin(), own.written.end(),
                                     [&](const std::string& each) { return is_private(each); });
    own.writes_global =
        std::any_of(own.written.begin(), own.written.end(), [&](const std::string& each) {
          const Temporary* temporary = find_temporary(kernel, each);
          return temporary == nullptr || temporary->address_space == AddressSpace::global;
        });
    find_lanes(statement);
    for (const std::string& each : own.written) {
      if (kernel.instructions[statement].is_fill && own.reads.count(each) != 0 &&
          is_private(each)) {
        handed_on_.insert(each);
      }
    }
  }
  find_varying(statements);
  find_guards(statements);
}

bool StatementFacts::hands_on(std::size_t statement) const {
  const NameSet& written = statements_[statement].written;
  return kernel_.instructions[statement].is_fill &&
         std::any_of(written.begin(), written.end(),
                     [&](const std::string& each) { return handed_on_.count(each) != 0; });
}

bool StatementFacts::is_private(const std::string& name) const {
  const Temporary* temporary = find_temporary(kernel_, name);
  return temporary != nullptr && !is_shared_space(temporary->address_space);
}

const std::vector<std::string>& StatementFacts::lanes_of_temporary(const std::string& name) const {
  static const std::vector<std::string> none;
  const auto found = lanes_of_temporary_.find(name);
  return found == lanes_of_temporary_.end() ? none : found->second;
}

bool StatementFacts::is_loop_of_all_threads(const std::string& iname) const {
  const std::vector<std::string> names = constraints_of(kernel_, {iname}).names();
  return tag_of(kernel_, iname).kind != AxisKind::unroll &&
         std::none_of(names.begin(), names.end(),
                      [&](const auto& each) { return is_varying(each); });
}

bool StatementFacts::is_short_loop(const std::string& iname) const {
  constexpr std::int64_t most_iterations = 8;
  const ConstraintSet set = constraints_of(kernel_, {iname});
  const auto first = set.minimum(Affine(iname));
  const auto last = set.maximum(Affine(iname));
  return first && last && *last - *first < most_iterations;
}

bool StatementFacts::calls_or_chooses(std::size_t statement) const {
  static constexpr std::array<std::string_view, 10> instructions = {
      "sqrt", "rsqrt", "fabs", "abs", "fma", "floor", "ceil", "trunc", "rint", "copysign"};
  bool result = false;
  for_each_expression(kernel_.instructions[statement], [&](const Expr& whole) {
    walk(whole, [&](const Expr& part) {
      const Call* call = get_if<Call>(part);
      result = result || is<Conditional>(part) ||
               (call != nullptr && std::find(instructions.begin(), instructions.end(),
                                             call->function) == instructions.end());
      return !result;
    });
  });
  return result;
}

void StatementFacts::find_lanes(std::size_t statement) {
  const Instruction& instruction = kernel_.instructions[statement];
  std::vector<std::string>& lanes = statements_[statement].lanes;
  for (const std::string& iname : lane_inames_) {
    if (instruction.within_inames.count(iname) != 0) {
      lanes.push_back(iname);
    }
  }
  // lanes of vectors are the innermost ones
  std::stable_partition(lanes.begin(), lanes.end(), [&](const std::string& lane) {
    return tag_of(kernel_, lane).kind != AxisKind::vec;
  });
  if (lanes.empty()) {
    return;
  }
  for (const Expr& target : targets_of(instruction)) {
    const std::string& name = target_name(target);
    if (!is_private(name)) {
      continue;
    }
    // a lane that indexes the temporary has elements of its own already
    const auto indexed = [&] {
      NameSet names;
      for_each_child(target, [&](const Expr& index) { names.merge(free_names(index)); });
      return names;
    }();
    std::vector<std::string>& own = lanes_of_temporary_[name];
    for (const std::string& lane : lanes) {
      if (indexed.count(lane) == 0 && std::find(own.begin(), own.end(), lane) == own.end()) {
        own.push_back(lane);
      }
    }
  }
}

void StatementFacts::find_varying(const std::vector<std::size_t>& statements) {
  const auto is_on_axis = [&](const std::string& iname) {
    return tag_of(kernel_, iname).kind == AxisKind::block;
  };
  const auto is_varying = [&](const std::string& name) { return varying_.count(name) != 0; };
  std::vector<std::size_t> open = statements;  // not known to differ
  // what touches a varying value differs too
  for (std::size_t before = open.size() + 1; open.size() < before;) {
    before = open.size();
    std::erase_if(open, [&](std::size_t statement) {
      const NameSet& inames = kernel_.instructions[statement].within_inames;
      Statement& own = statements_[statement];
      own.differs_by_thread = std::any_of(inames.begin(), inames.end(), is_on_axis) ||
                              std::any_of(own.touched.begin(), own.touched.end(), is_varying);
      if (own.differs_by_thread) {
        std::copy_if(own.written.begin(), own.written.end(),
                     std::inserter(varying_, varying_.end()),
                     [&](const std::string& each) { return is_private(each); });
      }
      return own.differs_by_thread;
    });
  }
}

bool StatementFacts::is_about_lanes_only(const Affine& expr) const {
  bool has_lane = false;
  bool has_outside = false;  // a parameter or an axis of the grid: not just the shape of a block
  for (const Affine::Term& term : expr.terms()) {
    if (!is_iname(kernel_, term.name)) {
      if (find_temporary(kernel_, term.name) != nullptr) {
        return false;
      }
      has_outside = true;
      continue;
    }
    if (is_loop_iname(kernel_, term.name)) {
      return false;
    }
    has_lane = true;
    has_outside = has_outside || tag_of(kernel_, term.name).kind == AxisKind::grid;
  }
  return has_lane && has_outside;
}

bool StatementFacts::is_safe_outside(std::size_t statement, const ConstraintSet& kept) const {
  const Instruction& instruction = kernel_.instructions[statement];
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr || writes_shared(statement) || assignment->is_atomic ||
      may_trap(assignment->value)) {
    return false;
  }
  for (const ArrayAccess& access : accesses_of(kernel_, instruction)) {
    const Argument* argument = find_argument(kernel_, access.array);
    const Temporary* temporary = find_temporary(kernel_, access.array);
    const std::vector<Expr>* shape = argument != nullptr    ? &argument->shape
                                     : temporary != nullptr ? &temporary->shape
                                                            : nullptr;
    if (shape == nullptr || access.indices.empty()) {
      continue;
    }
    if (access.is_linear || shape->size() != access.indices.size()) {
      return false;
    }
    ConstraintSet here = kept;
    for (const Expr& condition : access.conditions) {
      here.add(context_of(condition));
    }
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      if (!is_within(here, access.indices[axis], (*shape)[axis])) {
        return false;
      }
    }
  }
  return true;
}

StatementFacts::Domain StatementFacts::domain_of(const NameSet& inames) const {
  Domain domain;
  domain.all = constraints_of(kernel_, inames);
  std::vector<std::string> others;
  for (const std::string& name : domain.all.names()) {
    if (is_iname(kernel_, name) && inames.count(name) == 0) {
      others.push_back(name);
    }
  }
  if (!others.empty()) {
    domain.all = domain.all.project_out(others);
  }
  domain.kept = kernel_.assumptions;
  for (const Constraint& constraint : domain.all.constraints()) {
    // one name alone is the range of an axis, which holds or is needed
    if (constraint.expr.terms().size() > 1 && is_about_lanes_only(constraint.expr)) {
      domain.dropped.push_back(constraint);
    } else {
      domain.kept.add(constraint);
    }
  }
  for (const Congruence& congruence : domain.all.congruences()) {
    domain.kept.add(congruence);
  }
  return domain;
}

void StatementFacts::find_guards(const std::vector<std::size_t>& statements) {
  for (const std::size_t statement : statements) {
    const Instruction& instruction = kernel_.instructions[statement];
    Statement& own = statements_[statement];
    const auto known = domains_.find(instruction.within_inames);
    own.domain =
        known != domains_.end()
            ? &known->second
            : &domains_.emplace(instruction.within_inames, domain_of(instruction.within_inames))
                   .first->second;
    own.is_relaxed = !own.domain->dropped.empty() && instruction.predicates.empty() &&
                     is_safe_outside(statement, own.domain->kept);
  }
  // nothing may read values from outside: the neutral element of a reduction over threads would be
  // one
  for (const std::size_t writer : statements) {
    bool& may_relax = statements_[writer].is_relaxed;
    may_relax =
        may_relax && std::none_of(statements.begin(), statements.end(), [&](std::size_t reader) {
          return feeds(writer, reader) && !stays_within(reader, writer);
        });
  }
  // what reads a private value runs only where it was computed
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t reader : statements) {
      if (is_relaxed(reader) &&
          std::any_of(statements.begin(), statements.end(), [&](std::size_t writer) {
            return !is_relaxed(writer) && !statements_[writer].domain->dropped.empty() &&
                   feeds(writer, reader);
          })) {
        statements_[reader].is_relaxed = false;
        changed = true;
      }
    }
  }
}

bool StatementFacts::feeds(std::size_t writer, std::size_t reader) const {
  const NameSet& written = statements_[writer].written;
  const NameSet& reads = statements_[reader].reads;
  return std::any_of(written.begin(), written.end(), [&](const std::string& each) {
    return reads.count(each) != 0 && is_private(each);
  });
}

bool StatementFacts::stays_within(std::size_t statement, std::size_t writer) const {
  const ConstraintSet& here = domain(statement);
  const Domain& given = *statements_[writer].domain;
  return statements_[statement].domain == &given ||
         std::all_of(given.dropped.begin(), given.dropped.end(), [&](const Constraint& each) {
           return std::find(here.constraints().begin(), here.constraints().end(), each) !=
                      here.constraints().end() ||
                  here.implies(each);
         });
}

std::vector<Constraint> StatementFacts::tested(std::size_t statement) const {
  std::vector<Constraint> all = guards(statement).constraints();
  const auto add = [&](const Expr& condition) {
    const auto parts = comparisons_of(condition);
    for (const ComparisonForm& part : parts.value_or(std::vector<ComparisonForm>{})) {
      if (part.quotients.is_unconstrained()) {
        all.push_back(part.constraint);
      } else if (const auto least = least_margin(part, domain(statement))) {
        all.push_back({*least, false});
      }
    }
  };
  const Instruction& instruction = kernel_.instructions[statement];
  for (const Expr& predicate : instruction.predicates) {
    add(predicate);
  }
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    walk(assignment->value, [&](const Expr& part) {
      if (const Conditional* conditional = get_if<Conditional>(part)) {
        add(conditional->condition);
      }
      return true;
    });
  }
  return all;
}

}  // namespace rtcg::loopy
