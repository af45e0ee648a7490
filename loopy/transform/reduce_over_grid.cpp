#include "rtcg/loopy/transform/reduce_over_grid.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/analyze/reduction_order.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/loop_end.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/second_launch.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

bool is_over(const Expr& expr, std::string_view iname) {
  const Reduction* reduction = get_if<Reduction>(expr);
  return reduction != nullptr && std::find(reduction->inames.begin(), reduction->inames.end(),
                                           iname) != reduction->inames.end();
}

enum class Surroundings { none, reduction, branch };

/// Calls `visit` on each reduction over the iname in the statement, and says whether it stands
/// within another reduction or in a branch of a value.
template <class Visit>
void for_each_reduction(const Instruction& instruction, std::string_view iname,
                        const Visit& visit) {
  const auto is_over_within = [&](const Expr& expr) {
    bool found = false;
    walk(expr, [&](const Expr& part) {
      found = found || is_over(part, iname);
      return !found;
    });
    return found;
  };
  const std::function<void(const Expr&, Surroundings)> look = [&](const Expr& expr,
                                                                  Surroundings around) {
    if (is_over(expr, iname)) {
      visit(expr, around);
    }
    // a condition that waits for the blocks cannot decide what they read
    if (const Conditional* conditional = get_if<Conditional>(expr)) {
      const Surroundings inside =
          is_over_within(conditional->condition) ? Surroundings::branch : around;
      look(conditional->condition, around);
      look(conditional->then_value, inside);
      look(conditional->else_value, inside);
      return;
    }
    if (const Logical* logical = get_if<Logical>(expr)) {
      Surroundings inside = around;
      for (const Expr& operand : logical->operands) {
        look(operand, inside);
        inside = is_over_within(operand) ? Surroundings::branch : inside;
      }
      return;
    }
    const Surroundings inside = is<Reduction>(expr) ? Surroundings::reduction : around;
    for_each_child(expr, [&](const Expr& child) { look(child, inside); });
  };
  static_cast<void>(map_expressions(instruction, [&](const Expr& expr) {
    look(expr, Surroundings::none);
    return expr;
  }));
}

/// `s = sum(...)`, or `s = s + sum(...)`: what atomic functions can do.
struct AtomicForm {
  Expr target = 0;
  Expr reduction = 0;
  bool has_start = false;  ///< the target's value is a part
};

std::optional<AtomicForm> find_atomic_form(const Instruction& instruction) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr || assignment->targets.size() != 1) {
    return std::nullopt;
  }
  const Expr& target = assignment->targets.front();
  if (is<Reduction>(assignment->value)) {
    return AtomicForm{target, assignment->value, false};
  }
  std::vector<Expr> parts;
  std::string operation;
  if (const Sum* sum = get_if<Sum>(assignment->value)) {
    parts = sum->terms;
    operation = "sum";
  } else if (const Call* call = get_if<Call>(assignment->value)) {
    parts = call->arguments;
    operation = call->function;
  }
  if (parts.size() != 2 || !(parts[0] == target || parts[1] == target)) {
    return std::nullopt;
  }
  const Expr& other = parts[0] == target ? parts[1] : parts[0];
  const Reduction* reduction = get_if<Reduction>(other);
  const bool is_same = reduction != nullptr && reduction->operation == operation;
  return is_same ? std::optional(AtomicForm{target, other, true}) : std::nullopt;
}

