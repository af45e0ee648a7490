#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/count_points.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/analyze/reduction_order.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/guarded_reads.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy {
namespace {

std::vector<std::string> words_of_tags(const Kernel& kernel,
                                       const std::vector<std::string>& inames) {
  std::vector<std::string> words;
  for (const std::string& iname : inames) {
    words.push_back(to_string(tag_of(kernel, iname)));
  }
  return words;
}

constexpr const char* tuple_function = "(tuple)";  // no name of a user's function

bool is_constant(const Expr& value) {
  return is<Integer>(value) || is<Real>(value) ||
         (is<Cast>(value) && is_constant(get_if<Cast>(value)->operand));
}

/// Whether a value reads a target that is assigned before it: the last one is the first.
bool reads_later_target(const std::vector<Expr>& targets, const std::vector<Expr>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool reads_later = false;
    walk(values[i], [&](const Expr& part) {
      reads_later = reads_later || std::find(targets.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                             targets.end(), part) != targets.end();
      return !reads_later;
    });
    if (reads_later) {
      return true;
    }
  }
  return false;
}

/// Whether nearly all points meet a condition: then it costs more to ask for it in each step of
/// what depends on it than to compute that for the others, too.
bool leaves_out_few(const Expr& condition) {
  const Comparison* comparison = get_if<Comparison>(condition);
  return comparison != nullptr && comparison->op == ComparisonOp::not_equal;
}

/// `expr >= 0` without minus signs: `j <= 2*i + 1`.
Expr as_comparison(const Affine& expr) {
  Affine left = 0;
  Affine right = expr;
  for (const Affine::Term& term : expr.terms()) {
    if (term.coefficient < 0) {
      left = left - Affine(term.name) * term.coefficient;
      right = right - Affine(term.name) * term.coefficient;
    }
  }
  return Comparison{ComparisonOp::less_equal, to_expr(left), to_expr(right)};
}

/// The points of a set, if their number is one for all parameters.
std::optional<std::int64_t> constant_count(const ConstraintSet& set,
                                           const std::vector<std::string>& inames) {
  const auto pieces = count_points(set, inames);
  std::int64_t points = 0;
  for (std::size_t i = 0; pieces && i < pieces->size(); ++i) {
    const CountPiece& piece = (*pieces)[i];
    const auto count = piece.count.evaluate({});
    if (!count || !piece.conditions.names().empty()) {
      return std::nullopt;
    }
    points += piece.conditions.is_empty() ? 0 : *count;
  }
  return pieces ? std::optional(points) : std::nullopt;
}

/// Whether sums within a value may be computed also where nothing asks for it: all that they read
/// is there, and nothing is divided by 0.
bool is_safe_everywhere(const Kernel& kernel, const Expr& value, const Instruction& around) {
  if (reduction_inames(value).empty()) {
    return false;
  }
  bool is_safe = true;
  walk(value, [&](const Expr& part) {
    is_safe = is_safe && !is<Call>(part) && !is<FloorDiv>(part) && !is<Modulo>(part) &&
              !is<LinearAccess>(part);
    if (const Access* access = get_if<Access>(part)) {
      is_safe =
          is_safe &&
          std::all_of(access->indices.begin(), access->indices.end(), [&](const Expr& index) {
            const auto affine = to_affine(index);
            return affine && std::none_of(affine->terms().begin(), affine->terms().end(),
                                          [&](const Affine::Term& term) {
                                            return find_temporary(kernel, term.name) != nullptr;
                                          });
          });
    }
    return is_safe;
  });
  if (!is_safe) {
    return false;
  }
  NameSet inames = around.within_inames;
  for (const std::string& each : free_names(value)) {
    if (is_iname(kernel, each)) {
      inames.insert(each);
    }
  }
  ConstraintSet here = constraints_of(kernel, inames);
  for (const Expr& each : around.predicates) {
    here.add(context_of(each));
  }
  return with_guarded_reads(kernel, value, here) == value;
}

}  // namespace

std::vector<Expr> as_names(const std::vector<std::string>& names) {
  std::vector<Expr> exprs;
  for (const std::string& each : names) {
    exprs.emplace_back(Name{each});
  }
  return exprs;
}

Realizer::Realizer(Kernel kernel, const PreprocessOptions& options)
    : kernel_(std::move(kernel)), names_(make_name_generator(kernel_)), options_(options) {}

