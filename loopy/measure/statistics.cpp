#include "rtcg/loopy/measure/statistics.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/count_points.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/measure/seen_values.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

class OperationCounter {
 public:
  OperationCounter(const Kernel& kernel, Statistics& statistics, RepeatedValues repeated)
      : kernel_(kernel), statistics_(statistics), repeated_(repeated) {}

  void count(const Instruction& instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      return;
    }
    const NameSet blocks = blocks_around(*assignment, instruction.within_inames);
    inames_ = instruction.within_inames;
    inames_.insert(blocks.begin(), blocks.end());
    conditions_ = instruction.predicates;
    seen_.enter(instruction);
    count_value(assignment->value);
    for (const ArrayAccess& access : accesses_of(kernel_, instruction)) {
      inames_ = access.inames;
      inames_.insert(blocks.begin(), blocks.end());
      conditions_ = access.conditions;
      if (!access.indices.empty()) {
        add_here((access.is_write ? statistics_.stores : statistics_.loads)[access.array]);
        add_here(count_of(access));
      }
    }
  }

 private:
  void count_value(const Expr& expr);
  void count_reduction(const Reduction& reduction);
  void count_combination(const RuleOperation& operation, const std::vector<cgen::Type>& types);
  void count_condition(const Expr& condition);
  void count_conditional(const Conditional& conditional);
  void add_operations(const std::string& operation, const Expr& expr, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      add_here(statistics_.operations[{operation, cgen::describe(type_of(kernel_, expr))}]);
    }
  }
  void add_here(Count& count) const;
  [[nodiscard]] std::optional<Expr> stride_of(const ArrayAccess& access,
                                              const std::string& iname) const;
  /// The accesses among those found so far that go through memory as this one does.
  Count& count_of(const ArrayAccess& access);
  [[nodiscard]] NameSet blocks_around(const Assignment& assignment, const NameSet& within) const;

  const Kernel& kernel_;
  Statistics& statistics_;
  RepeatedValues repeated_;
  detail::SeenValues seen_{};
  NameSet inames_;
  std::vector<Expr> conditions_;
};

/// Every block has its own temporaries: it computes them also along grid axes of other blocks.
NameSet OperationCounter::blocks_around(const Assignment& assignment, const NameSet& within) const {
  const bool fills_temporaries = std::all_of(
      assignment.targets.begin(), assignment.targets.end(),
      [&](const Expr& target) { return find_temporary(kernel_, target_name(target)) != nullptr; });
  std::map<int, std::vector<std::string>> axes;
  for (const std::string& iname : all_inames(kernel_)) {
    if (const InameTag tag = tag_of(kernel_, iname); tag.kind == AxisKind::grid) {
      axes[tag.number].push_back(iname);
    }
  }
  NameSet blocks;
  for (const auto& [axis, inames] : axes) {
    // where launches share an axis, it is not known whose blocks they are
    if (fills_temporaries && inames.size() == 1 && within.count(inames.front()) == 0) {
      blocks.insert(inames.front());
    }
  }
  return blocks;
}

std::optional<Expr> OperationCounter::stride_of(const ArrayAccess& access,
                                                const std::string& iname) const {
  const Argument* argument = find_argument(kernel_, access.array);
  const Temporary* temporary = find_temporary(kernel_, access.array);
  const std::vector<Expr>& shape = argument != nullptr ? argument->shape : temporary->shape;
  std::vector<Expr> strides =
      argument != nullptr ? argument->strides_elements : temporary->strides_elements;
  if (access.is_linear) {
    strides = {1};
  } else if (strides.empty()) {
    strides = c_order_strides(shape);
  }
  Expr stride = 0;
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    const auto affine = to_affine(access.indices[axis]);
    if (!affine && free_names(access.indices[axis]).count(iname) != 0) {
      return std::nullopt;
    }
    stride = stride + Expr(affine ? affine->coefficient(iname) : 0) * strides[axis];
  }
  return simplify_index(stride);
}

Count& OperationCounter::count_of(const ArrayAccess& access) {
  AccessCount like{.array = access.array, .is_write = access.is_write};
  for (const std::string& iname : inames_) {
    const InameTag tag = tag_of(kernel_, iname);
    if (tag.kind == AxisKind::grid || tag.kind == AxisKind::block) {
      like.strides[to_string(tag)] = stride_of(access, iname);
    }
  }
  for (AccessCount& known : statistics_.accesses) {
    if (known.array == like.array && known.is_write == like.is_write &&
        known.strides == like.strides) {
      return known.count;
    }
  }
  return statistics_.accesses.emplace_back(std::move(like)).count;
}