std::optional<Refusal> find_atomic_refusal(const Kernel& kernel, const Instruction& instruction) {
  const auto refuse = [&](std::string why) {
    return Refusal{"loopy.reduce_over_grid.no_atomic",
                   fmt::format("'{}' cannot be done by atomic functions: {}; use two_stage",
                               instruction.id, why)};
  };
  const auto form = find_atomic_form(instruction);
  if (!form) {
    return refuse("it is not a reduction alone, nor one added to its target");
  }
  if (find_argument(kernel, target_name(form->target)) == nullptr) {
    return refuse("its target is not an argument");
  }
  const std::string& operation = get_if<Reduction>(form->reduction)->operation;
  const auto kind = cgen::scalar_kind(type_of(kernel, form->target));
  const bool is_wide = kind && cgen::size_bytes(*kind) >= 4;
  const bool is_added = operation == "sum" && is_wide;
  const bool is_integer = is_wide && cgen::is_integral(*kind);
  const bool is_compared = is_integer && (operation == "min" || operation == "max" ||
                                          operation == "any" || operation == "all");
  if (!is_added && !is_compared) {
    return refuse(fmt::format("there is none for {} of {}", operation,
                              kind ? scalar_type_name(cgen::Scalar{*kind}) : "this type"));
  }
  return std::nullopt;
}

std::optional<Refusal> find_bounds_refusal(const Kernel& kernel, const NameSet& inames) {
  for (const std::string& iname : inames) {
    const auto refuse = [&](const char* why) {
      return Refusal{
          "loopy.reduce_over_grid.bounds",
          fmt::format("the parts of the blocks would be stored by '{}', which {}", iname, why)};
    };
    if (!constraints_of(kernel, {iname}).implies_nonnegative(Affine(iname))) {
      return refuse("may be negative");
    }
    try {
      static_cast<void>(end_of_loop(kernel, iname));
    } catch (const InvalidInput&) {
      return refuse("has no upper bound in terms of parameters");
    }
  }
  return std::nullopt;
}

bool is_loop(const Kernel& kernel, const std::string& iname) {
  const InameTag tag = tag_of(kernel, iname);
  return !tag.is_parallel() && !tag.is_lane() && tag.kind != AxisKind::block_auto;
}

/// Launches go through the loops around the statement again: what an iteration keeps is gone.
std::optional<Refusal> find_torn_value(const Kernel& kernel, const Instruction& instruction) {
  for (const std::string& each : read_variables(kernel, instruction)) {
    const Temporary* temporary = find_temporary(kernel, each);
    if (temporary == nullptr || temporary->address_space == AddressSpace::global) {
      continue;
    }
    for (const Instruction& writer : kernel.instructions) {
      const Assignment* assignment = get_if<Assignment>(writer);
      for (const std::string& loop : writer.within_inames) {
        if (written_variables(writer).count(each) != 0 && is_loop(kernel, loop) &&
            instruction.within_inames.count(loop) != 0 &&
            (assignment == nullptr || free_names(assignment->targets[0]).count(loop) == 0)) {
          return Refusal{"loopy.reduce_over_grid.value_of_an_iteration",
                         fmt::format("'{}' reads '{}', which '{}' sets in each iteration of '{}', "
                                     "and launches would tear that loop: privatize '{}' over it",
                                     instruction.id, each, writer.id, loop, each)};
        }
      }
    }
  }
  return std::nullopt;
}

/// The loops around the statement run once in the launch of the parts, and again in that of the
/// results: an iteration may not need what an earlier one gives.
std::optional<Refusal> find_carried_value(const Kernel& kernel, const Instruction& instruction,
                                          std::string_view iname, bool is_atomic) {
  if (std::none_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                   [&](const auto& each) { return is_loop(kernel, each); })) {
    return std::nullopt;
  }
  // first and second stage in the same loops, as two statements
  NameGenerator names = make_name_generator(kernel);
  Instruction first = instruction;
  first.id = names.make(instruction.id + "_parts");
  Instruction second = instruction;
  second.depends_on.insert(first.id);
  Kernel staged = kernel;
  if (is_atomic) {
    first.kind = Assignment{{get_if<Assignment>(instruction)->targets.front()}, 0, false};
  } else {
    Expr parts = 0;
    second = map_expressions(std::move(second), [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
        if (!is_over(part, iname)) {
          return std::nullopt;
        }
        parts = parts + part;
        return Expr(0);
      });
    });
    Temporary kept;
    kept.name = names.make(instruction.id + "_kept");
    staged.temporaries.push_back(kept);
    first.kind = Assignment{{Name{kept.name}}, parts, false};
  }
  const auto place = std::find_if(staged.instructions.begin(), staged.instructions.end(),
                                  [&](const auto& each) { return each.id == instruction.id; });
  *place = second;
  staged.instructions.insert(place, first);
  staged = as_loops(std::move(staged));
  const std::optional<IterationOrder> before = iteration_order(staged);
  if (!before) {
    return std::nullopt;  // such loops cannot be nested afterwards either
  }
  IterationOrder after = *before;
  for (const std::string& stage : {first.id, second.id}) {
    for (LoopLevel& level : after.at(stage).levels) {
      level.loop += is_loop(kernel, level.loop) ? " of " + stage : "";
    }
  }
  if (const auto why = find_reversed_dependence(staged, *before, after)) {
    return Refusal{"loopy.reduce_over_grid.carried_value",
                   fmt::format("the loops around '{}' would run in each launch from their "
                               "beginning: {}; let the threads of one block reduce",
                               instruction.id, *why)};
  }
  return std::nullopt;
}

