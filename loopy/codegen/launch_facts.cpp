#include "rtcg/loopy/codegen/launch_facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/split_threads.h"
#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

std::vector<const HardwareAxis*> loops_over_threads(const LaunchAxes& axes,
                                                    const TargetRules& rules) {
  std::vector<const HardwareAxis*> loops;
  for (int number = 3; !rules.has_threads && number-- > 0;) {
    if (const HardwareAxis* axis = axes.find(AxisKind::block, number)) {
      loops.push_back(axis);
    }
  }
  return loops;
}

/// The only block or thread along the axis, if there is one and it is known.
std::optional<Affine> only_place(const HardwareAxis& axis, const TargetRules& rules) {
  const auto first = as_integer(axis.first);
  const bool is_loop = axis.kind == AxisKind::block && !rules.has_threads;
  return as_integer(axis.extent) == 1 && first && !is_loop ? std::optional<Affine>(*first)
                                                           : std::nullopt;
}

ContextRef context_of_kernel(const Kernel& kernel, const LaunchAxes& axes,
                             const TargetRules& rules) {
  EmitContext context;
  context.assumptions = kernel.assumptions;
  context.assumptions.add(axes.context);
  context.values = axes.values;
  for (const auto& [iname, value] : axes.values) {
    context.known.insert(iname);
  }
  for (const HostLoop& loop : axes.host_loops) {
    context.known.insert(loop.iname);
  }
  KnownValues places;
  for (const HardwareAxis& axis : axes.axes) {
    context.known.insert(axis.variable);
    if (const auto place = only_place(axis, rules)) {
      context.assumptions.add_zero(Affine(axis.variable) - *place);
      places.emplace(axis.variable, *place);
    }
  }
  for (auto& [iname, value] : context.values) {
    value = with_values(places, value);
  }
  context.values.merge(places);
  return std::make_shared<const EmitContext>(std::move(context));
}

}  // namespace

LaunchFacts::LaunchFacts(const Kernel& of_kernel, const LoopTree& tree, const LaunchAxes& of_launch,
                         const TargetRules& of_target, const GenerateOptions& of_user,
                         const std::vector<int>& groups)
    : kernel(of_kernel),
      axes(of_launch),
      rules(of_target),
      options(of_user),
      statements(statements_in(tree)),
      facts(kernel, statements),
      has_calls(std::any_of(statements.begin(), statements.end(),
                            [&](std::size_t statement) {
                              return kernel.instructions[statement].call_site != nullptr;
                            })),
      context(context_of_kernel(kernel, axes, rules)),
      thread_loops(loops_over_threads(axes, rules)),
      spread(thread_loops.empty() ? std::set<std::string>{}
                                  : values_across_segments(kernel, facts, tree)) {
  for (const std::size_t statement : statements) {
    unused_axes_.emplace(statement, find_unused_axes(statement, groups));
  }
}

std::vector<const HardwareAxis*> LaunchFacts::find_unused_axes(
    std::size_t statement, const std::vector<int>& groups) const {
  std::vector<const HardwareAxis*> unused;
  if (!facts.writes_shared(statement)) {
    return unused;
  }
  const Instruction& instruction = kernel.instructions[statement];
  for (const HardwareAxis& axis : axes.axes) {
    const bool is_last_block = axis.kind == AxisKind::grid &&
                               std::find(groups.begin(), groups.end(), axis.number) != groups.end();
    const bool is_used =
        is_last_block ||
        std::any_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                    [&](const std::string& iname) {
                      return tag_of(kernel, iname) == InameTag{axis.kind, axis.number};
                    });
    if (!is_used) {
      unused.push_back(&axis);
    }
  }
  if (!facts.writes_global(statement)) {  // each block has its own
    std::erase_if(unused, [](const auto* axis) { return axis->kind == AxisKind::grid; });
  }
  return unused;
}

std::optional<std::pair<std::int64_t, std::int64_t>> LaunchFacts::constant_range(
    const std::string& iname) const {
  const auto known = ranges_.find(iname);
  if (known != ranges_.end()) {
    return known->second;
  }
  ConstraintSet constraints = constraints_of(kernel, {iname});
  constraints.add(axes.context);
  const auto [first, last] = range_of(constraints, Affine(iname));
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
  if (first && last) {
    range = std::pair(*first, *last);
  }
  return ranges_.emplace(iname, range).first->second;
}

std::pair<std::int64_t, std::int64_t> LaunchFacts::range_of_lane(const std::string& lane) const {
  const auto range = constant_range(lane);
  if (!range || range->second - range->first >= most_copies) {
    throw InvalidInput(
        "loopy.generate.too_many_copies",
        fmt::format("iname '{}' is inline-parallel, but has {}: split it first", lane,
                    range ? fmt::format("{} values, of at most {}",
                                        range->second - range->first + 1, most_copies)
                          : std::string("no constant length")));
  }
  return *range;
}

bool LaunchFacts::is_testable(const Affine& expr, const EmitContext& context) const {
  return std::all_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
    return context.known.count(term.name) != 0 || !is_iname(kernel, term.name);
  });
}

bool LaunchFacts::differs_by_thread(const Affine& expr) const {
  return std::any_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
    return tag_of(kernel, term.name).kind == AxisKind::block || facts.is_varying(term.name);
  });
}

void LaunchFacts::check_length(std::int64_t count, std::size_t statement) const {
  if (count > options.most_statements) {
    throw InvalidInput(
        "loopy.generate.too_many_statements",
        fmt::format(
            "the text of kernel '{}' has more than {} statements, copies for unrolled loops "
            "and lanes included, and '{}' is not the last: unroll less, or set "
            "GenerateOptions::most_statements or RTCG_MOST_STATEMENTS to allow more",
            kernel.name, options.most_statements, kernel.instructions[statement].id));
  }
}

}  // namespace rtcg::loopy