Kernel Realizer::run() {
  described_ = std::move(kernel_.instructions);
  kernel_.instructions.clear();
  make_mark_words();
  for (const Instruction& instruction : described_) {
    realize(instruction);
  }
  // blocks publish their values as soon as they know them
  std::stable_partition(
      kernel_.instructions.begin(), kernel_.instructions.end(), [](const Instruction& each) {
        const LookBack* look_back = get_if<LookBack>(each);
        return look_back != nullptr && look_back->step == LookBack::Step::publishes;
      });
  // all alike: they are cleared and made longer together, see LookBack
  Expr longest = 0;
  for (const std::string& each : look_back_states_) {
    longest = longest + find_temporary(kernel_, each)->shape.front();
  }
  for (Temporary& each : kernel_.temporaries) {
    if (std::find(look_back_states_.begin(), look_back_states_.end(), each.name) !=
        look_back_states_.end()) {
      each.shape = {simplify_index(longest)};
    }
  }
  return std::move(kernel_);
}

void Realizer::realize(const Instruction& instruction) {
  done_.clear();
  Instruction result = map_expressions(
      instruction, [&](const Expr& expr) { return realize_within(expr, instruction); });
  result.depends_on.insert(new_dependencies_.begin(), new_dependencies_.end());
  new_dependencies_.clear();
  split_targets(std::move(result));
}

/// `v, p = argmax(...)` became `v, p = (acc_v, acc_p)`: one statement for each.
void Realizer::split_targets(Instruction instruction) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr || assignment->targets.size() == 1) {
    kernel_.instructions.push_back(std::move(instruction));
    return;
  }
  const Call* tuple = get_if<Call>(assignment->value);
  const bool is_tuple = tuple != nullptr && tuple->function == tuple_function &&
                        tuple->arguments.size() == assignment->targets.size();
  if (!is_tuple) {
    throw InvalidInput("loopy.realize_reductions.target_count",
                       fmt::format("'{}' assigns to {} targets, which takes a reduction that "
                                   "gives as many values, such as argmax",
                                   instruction.id, assignment->targets.size()));
  }
  std::string previous;
  for (std::size_t i = 0; i < assignment->targets.size(); ++i) {
    Instruction part = instruction;
    part.kind = Assignment{{assignment->targets[i]}, tuple->arguments[i], false};
    if (i + 1 < assignment->targets.size()) {
      part.id = names_.make(instruction.id + "_part");
    }
    if (!previous.empty()) {
      part.depends_on.insert(previous);
    }
    previous = part.id;
    kernel_.instructions.push_back(std::move(part));
  }
}

bool Realizer::is_input(const std::string& variable) const {
  return std::all_of(described_.begin(), described_.end(), [&](const Instruction& each) {
    if (written_variables(each).count(variable) == 0) {
      return true;
    }
    NameSet sources = each.is_fill ? read_variables(kernel_, each) : NameSet{variable};
    return sources.count(variable) == 0 &&
           std::all_of(sources.begin(), sources.end(),
                       [&](const std::string& source) { return is_input(source); });
  });
}

NameSet Realizer::waits_of(const Instruction& statement) const {
  NameSet seen;
  NameSet all;
  std::vector<const Instruction*> open = {&statement};
  while (!open.empty()) {
    const Instruction& each = *open.back();
    open.pop_back();
    for (const Instruction& other : described_) {
      if (each.depends_on.count(other.id) != 0 && seen.insert(other.id).second) {
        open.push_back(&other);
        if (!other.is_fill) {
          all.insert(other.id);
        }
      }
    }
  }
  return all;
}

std::optional<Expr> Realizer::find_shared(const Expr& reduction, const Instruction& around) {
  for (const Shared& known : shared_) {
    const Instruction& first = described_[known.statement];
    if (!(known.reduction == reduction) || first.within_inames != around.within_inames ||
        first.call_site != around.call_site) {
      continue;
    }
    NameSet read = accessed_arrays(reduction);
    read.merge(free_names(reduction));
    const bool is_same = std::all_of(read.begin(), read.end(), [&](const std::string& name) {
      return is_iname(kernel_, name) || is_input(name);
    });
    // both can run at once: what the second one waits for is done where the first one runs
    NameSet before = waits_of(first);
    const bool is_first = before.insert(first.id).second && before.count(around.id) == 0;
    const NameSet waits = waits_of(around);
    if (is_same && is_first &&
        std::includes(before.begin(), before.end(), waits.begin(), waits.end())) {
      new_dependencies_.insert(known.last.begin(), known.last.end());
      return known.value;
    }
  }
  return std::nullopt;
}