/// The parts of blocks are combined in the order of the blocks.
std::optional<Refusal> find_lost_order(const Kernel& kernel, const Expr& reduction,
                                       std::string_view iname) {
  const Reduction& ordered = *get_if<Reduction>(reduction);
  if (ordered.order.empty() || outermost_levels(kernel, ordered, {std::string(iname)})) {
    return std::nullopt;
  }
  return Refusal{"loopy.reduce_over_grid.order",
                 fmt::format("'{}' keeps its order only where each block has neighbours, but the "
                             "elements of one value of '{}' are apart: put the outermost part of "
                             "the loop on the grid",
                             to_string(reduction), iname)};
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view iname,
                                    const ReduceOverGridOptions& options) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.reduce_over_grid.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (tag_of(kernel, iname).kind != AxisKind::grid) {
    return Refusal{"loopy.reduce_over_grid.not_on_grid",
                   fmt::format("'{}' is tagged {}: tag it g.0, g.1 or g.2, or let a loop or the "
                               "threads of a block reduce over it",
                               iname, to_string(tag_of(kernel, iname)))};
  }
  const std::int64_t threads = options.threads;
  if (threads < 1 || threads > most_threads_of_block || (threads & (threads - 1)) != 0) {
    return Refusal{
        "loopy.reduce_over_grid.threads",
        fmt::format("{} threads are no power of two up to {}", threads, most_threads_of_block)};
  }
  bool is_found = false;
  for (const Instruction& instruction : kernel.instructions) {
    std::optional<Refusal> refusal;
    bool is_here = false;
    for_each_reduction(instruction, iname, [&](const Expr& reduction, Surroundings around) {
      is_here = true;
      refusal = refusal ? refusal : find_lost_order(kernel, reduction, iname);
      if (around != Surroundings::none) {
        refusal = Refusal{
            "loopy.reduce_over_grid.nested",
            fmt::format("'{}' reduces over '{}' {}", instruction.id, iname,
                        around == Surroundings::reduction
                            ? "within another reduction: assign the inner one to a temporary first"
                            : "where a condition holds that reduces over it as well: assign the "
                              "condition's value to a temporary first")};
      }
    });
    if (!is_here) {
      continue;
    }
    is_found = true;
    if (!refusal && options.how == GridReduction::atomic) {
      refusal = find_atomic_refusal(kernel, instruction);
    }
    if (!refusal) {
      NameSet stored = instruction.within_inames;
      stored.insert(std::string(iname));
      refusal = find_bounds_refusal(kernel, stored);
    }
    refusal = refusal ? refusal : find_torn_value(kernel, instruction);
    refusal = refusal ? refusal
                      : find_carried_value(kernel, instruction, iname,
                                           options.how == GridReduction::atomic);
    if (refusal) {
      return refusal;
    }
  }
  if (!is_found) {
    return Refusal{"loopy.reduce_over_grid.no_reduction",
                   fmt::format("no statement reduces over '{}'", iname)};
  }
  return std::nullopt;
}