void OperationCounter::add_here(Count& count) const {
  const NameSet all = with_parent_inames(kernel_, inames_);
  ConstraintSet points = constraints_of(kernel_, all);
  // a statement within i_outer alone runs once, however many i_inner there are
  std::vector<std::string> others;
  for (const std::string& name : points.names()) {
    if (is_iname(kernel_, name) && all.count(name) == 0) {
      others.push_back(name);
    }
  }
  points = points.project_out(others);
  for (const Expr& condition : conditions_) {
    const ConstraintSet context = context_of(condition);
    const std::vector<std::string> names = context.names();
    // quotients would be counted as if they were loops; computed values are not known
    if (std::all_of(names.begin(), names.end(), [&](const auto& name) {
          return is_identifier(name) && find_temporary(kernel_, name) == nullptr;
        })) {
      points.add(context);
    }
  }
  count.add(std::move(points), {all.begin(), all.end()});
}

void OperationCounter::count_reduction(const Reduction& reduction) {
  NameSet outer = inames_;
  inames_.insert(reduction.inames.begin(), reduction.inames.end());
  for (const Expr& operand : reduction.operands) {
    count_value(operand);
  }
  if (const auto rule = find_rule_operation(kernel_, reduction)) {
    count_combination(*rule, types_of_targets(kernel_, reduction));
    inames_ = std::move(outer);
    return;
  }
  const std::string operation = reduction.operation == "sum"       ? "add"
                                : reduction.operation == "product" ? "multiply"
                                                                   : reduction.operation;
  add_operations(operation, reduction, 1);
  inames_ = std::move(outer);
}

/// What one combination of values of these types takes.
void OperationCounter::count_combination(const RuleOperation& operation,
                                         const std::vector<cgen::Type>& types) {
  Kernel kernel = kernel_;
  std::vector<Expr> operands;  // variables of names that no kernel has
  for (std::size_t i = 0; i < 2 * types.size(); ++i) {
    kernel.temporaries.push_back({.name = fmt::format("({})", i), .type = types[i % types.size()]});
    operands.emplace_back(Name{kernel.temporaries.back().name});
  }
  OperationCounter counter(kernel, statistics_, repeated_);
  counter.inames_ = inames_;
  counter.conditions_ = conditions_;
  const auto middle = operands.begin() + static_cast<std::ptrdiff_t>(types.size());
  for (const Expr& each : operation.combine({operands.begin(), middle}, {middle, operands.end()})) {
    counter.count_value(each);
  }
}

/// Of a condition, what is computed from elements: comparisons of indices alone mostly vanish.
void OperationCounter::count_condition(const Expr& condition) {
  if (!is<Comparison>(condition)) {
    for_each_child(condition, [&](const Expr& child) { count_condition(child); });
    return;
  }
  bool has_elements = false;
  walk(condition, [&](const Expr& part) {
    const Name* name = get_if<Name>(part);
    has_elements = has_elements || is<Access>(part) || is<LinearAccess>(part) ||
                   (name != nullptr && find_temporary(kernel_, name->name) != nullptr);
    return !has_elements;
  });
  if (has_elements) {
    count_value(condition);
  }
}

void OperationCounter::count_conditional(const Conditional& conditional) {
  count_condition(conditional.condition);
  conditions_.push_back(conditional.condition);
  count_value(conditional.then_value);
  conditions_.back() = logical_not(conditional.condition);
  count_value(conditional.else_value);
  conditions_.pop_back();
}