Expr Realizer::realize_within(const Expr& expr, const Instruction& around) {
  const Reduction* scanned = as_scan(expr);
  const Reduction* reduction = get_if<Reduction>(expr);
  if (scanned != nullptr || reduction != nullptr) {
    for (const Done& known : done_) {
      // computed under more conditions it may not be there
      const bool is_there =
          known.branches.size() <= branches_.size() &&
          std::equal(known.branches.begin(), known.branches.end(), branches_.begin());
      if (known.reduction == expr && is_there) {
        return known.value;
      }
    }
    if (const auto value = find_shared(expr, around)) {
      return *value;
    }
    // a scan continues in each iteration, in every branch
    const std::vector<Expr> outer = branches_;
    branches_ = scanned != nullptr ? std::vector<Expr>{} : outer;
    const NameSet others = std::exchange(new_dependencies_, {});
    const std::vector<Expr> totals =
        scanned != nullptr ? totals_of_scan(expr) : std::vector<Expr>{};
    const std::vector<Expr> values = !totals.empty() ? look_back_with(totals, *scanned, around)
                                     : scanned != nullptr
                                         ? realize_scan(*scanned, looks_back(expr), around)
                                         : realize_reduction(*reduction, around);
    Expr value = values.size() == 1 ? values.front() : Expr(Call{tuple_function, values});
    done_.push_back({expr, branches_, value});
    if (scanned == nullptr && branches_.empty() && around.predicates.empty()) {
      const auto statement = std::find_if(described_.begin(), described_.end(),
                                          [&](const auto& each) { return each.id == around.id; });
      shared_.push_back({expr, static_cast<std::size_t>(statement - described_.begin()),
                         new_dependencies_, value});
    }
    new_dependencies_.insert(others.begin(), others.end());
    branches_ = outer;
    return value;
  }
  if (const auto count = count_of_marks(expr)) {
    return *count;
  }
  if (const Conditional* conditional = get_if<Conditional>(expr)) {
    return realize_conditional(*conditional, around);
  }
  if (const Logical* logical = get_if<Logical>(expr)) {
    return realize_logical(*logical, around);
  }
  return map_children(expr, [&](const Expr& child) { return realize_within(child, around); });
}

Expr Realizer::realize_conditional(const Conditional& conditional, const Instruction& around) {
  const Expr condition = realize_within(conditional.condition, around);
  const auto realize_branch = [&](const Expr& taken, const Expr& value) {
    if (leaves_out_few(taken) && is_safe_everywhere(kernel_, value, around)) {
      return realize_within(value, around);
    }
    return realize_under(of_whole_tile(taken, value, around).value_or(taken), value, around);
  };
  const Expr then_value = realize_branch(condition, conditional.then_value);
  const Expr else_value = realize_branch(logical_not(condition), conditional.else_value);
  return Conditional{condition, then_value, else_value};
}

std::optional<Expr> Realizer::of_whole_tile(const Expr& condition, const Expr& value,
                                            const Instruction& around) {
  const auto comparisons = comparisons_of(condition);
  if (!comparisons || reduction_inames(value).empty()) {
    return std::nullopt;
  }
  ConstraintSet meets;
  for (const ComparisonForm& each : *comparisons) {
    if (each.constraint.is_equality || !each.quotients.is_unconstrained()) {
      return std::nullopt;  // few items meet it
    }
    meets.add(each.constraint);
  }
  std::vector<std::string> within_block;
  bool has_items = false;
  NameSet asked;
  for (const std::string& name : meets.names()) {
    if (!is_iname(kernel_, name)) {
      continue;
    }
    asked.insert(name);
    const InameTag tag = tag_of(kernel_, name);
    if (tag.is_lane() || tag.kind == AxisKind::block) {
      within_block.push_back(name);
      has_items = has_items || tag.is_lane();
    }
  }
  if (!has_items || !is_safe_everywhere(kernel_, value, around)) {
    return std::nullopt;
  }
  // a domain may have inames of sums, too: no test knows them
  ConstraintSet all = constraints_of(kernel_, asked);
  std::vector<std::string> further_in = all.names();
  std::erase_if(further_in, [&](const std::string& name) {
    return !is_iname(kernel_, name) || asked.count(name) != 0 ||
           around.within_inames.count(name) != 0;
  });
  all = all.project_out(further_in);
  const ConstraintSet outer = all.project_out(within_block);
  ConstraintSet met = all;
  met.add(meets);
  ConstraintSet in_tile = all;
  std::vector<Expr> tests;
  const ConstraintSet projected = met.project_out(within_block).without_redundancies();
  for (const Constraint& each : projected.constraints()) {
    if (!outer.implies(each)) {
      in_tile.add(each);
      tests.push_back(as_comparison(each.expr));
    }
  }
  const std::vector<std::string> counted(asked.begin(), asked.end());
  const auto points = constant_count(met, counted);
  const auto points_of_tiles = constant_count(in_tile, counted);
  constexpr double most_more = 1.5;
  // of unknown sizes: tiles along one border are few
  const bool is_few_more = points && points_of_tiles ? static_cast<double>(*points_of_tiles) <=
                                                           most_more * static_cast<double>(*points)
                                                     : comparisons->size() == 1;
  if (!is_few_more || tests.empty()) {
    return std::nullopt;
  }
  return logical_and(tests);
}