/// The reductions over the iname with the conditions of the branches around them in their operands:
/// blocks read no more than the statement does.
Expr with_conditions_in_operands(const Expr& expr, std::string_view iname,
                                 std::vector<Expr>& conditions) {
  const auto under = [&](const Expr& condition, const Expr& value) {
    conditions.push_back(condition);
    Expr result = with_conditions_in_operands(value, iname, conditions);
    conditions.pop_back();
    return result;
  };
  if (const Conditional* conditional = get_if<Conditional>(expr)) {
    return Conditional{with_conditions_in_operands(conditional->condition, iname, conditions),
                       under(conditional->condition, conditional->then_value),
                       under(logical_not(conditional->condition), conditional->else_value)};
  }
  if (const Logical* logical = get_if<Logical>(expr)) {
    const std::vector<Expr> outer = conditions;
    Logical result{logical->op, {}};
    for (const Expr& operand : logical->operands) {
      result.operands.push_back(with_conditions_in_operands(operand, iname, conditions));
      conditions.push_back(logical->op == LogicalOp::and_ ? operand : logical_not(operand));
    }
    conditions = outer;
    return result;
  }
  if (is_over(expr, iname)) {
    Reduction reduction = *get_if<Reduction>(expr);
    for (Expr& operand : reduction.operands) {
      operand =
          conditions.empty() ? operand : Expr(Conditional{logical_and(conditions), operand, 0});
    }
    return reduction;
  }
  return map_children(expr, [&](const Expr& child) {
    return with_conditions_in_operands(child, iname, conditions);
  });
}

