#include "rtcg/loopy/create/ordered_reductions.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/exchanged_sides.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/in_order.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

void check_order(const Kernel& kernel, const Reduction& reduction) {
  const std::string text = to_string(Expr(reduction));
  if (is_known_operation(reduction.operation)) {
    throw InvalidInput(
        "loopy.in_order.operation",
        fmt::format("'{}' asks for an order, but the order of {} is free: write a rule such as "
                    "'plus(a, b) := a + b {{neutral=0}}' and reduce(plus, ...)",
                    text, reduction.operation));
  }
  const bool has_values =
      std::all_of(reduction.order.begin(), reduction.order.end(), [&](const Expr& value) {
        const NameSet names = free_names(value);
        return !index_cases(expand_rules(kernel, value)).empty() &&
               std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                 const Argument* argument = find_argument(kernel, name);
                 return is_iname(kernel, name) || (argument != nullptr && !argument->is_array);
               });
      });
  if (!has_values) {
    throw InvalidInput(
        "loopy.in_order.values",
        fmt::format("the order of '{}' is given by its inames: in_order({}), or sums "
                    "of multiples and quotients of them",
                    text, fmt::join(reduction.inames, ", ")));
  }
}

Expr with_orders(const Kernel& kernel, const Expr& expr) {
  const auto inside = [&](const Expr& each) {
    return map_children(each, [&](const Expr& child) { return with_orders(kernel, child); });
  };
  if (const Reduction* scanned = as_scan(expr)) {
    if (!scanned->order.empty()) {
      throw InvalidInput("loopy.in_order.scan",
                         fmt::format("'{}' asks for an order, but scans always keep the order of "
                                     "their elements: leave out in_order",
                                     to_string(Expr(*scanned))));
    }
    Call call = *get_if<Call>(expr);
    for (Expr& argument : call.arguments) {
      argument = inside(argument);
    }
    return call;
  }
  if (const Call* call = get_if<Call>(expr);
      call != nullptr && call->function == in_order_function) {
    throw InvalidInput("loopy.in_order.place",
                       fmt::format("'{}' is not the last operand of a reduction: write "
                                   "reduce(rule, j, a[j], in_order(j))",
                                   to_string(expr)));
  }
  const Expr mapped = inside(expr);
  const Reduction* old = get_if<Reduction>(mapped);
  if (old == nullptr || (old->order.empty() && find_rule(kernel, old->operation) == nullptr)) {
    return mapped;
  }
  Reduction reduction = *old;
  if (!reduction.order.empty()) {
    check_order(kernel, reduction);
  } else if (changes_when_exchanged(kernel, reduction)) {
    for (const std::string& iname : reduction.inames) {
      reduction.order.emplace_back(Name{iname});
    }
  }
  return reduction;
}

}  // namespace

Kernel with_ordered_reductions(Kernel kernel) {
  const auto ordered = [&](const Expr& expr) { return with_orders(kernel, expr); };
  std::vector<Instruction> instructions;
  for (const Instruction& instruction : kernel.instructions) {
    instructions.push_back(map_expressions(instruction, ordered));
  }
  std::vector<SubstitutionRule> rules = kernel.rules;
  for (SubstitutionRule& rule : rules) {
    rule.body = ordered(rule.body);
  }
  kernel.instructions = std::move(instructions);
  kernel.rules = std::move(rules);
  return kernel;
}

}  // namespace rtcg::loopy::detail