/// As in C, an operand is computed only where those before it leave the answer open.
Expr Realizer::realize_logical(const Logical& logical, const Instruction& around) {
  const std::vector<Expr> branches = branches_;
  Logical result{logical.op, {}};
  for (const Expr& operand : logical.operands) {
    result.operands.push_back(realize_within(operand, around));
    const Expr& last = result.operands.back();
    branches_.push_back(logical.op == LogicalOp::and_ ? last : logical_not(last));
  }
  branches_ = branches;
  return result;
}

Expr Realizer::realize_under(const Expr& condition, const Expr& expr, const Instruction& around) {
  branches_.push_back(condition);
  Expr value = realize_within(expr, around);
  branches_.pop_back();
  return value;
}

Instruction Realizer::guarded(const Instruction& around) const {
  Instruction result = around;
  result.predicates.insert(result.predicates.end(), branches_.begin(), branches_.end());
  return result;
}

std::string Realizer::add_temporary(const std::string& base, const cgen::Type& type,
                                    AddressSpace space, std::vector<Expr> shape) {
  Temporary temporary;
  temporary.name = names_.make(base);
  temporary.type = type;
  temporary.address_space = space;
  temporary.shape = std::move(shape);
  kernel_.temporaries.push_back(temporary);
  return temporary.name;
}

std::string Realizer::add_statement(const std::string& base, const Expr& target, const Expr& value,
                                    const NameSet& within, const Instruction& around,
                                    const std::string& after) {
  Instruction statement;
  statement.id = names_.make(base);
  statement.kind = Assignment{{target}, value, false};
  statement.within_inames = with_parent_inames(kernel_, within);
  // a statement that sets a neutral element has no dependencies: it may be outside of loops around
  // the rest
  const bool is_neutral = is_constant(value);
  if (!is_neutral) {
    statement.depends_on = around.depends_on;
  }
  statement.predicates = around.predicates;
  statement.call_site = around.call_site;
  if (!after.empty()) {
    statement.depends_on.insert(after);
  }
  kernel_.instructions.push_back(statement);
  return statement.id;
}

std::string Realizer::add_statements(const std::string& suffix, const std::vector<Expr>& targets,
                                     const std::vector<Expr>& values,
                                     const std::vector<std::string>& bases, const NameSet& within,
                                     const Instruction& around, std::string after) {
  for (std::size_t i = targets.size(); i-- > 0;) {
    after = add_statement(bases[i] + suffix, targets[i], values[i], within, around, after);
  }
  return after;
}

std::string Realizer::assign_combined(const ReductionOperation& operation,
                                      const std::string& suffix, const std::vector<Expr>& targets,
                                      std::vector<Expr> values,
                                      const std::vector<std::string>& bases, const NameSet& within,
                                      const Instruction& around, std::string after) {
  if (reads_later_target(targets, values)) {
    std::vector<Expr> combined;
    for (std::size_t i = 0; i < values.size(); ++i) {
      combined.emplace_back(Name{add_temporary(bases[i] + "_combined", operation.types()[i])});
    }
    after = add_statements(suffix + "_combined", combined, values, bases, within, around, after);
    values = combined;
  }
  return add_statements(suffix, targets, values, bases, within, around, std::move(after));
}