class GridReducer {
 public:
  GridReducer(Kernel kernel, std::string iname, const ReduceOverGridOptions& options)
      : kernel_(std::move(kernel)),
        iname_(std::move(iname)),
        options_(options),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    const std::vector<Instruction> old = std::move(kernel_.instructions);
    kernel_.instructions.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (has_last_block_) {
        add_barrier(kernel_.instructions.back().id);  // the others wait for the last block, too
        has_last_block_ = false;
        results_.clear();
      }
      const auto* barrier = get_if<BarrierInstruction>(old[i]);
      if (barrier != nullptr && barrier->scope == BarrierScope::global &&
          !barrier->is_passed_by_last_block) {
        results_.clear();  // what follows runs in another launch anyway
      }
      if (!is_over_grid(old[i])) {
        wait_for_result(old[i]);
        kernel_.instructions.push_back(old[i]);
      } else if (options_.how == GridReduction::atomic) {
        add_atomic(old[i]);
      } else {
        const std::size_t end = end_of_group(old, i);
        add_stages({old.begin() + static_cast<std::ptrdiff_t>(i),
                    old.begin() + static_cast<std::ptrdiff_t>(end)});
        i = end - 1;
      }
    }
    split_second_stages();
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] bool is_over_grid(const Instruction& instruction) const {
    bool result = false;
    for_each_reduction(instruction, iname_, [&](const Expr&, Surroundings) { result = true; });
    return result;
  }

  /// Whether the parts of other statements may be in the same launch. Parts that are spread over
  /// more threads have a second launch of their own, see spread_parts.
  [[nodiscard]] bool shares_launches(const Instruction& instruction) const {
    return options_.how == GridReduction::last_block ||
           std::none_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                        [&](const auto& each) { return is_of_threads(each); });
  }

  /// The end of the statements from `first` on whose parts the same blocks compute.
  [[nodiscard]] std::size_t end_of_group(const std::vector<Instruction>& all,
                                         std::size_t first) const {
    std::size_t end = first + 1;
    NameSet written = written_variables(all[first]);
    while (shares_launches(all[first]) && end < all.size() && is_over_grid(all[end]) &&
           shares_launches(all[end])) {
      const NameSet read = read_variables(kernel_, all[end]);
      if (std::any_of(read.begin(), read.end(),
                      [&](const auto& each) { return written.count(each) != 0; })) {
        break;
      }
      written.merge(written_variables(all[end]));
      ++end;
    }
    return end;
  }

  Instruction make_barrier(const std::string& base, bool is_passed_by_last_block = false) {
    Instruction barrier;
    barrier.id = names_.make(base + "_barrier");
    barrier.kind = BarrierInstruction{BarrierScope::global, is_passed_by_last_block};
    return barrier;
  }
  void add_barrier(const std::string& base, bool is_passed_by_last_block = false) {
    kernel_.instructions.push_back(make_barrier(base, is_passed_by_last_block));
  }

  /// Other statements that read a result run after the launch that gives it.
  void wait_for_result(const Instruction& instruction) {
    for (const std::string& each : read_variables(kernel_, instruction)) {
      if (results_.count(each) != 0) {
        add_barrier(instruction.id);
        results_.clear();
        return;
      }
    }
  }

  /// Loops around the statement cannot go on across launches: the part that runs in another launch
  /// than the statement itself gets copies of them.
  NewNames copied_loops(const Instruction& instruction) {
    NameSet copied;
    for (const std::string& each : instruction.within_inames) {
      if (is_loop(kernel_, each)) {
        copied.insert(each);
      }
    }
    return with_copies(std::move(copied), instruction);
  }
  /// Makes copies of inames around the statement, and of what is tied to them.
  NewNames with_copies(NameSet copied, const Instruction& instruction) {
    if (copied.empty()) {
      return {};
    }
    static_cast<void>(map_expressions(instruction, [&](const Expr& expr) {
      copied = tied_reduction_inames(kernel_, expr, copied);
      return expr;
    }));
    NewNames names;
    for (const std::string& each : copied) {
      names[each] = copy_name(names_, each);
    }
    kernel_ = with_tagged_copies(std::move(kernel_), names, used_inames(instruction));
    for (std::string& each : second_inames_) {
      const auto found = names.find(each);
      each = found == names.end() ? each : found->second;
    }
    return names;
  }
  static Instruction renamed(Instruction instruction, const NewNames& names) {
    instruction = map_expressions(std::move(instruction),
                                  [&](const Expr& expr) { return rename_all(expr, names); });
    NameSet within;
    for (const std::string& each : instruction.within_inames) {
      const auto found = names.find(each);
      within.insert(found == names.end() ? each : found->second);
    }
    instruction.within_inames = std::move(within);
    return instruction;
  }

  /// The parts of all statements, then what gives their results.
  void add_stages(const std::vector<Instruction>& instructions) {
    for (const Instruction& each : instructions) {
      wait_for_result(each);
    }
    const bool is_last_block = options_.how == GridReduction::last_block;
    std::vector<Instruction> seconds;
    for (const Instruction& instruction : instructions) {
      std::vector<Instruction> first_stage;
      second_inames_.push_back(copy_name(names_, iname_));
      kernel_ = with_copied_inames(std::move(kernel_), {{iname_, second_inames_.back()}},
                                   instruction.within_inames);
      seconds.push_back(map_expressions(instruction, [&](const Expr& whole) {
        std::vector<Expr> conditions;
        const Expr expr = with_conditions_in_operands(whole, iname_, conditions);
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          return is_over(part, iname_) ? std::optional(add_parts(part, instruction, first_stage))
                                       : std::nullopt;
        });
      }));
      for (const Instruction& each : first_stage) {
        kernel_.instructions.push_back(renamed(each, copied_loops(each)));
      }
      if (is_last_block) {
        second_threads_[second_inames_.back()] = threads_of(first_stage);
      }
    }
    add_barrier(instructions.front().id, is_last_block);
    for (Instruction& each : seconds) {
      push_last(std::move(each));
    }
    has_last_block_ = is_last_block;
  }

  /// As many as all of the statements have along l.0, a power of two.
  [[nodiscard]] std::int64_t threads_of(const std::vector<Instruction>& statements) const {
    std::int64_t most = 1;
    for (const Instruction& each : statements) {
      for (const std::string& iname : used_inames(each)) {
        if (tag_of(kernel_, iname) == InameTag{AxisKind::block, 0}) {
          const auto [first, last] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
          most = std::max(most, first == 0 && last ? *last + 1 : 1);
        }
      }
    }
    std::int64_t threads = 1;
    while (2 * threads <= std::min(most, options_.threads)) {
      threads *= 2;
    }
    return threads;
  }

  /// The statements that compute the parts of one reduction, and the reduction over them.
  Expr add_parts(const Expr& expr, const Instruction& around,
                 std::vector<Instruction>& first_stage) {
    const Reduction& reduction = *get_if<Reduction>(expr);
    Reduction rest = reduction;
    std::erase(rest.inames, iname_);
    std::vector<Expr> here;
    std::vector<Expr> there;
    std::vector<Expr> shape;
    for (const std::string& each : axes_of_parts(around)) {
      here.emplace_back(Name{each});
      there.emplace_back(Name{each == iname_ ? second_inames_.back() : each});
      shape.push_back(end_of_loop(kernel_, each));
    }
    Reduction over_parts{reduction.operation, {second_inames_.back()}, {}};
    if (!reduction.order.empty()) {
      over_parts.order = {Name{second_inames_.back()}};
    }
    Instruction part = around;
    part.within_inames.insert(iname_);
    Assignment assignment;
    for (std::size_t i = 0; i < reduction.operands.size(); ++i) {
      Temporary parts;
      parts.name = names_.make(fmt::format("{}_parts", result_name(around)));
      parts.shape = shape;
      parts.address_space = AddressSpace::global;
      kernel_.temporaries.push_back(parts);
      assignment.targets.emplace_back(Access{parts.name, here});
      over_parts.operands.emplace_back(Access{parts.name, there});
    }
    if (!rest.inames.empty()) {
      assignment.value = rest;
      part.kind = assignment;
      part.id = names_.make(around.id + "_parts");
      first_stage.push_back(part);
      return over_parts;
    }
    for (std::size_t i = 0; i < reduction.operands.size(); ++i) {
      part.kind = Assignment{{assignment.targets[i]}, reduction.operands[i], false};
      part.id = names_.make(around.id + "_parts");
      first_stage.push_back(part);
    }
    return over_parts;
  }

  static std::string result_name(const Instruction& instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    return assignment == nullptr ? instruction.id : target_name(assignment->targets.front());
  }

  [[nodiscard]] bool is_of_threads(const std::string& iname) const {
    const AxisKind kind = tag_of(kernel_, iname).kind;
    return kind == AxisKind::block || kind == AxisKind::block_auto;
  }

  /// What the parts of the blocks are stored by. Where threads have results of their own, they
  /// write and read neighbours, block by block; otherwise threads add up the parts of one result.
  [[nodiscard]] std::vector<std::string> axes_of_parts(const Instruction& around) const {
    std::vector<std::string> axes(around.within_inames.begin(), around.within_inames.end());
    if (std::none_of(axes.begin(), axes.end(),
                     [&](const auto& each) { return is_of_threads(each); })) {
      axes.push_back(iname_);
      return axes;
    }
    const auto rank = [&](const std::string& each) {
      const InameTag tag = tag_of(kernel_, each);
      return tag.kind == AxisKind::grid    ? 0
             : tag.kind == AxisKind::block ? 4 - tag.number
             : tag.kind == AxisKind::vec   ? 5
                                           : 1;
    };
    std::stable_sort(axes.begin(), axes.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    axes.insert(axes.begin(), iname_);
    return axes;
  }

  [[nodiscard]] bool ends_launch(std::size_t place) const {
    const BarrierInstruction* barrier =
        place < kernel_.instructions.size()
            ? get_if<BarrierInstruction>(kernel_.instructions[place])
            : nullptr;
    return place >= kernel_.instructions.size() ||
           (barrier != nullptr && barrier->scope == BarrierScope::global);
  }
  /// Iterations; nothing where that depends on parameters.
  [[nodiscard]] std::optional<std::int64_t> length_of(const std::string& iname) const {
    const auto [first, last] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
    return first && last ? std::optional(*last - *first + 1) : std::nullopt;
  }

  /// Spreads the parts of results that threads have of their own, see SecondLaunch. Only of a
  /// statement that is alone in its launch: others would get the same threads.
  void spread_parts(std::string second, std::size_t place) {
    if (options_.how != GridReduction::two_stage || place == 0 || !ends_launch(place - 1) ||
        !ends_launch(place + 1) || touches_private_values(kernel_.instructions[place])) {
      return;
    }
    std::string longest;
    std::int64_t longest_items = 1;
    std::int64_t other_items = 1;
    std::int64_t threads = 1;
    std::set<int> taken;
    for (const std::string& each : kernel_.instructions[place].within_inames) {
      const InameTag tag = tag_of(kernel_, each);
      const std::int64_t length = length_of(each).value_or(most_threads_of_block);
      if (tag.kind == AxisKind::block) {
        threads *= length;
        taken.insert(tag.number);
      } else if (tag.kind == AxisKind::block_auto) {
        return;  // nobody knows yet which axes are left
      } else if (tag.is_lane() && tag.kind != AxisKind::vec && length > longest_items) {
        other_items *= std::exchange(longest_items, length);
        longest = each;
      } else if (tag.is_lane()) {
        other_items *= length;
      }
    }
    if (!longest.empty()) {
      const NewNames copies = with_copies({longest}, kernel_.instructions[place]);
      kernel_.iname_tags[copies.at(longest)] = tag_of(kernel_, iname_);
      kernel_.instructions[place] = renamed(kernel_.instructions[place], copies);
      const auto found = copies.find(second);
      second = found == copies.end() ? second : found->second;
    }
    const SecondLaunch launch =
        second_launch(threads, longest_items, other_items, length_of(second));
    int axis = 0;
    while (taken.count(axis) != 0) {
      ++axis;
    }
    if (launch.threads > 1 && axis < 3) {
      SplitOptions split;
      split.inner_tag = fmt::format("l.{}", axis);
      kernel_ = split_iname(std::move(kernel_), second, launch.threads, split);
    }
  }

  /// Threads add up the parts: of one result together, or of results of their own.
  void split_second_stages() {
    for (const std::string& second : std::vector<std::string>(second_inames_)) {
      bool has_threads = false;
      std::size_t place = 0;
      for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
        const Instruction& instruction = kernel_.instructions[i];
        for_each_reduction(instruction, second, [&](const Expr&, Surroundings) {
          place = i;
          for (const std::string& each : instruction.within_inames) {
            has_threads = has_threads || is_of_threads(each);
          }
        });
      }
      const auto known = second_threads_.find(second);
      const std::int64_t threads =
          known == second_threads_.end() ? options_.threads : known->second;
      if (!has_threads && threads > 1) {
        SplitOptions split;
        split.inner_tag = "l.0";
        kernel_ = split_iname(std::move(kernel_), second, threads, split);
      } else if (has_threads) {
        spread_parts(second, place);
      }
    }
  }

  /// The first statement of the present launch that shares loops with the reduction, as copies into
  /// tiles do: these loops cannot go on across launches. The end where there is none, and where
  /// one of those statements touches the result.
  std::vector<Instruction>::iterator before_copies(const Reduction& reduction,
                                                   const std::string& result) {
    auto place = kernel_.instructions.end();
    for (auto each = place; each != kernel_.instructions.begin();) {
      --each;
      const BarrierInstruction* barrier = get_if<BarrierInstruction>(*each);
      if (barrier != nullptr && barrier->scope == BarrierScope::global) {
        break;
      }
      const bool is_shared =
          std::any_of(reduction.inames.begin(), reduction.inames.end(),
                      [&](const auto& iname) { return each->within_inames.count(iname) != 0; });
      place = is_shared ? each : place;
    }
    const bool is_touched =
        std::any_of(place, kernel_.instructions.end(),
                    [&](const Instruction& each) { return touches(kernel_, each, result); });
    return is_touched ? kernel_.instructions.end() : place;
  }

  void add_atomic(Instruction instruction) {
    wait_for_result(instruction);
    const AtomicForm form = *find_atomic_form(instruction);
    const Reduction& reduction = *get_if<Reduction>(form.reduction);
    const cgen::Type type = type_of(kernel_, form.target);
    if (!form.has_start) {
      Instruction start = instruction;
      start.id = names_.make(instruction.id + "_start");
      const bool is_any = reduction.operation == "any" || reduction.operation == "all";
      const Expr neutral = is_any
                               ? Expr(reduction.operation == "any" ? 0 : 1)
                               : ReductionOperation(kernel_, reduction, {type}).neutral().front();
      start.kind = Assignment{{form.target}, neutral, false};
      start = renamed(std::move(start), copied_loops(instruction));
      const auto place = before_copies(reduction, target_name(form.target));
      for (auto each = place; each != kernel_.instructions.end(); ++each) {
        start.depends_on.erase(each->id);
      }
      const auto after = kernel_.instructions.insert(place, std::move(start)) + 1;
      kernel_.instructions.insert(after, make_barrier(instruction.id));
    }
    Reduction rest = reduction;
    std::erase(rest.inames, iname_);
    Expr value = rest.inames.empty() ? rest.operands.front() : Expr(rest);
    std::string function = reduction.operation;
    if (function == "any" || function == "all") {
      value = Conditional{value, 1, 0};
      function = function == "any" ? "max" : "min";
    }
    instruction.kind = Assignment{
        {form.target},
        function == "sum" ? Expr(Sum{{form.target, value}}) : call(function, {form.target, value}),
        true};
    instruction.within_inames.insert(iname_);
    push_last(std::move(instruction));
  }

  /// Whether it touches temporaries of a thread or a block.
  [[nodiscard]] bool touches_private_values(const Instruction& instruction) const {
    NameSet touched = read_variables(kernel_, instruction);
    touched.merge(written_variables(instruction));
    return std::any_of(touched.begin(), touched.end(), [&](const std::string& name) {
      const Temporary* temporary = find_temporary(kernel_, name);
      return temporary != nullptr && temporary->address_space != AddressSpace::global;
    });
  }

  /// The statement that gives the result. It, too, leaves the loops that it shares with statements
  /// of other launches, unless these hand on values within an iteration.
  void push_last(Instruction instruction) {
    if (!touches_private_values(instruction)) {
      instruction = renamed(instruction, copied_loops(instruction));
    }
    results_.merge(written_variables(instruction));
    kernel_.instructions.push_back(std::move(instruction));
  }

  Kernel kernel_;
  const std::string iname_;
  const ReduceOverGridOptions options_;
  NameGenerator names_;
  /// Over the blocks in the second launches: one for each statement.
  std::vector<std::string> second_inames_;
  std::map<std::string, std::int64_t> second_threads_;  // of those in last blocks
  bool has_last_block_ = false;                         // whether its statement was the last one
  NameSet results_;                                     // of the present launch
};

/// Types are needed to know what atomic functions there are.
Kernel typed_for(Kernel kernel, const ReduceOverGridOptions& options) {
  return options.how == GridReduction::atomic ? infer_types(expand_subst(std::move(kernel)))
                                              : expand_subst(std::move(kernel));
}

}  // namespace

Kernel reduce_over_grid(Kernel kernel, std::string_view iname,
                        const ReduceOverGridOptions& options) {
  const RecordedStep step(kernel);
  kernel = typed_for(std::move(kernel), options);
  throw_if_refused(find_refusal(kernel, iname, options));
  kernel = GridReducer(std::move(kernel), std::string(iname), options).run();
  step.record(kernel, "reduce_over_grid", {std::string(iname)},
              {{"how", options.how == GridReduction::atomic       ? "atomic"
                       : options.how == GridReduction::last_block ? "last"
                                                                  : ""},
               {"threads", options.threads == 256 ? "" : std::to_string(options.threads)}});
  return kernel;
}

}  // namespace rtcg::loopy