void OperationCounter::count_value(const Expr& expr) {
  if (repeated_ == RepeatedValues::once && !seen_.add(expr)) {
    return;
  }
  const auto count_parts = [&] {
    for_each_child(expr, [&](const Expr& child) { count_value(child); });
  };
  match(
      expr, [](const Access&) {}, [](const LinearAccess&) {},
      [&](const Reduction& e) { count_reduction(e); },
      [&](const Conditional& e) { count_conditional(e); },
      [&](const Sum& e) {
        count_parts();
        add_operations("add", expr, e.terms.size() - 1);
      },
      [&](const Product& e) {
        count_parts();
        // a factor of -1 is a sign
        const bool is_negation = as_integer(e.factors.front()) == -1;
        add_operations("multiply", expr, e.factors.size() - (is_negation ? 2 : 1));
      },
      [&](const Quotient&) {
        count_parts();
        add_operations("divide", expr, 1);
      },
      [&](const Power& e) {
        count_parts();
        // small powers are written as products
        const std::int64_t exponent = as_integer(e.exponent).value_or(0);
        const bool is_product = exponent > 1 && exponent <= 4;
        add_operations(is_product ? "multiply" : "power", expr,
                       is_product ? static_cast<std::size_t>(exponent - 1) : 1);
      },
      [&](const Comparison& e) {
        count_parts();
        add_operations("compare", e.left, 1);
      },
      [&](const Call& e) {
        count_parts();
        add_operations(e.function, expr, 1);
      },
      [&](const auto&) { count_parts(); });
}

/// How often the body of these loops runs.
void add_iterations(const Kernel& kernel, const NameSet& loops, Count& count) {
  ConstraintSet points = constraints_of(kernel, loops);
  std::vector<std::string> others;
  for (const std::string& name : points.names()) {
    if (is_iname(kernel, name) && loops.count(name) == 0) {
      others.push_back(name);
    }
  }
  count.add(points.project_out(others), {loops.begin(), loops.end()});
}

/// Of the barriers in a tree, within `loops`.
void add_barriers(const Kernel& kernel, const LoopTree& tree, const NameSet& loops, Count& count) {
  for (const LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      NameSet inside = loops;
      inside.insert(loop->iname);
      add_barriers(kernel, loop->body, inside, count);
    } else if (is<BarrierNode>(node)) {
      add_iterations(kernel, loops, count);
    }
  }
}

}  // namespace

void Count::add(ConstraintSet points, std::vector<std::string> inames) {
  for (Part& part : parts_) {
    if (part.points == points && part.inames == inames) {
      ++part.times;
      return;
    }
  }
  parts_.push_back({std::move(points), std::move(inames), 1});
}

Count Count::within(std::string_view iname) const {
  Count result;
  for (const Part& part : parts_) {
    if (std::find(part.inames.begin(), part.inames.end(), iname) != part.inames.end()) {
      result.parts_.push_back(part);
    }
  }
  return result;
}

std::int64_t Count::evaluate(const IntegerValues& parameters) const {
  Polynomial total;
  for (const Part& part : parts_) {
    ConstraintSet points = part.points;
    for (const auto& [name, value] : parameters) {
      points = points.substitute(name, value);
    }
    const auto pieces = count_points(points, part.inames);
    if (!pieces) {
      throw Unsupported("loopy.statistics.not_countable",
                        "the points of a loop are not bounded by affine functions of the "
                        "parameters alone: they cannot be counted");
    }
    for (const CountPiece& piece : *pieces) {
      const std::vector<std::string> missing = piece.conditions.names();
      if (!missing.empty()) {
        throw InvalidInput(
            "loopy.statistics.missing_parameter",
            fmt::format("the count depends on '{}', which was given no value", missing.front()));
      }
      total = total + piece.count * Polynomial(part.times);
    }
  }
  const auto value = total.evaluate(parameters);
  require_internal(value.has_value(), "counts without names once parameters have values");
  return *value;
}

std::optional<Polynomial> Count::closed_form() const {
  Polynomial total;
  for (const Part& part : parts_) {
    const auto pieces = count_points(part.points, part.inames);
    if (!pieces || pieces->size() > 1) {
      return std::nullopt;
    }
    if (!pieces->empty()) {
      total = total + pieces->front().count * Polynomial(part.times);
    }
  }
  return total;
}

Count count_barriers(const Kernel& kernel, const LoopTree& tree) {
  Count count;
  add_barriers(kernel, tree, {}, count);
  return count;
}

Count count_launches(const Kernel& kernel, const LoopTree& tree) {
  Count count;
  for (const LaunchTree& launch : joined_launches_of(kernel, tree)) {
    add_iterations(kernel, {launch.host_loops.begin(), launch.host_loops.end()}, count);
  }
  return count;
}

Statistics count_operations(const Kernel& kernel, RepeatedValues repeated) {
  Statistics statistics;
  OperationCounter counter(kernel, statistics, repeated);
  for (const Instruction& instruction : kernel.instructions) {
    counter.count(instruction);
  }
  return statistics;
}

}  // namespace rtcg::loopy