std::string Realizer::add_combination(const ReductionOperation& operation,
                                      const std::string& suffix, const std::vector<Expr>& targets,
                                      const std::vector<Expr>& right,
                                      const std::vector<std::string>& bases, const NameSet& within,
                                      const Instruction& around, std::string after) {
  return assign_combined(operation, suffix, targets, operation.combine(targets, right), bases,
                         within, around, std::move(after));
}

std::vector<std::string> Realizer::block_inames(const Reduction& reduction,
                                                const Instruction& around) const {
  std::vector<std::string> found;
  for (const std::string& iname : reduction.inames) {
    const InameTag tag = tag_of(kernel_, iname);
    if (tag.kind == AxisKind::grid) {
      throw Unsupported("loopy.realize_reductions.parallel_iname",
                        fmt::format("'{}' in '{}' is reduced over an iname tagged {}: loops, "
                                    "lanes and axes of the block can be reduced over",
                                    iname, around.id, to_string(tag)));
    }
    if (tag.kind == AxisKind::block) {
      found.push_back(iname);
    }
  }
  std::sort(found.begin(), found.end(), [&](const std::string& left, const std::string& right) {
    return tag_of(kernel_, left).number < tag_of(kernel_, right).number;
  });
  return found;
}

bool Realizer::is_set_within(const std::string& iname, const NameSet& names) const {
  const auto sets_any = [&](const Instruction& each) {
    if (each.within_inames.count(iname) == 0) {
      return false;
    }
    const NameSet written = written_variables(each);
    return std::any_of(written.begin(), written.end(),
                       [&](const std::string& name) { return names.count(name) != 0; });
  };
  return std::any_of(described_.begin(), described_.end(), sets_any) ||
         std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(), sets_any);
}

Instruction Realizer::without_idle_lanes(const Reduction& reduction,
                                         const Instruction& around) const {
  NameSet used;
  const auto add_names = [&](const Expr& expr) {
    used.merge(free_names(expr));
    used.merge(accessed_arrays(expr));
    used.merge(reduction_inames(expr));
  };
  add_names(Expr(reduction));
  std::for_each(branches_.begin(), branches_.end(), add_names);
  std::for_each(around.predicates.begin(), around.predicates.end(), add_names);
  NameSet inames = used;
  // loops of the same domain may bound the sum, and its value does not mention them
  inames.merge(names_in_bounds(kernel_, reduction_inames(Expr(reduction))));
  std::erase_if(inames, [&](const std::string& each) { return !is_iname(kernel_, each); });
  inames = with_parent_inames(kernel_, inames);
  for (const std::string& bound : constraints_of(kernel_, inames).names()) {
    used.insert(bound);  // perhaps computed
  }
  Instruction result = around;
  std::erase_if(result.within_inames, [&](const std::string& each) {
    return tag_of(kernel_, each).is_lane() && inames.count(each) == 0 && !is_set_within(each, used);
  });
  return result;
}

std::vector<Expr> Realizer::realize_reduction(const Reduction& reduction,
                                              const Instruction& statement) {
  const Instruction around = without_idle_lanes(reduction, statement);
  const std::vector<std::string> axes = block_inames(reduction, around);
  const ReductionOperation operation(kernel_, reduction, types_of_targets(kernel_, reduction));
  if (operation.is_ordered()) {
    return in_order(reduction, operation, axes, around);
  }
  if (auto sums = on_tensor_cores(reduction, operation, around)) {
    return std::move(*sums);
  }
  return over_axes(reduction, operation, axes, around);
}

std::vector<Expr> Realizer::in_order(const Reduction& reduction,
                                     const ReductionOperation& operation,
                                     std::vector<std::string> axes, const Instruction& around) {
  const auto is_loop = [&](const std::string& iname) { return is_loop_iname(kernel_, iname); };
  const auto is_lane = [&](const std::string& iname) { return tag_of(kernel_, iname).is_lane(); };
  const auto is_axis = [&](const std::string& iname) { return !is_loop(iname) && !is_lane(iname); };
  std::vector<std::string> preferred(axes.rbegin(), axes.rend());
  std::copy_if(reduction.inames.begin(), reduction.inames.end(), std::back_inserter(preferred),
               is_lane);
  std::copy_if(reduction.inames.begin(), reduction.inames.end(), std::back_inserter(preferred),
               is_loop);
  const auto levels = levels_in_order(kernel_, reduction, preferred);
  if (!levels) {
    throw Unsupported(
        "loopy.reduction_order.not_in_order",
        fmt::format("no loops over {} go through '{}' in '{}' in its order: what one "
                    "value of an outer one combines must be neighbours",
                    fmt::join(reduction.inames, ", "), to_string(Expr(reduction)), around.id));
  }
  const auto end_of = [&](auto begin, const auto& is_kind) {
    return std::find_if_not(begin, levels->end(), is_kind);
  };
  auto rounds = end_of(levels->begin(), is_loop);
  if (rounds == levels->end()) {
    rounds = levels->begin();  // loops alone
  }
  const auto end_of_axes = end_of(rounds, is_axis);
  if (end_of(end_of(end_of_axes, is_lane), is_loop) != levels->end()) {
    throw Unsupported(
        "loopy.reduction_order.levels",
        fmt::format("'{}' in '{}' keeps its order where threads are within loops, lanes within "
                    "threads, and further loops within these; from the outermost on its loops are "
                    "{}, tagged {}",
                    to_string(Expr(reduction)), around.id, fmt::join(*levels, ", "),
                    fmt::join(words_of_tags(kernel_, *levels), ", ")));
  }
  std::vector<std::string> loops;
  std::copy_if(levels->begin(), levels->end(), std::back_inserter(loops), is_loop);
  if (loops.size() > 1) {
    kernel_.loop_priorities.push_back(loops);
  }
  axes.assign(std::make_reverse_iterator(end_of_axes), std::make_reverse_iterator(rounds));
  Reduction own = reduction;
  own.inames.assign(rounds, levels->end());
  if (rounds == levels->begin()) {
    return over_axes(own, operation, axes, around);
  }
  Instruction round = around;
  round.within_inames.insert(levels->begin(), rounds);
  Accumulated total;
  for (std::size_t i = 0; i < operation.types().size(); ++i) {
    total.names.push_back(add_temporary(base_name(reduction) + "_rounds" + operation.suffix(i),
                                        operation.types()[i]));
  }
  total.last = add_statements("_init", as_names(total.names), operation.neutral(), total.names,
                              around.within_inames, around, "");
  const std::vector<Expr> values = over_axes(own, operation, axes, round);
  round.depends_on.insert(new_dependencies_.begin(), new_dependencies_.end());
  total.last = add_combination(operation, "_round", as_names(total.names), values, total.names,
                               round.within_inames, round, total.last);
  new_dependencies_.insert(total.last);
  return as_names(total.names);
}

std::vector<Expr> Realizer::over_axes(const Reduction& reduction,
                                      const ReductionOperation& operation,
                                      const std::vector<std::string>& axes,
                                      const Instruction& around) {
  NameSet within = around.within_inames;
  within.insert(axes.begin(), axes.end());
  Accumulated own = accumulate(reduction, operation, around, within);
  std::vector<Expr> values = as_names(own.names);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    // along one axis after the other: those to come belong to the statements of the earlier ones
    Instruction rows = around;
    for (std::size_t later = i + 1; later < axes.size(); ++later) {
      rows.within_inames.insert(whole_axis(axes[later]));
    }
    if (i > 0) {
      own = row_totals(reduction, operation, values, axes[i], rows);
    }
    values = over_threads(operation, own, axes[i], rows);
  }
  return values;
}

/// The values of the rows of threads, as variables of the threads along `axis`.
Realizer::Accumulated Realizer::row_totals(const Reduction& reduction,
                                           const ReductionOperation& operation,
                                           const std::vector<Expr>& values, const std::string& axis,
                                           const Instruction& rows) {
  Accumulated totals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    totals.names.push_back(
        add_temporary(base_name(reduction) + "_row" + operation.suffix(i), operation.types()[i]));
  }
  NameSet within = rows.within_inames;
  within.insert(whole_axis(axis));
  totals.last =
      add_statements("_total", as_names(totals.names), values, totals.names, within, rows, "");
  return totals;
}

Realizer::Accumulated Realizer::accumulate(const Reduction& reduction,
                                           const ReductionOperation& operation,
                                           const Instruction& around, const NameSet& within) {
  Accumulated result;
  for (std::size_t i = 0; i < operation.types().size(); ++i) {
    result.names.push_back(
        add_temporary(base_name(reduction) + operation.suffix(i), operation.types()[i]));
  }
  NameSet threads = within;  // all threads set their accumulator, those beyond the domain too
  for (const std::string& iname : reduction.inames) {
    if (tag_of(kernel_, iname).kind == AxisKind::block) {
      threads.erase(iname);
      threads.insert(whole_axis(iname));
    }
  }
  const LaneParts parts = add_lane_parts(reduction, operation, result);
  // threads and lanes that combine their values later need one each, in every branch
  const Instruction in_branch = guarded(around);
  NameSet all = threads;
  std::vector<std::string> lanes;
  for (const std::string& iname : parts.inames) {
    lanes.push_back(whole_axis(iname));
    all.insert(lanes.back());
  }
  const std::string init =
      add_statements("_init", parts.at(lanes), operation.neutral(), parts.arrays, all,
                     all == around.within_inames ? in_branch : around, "");
  NameSet inner = within;
  inner.insert(reduction.inames.begin(), reduction.inames.end());
  Instruction update = around;
  update.within_inames = inner;
  std::vector<Expr> operands;
  for (const Expr& operand : reduction.operands) {
    operands.push_back(realize_within(operand, update));
  }
  if (operation.repeats_operands()) {
    operands = as_variables(operands, result, inner, in_branch);
  }
  result.last = add_combination(operation, "_update", parts.at(parts.inames), operands,
                                parts.arrays, inner, in_branch, init);
  if (!lanes.empty()) {
    result.last = combine_lane_parts(operation, parts, result, threads, around);
  }
  new_dependencies_.insert(result.last);
  return result;
}

std::vector<Expr> Realizer::LaneParts::at(const std::vector<std::string>& lanes) const {
  std::vector<Expr> elements;
  for (const std::string& array : arrays) {
    elements.push_back(lanes.empty() ? Expr(Name{array}) : Expr(Access{array, as_names(lanes)}));
  }
  return elements;
}

Realizer::LaneParts Realizer::add_lane_parts(const Reduction& reduction,
                                             const ReductionOperation& operation,
                                             const Accumulated& accumulated) {
  LaneParts parts;
  std::vector<Expr> shape;
  for (const std::string& iname : reduction.inames) {
    if (tag_of(kernel_, iname).is_lane()) {
      parts.inames.push_back(iname);
      shape.emplace_back(length_of(iname));
    }
  }
  if (shape.empty()) {
    parts.arrays = accumulated.names;
    return parts;
  }
  for (std::size_t i = 0; i < accumulated.names.size(); ++i) {
    parts.arrays.push_back(add_temporary(accumulated.names[i] + "_lanes", operation.types()[i],
                                         AddressSpace::private_, shape));
  }
  return parts;
}

std::string Realizer::combine_lane_parts(const ReductionOperation& operation,
                                         const LaneParts& parts, const Accumulated& accumulated,
                                         const NameSet& threads, const Instruction& around) {
  std::vector<std::string> inames;
  NameSet within = threads;
  for (const std::string& iname : parts.inames) {
    const bool is_loop = tag_of(kernel_, iname).kind == AxisKind::ilp_loop;
    inames.push_back(add_loop(iname + "_part", 0, length_of(iname),
                              {is_loop ? AxisKind::sequential : AxisKind::unroll}));
    within.insert(inames.back());
  }
  if (operation.is_ordered() && inames.size() > 1) {
    kernel_.loop_priorities.push_back(inames);
  }
  const std::string init = add_statements("_init", as_names(accumulated.names), operation.neutral(),
                                          accumulated.names, threads, around, accumulated.last);
  return add_combination(operation, "_lanes", as_names(accumulated.names), parts.at(inames),
                         accumulated.names, within, around, init);
}

std::vector<Expr> Realizer::as_variables(const std::vector<Expr>& operands,
                                         const Accumulated& accumulated, const NameSet& within,
                                         const Instruction& around) {
  std::vector<Expr> variables;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is<Name>(operands[i]) || as_integer(operands[i])) {
      variables.push_back(operands[i]);
      continue;
    }
    const std::string& base = accumulated.names[i];
    const Expr variable = Name{add_temporary(base + "_next", *find_temporary(kernel_, base)->type)};
    static_cast<void>(add_statement(base + "_next", variable, operands[i], within, around, ""));
    variables.push_back(variable);
  }
  return variables;
}

Kernel realize_reductions(Kernel kernel, const PreprocessOptions& options) {
  const bool has_any =
      std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                  [](const Instruction& each) { return !reduction_inames(each).empty(); });
  if (!has_any) {
    return kernel;
  }
  return Realizer(std::move(kernel), options).run();
}

}  // namespace rtcg::loopy
