#include "rtcg/loopy/analyze/rule_operation.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// What the body reads that is neither an operand nor a scalar argument; empty: nothing.
std::string read_elsewhere(const Kernel& kernel, const SubstitutionRule& rule, const Expr& body) {
  for (const std::string& array : accessed_arrays(body)) {
    return fmt::format("the array '{}'", array);
  }
  const NameSet reduced = reduction_inames(body);
  if (!reduced.empty()) {
    return fmt::format("the iname '{}'", *reduced.begin());
  }
  for (const std::string& each : free_names(body)) {
    const bool is_operand =
        std::find(rule.parameters.begin(), rule.parameters.end(), each) != rule.parameters.end();
    const Argument* argument = find_argument(kernel, each);
    if (is_operand || (argument != nullptr && !argument->is_array)) {
      continue;
    }
    return fmt::format("the {} '{}'",
                       is_iname(kernel, each)                    ? "iname"
                       : find_temporary(kernel, each) != nullptr ? "temporary"
                       : argument != nullptr                     ? "array"
                                                                 : "unknown name",
                       each);
  }
  return {};
}

std::vector<Expr> values_of(const Expr& body) {
  const Call* tuple = get_if<Call>(body);
  return tuple != nullptr && tuple->function == "make_tuple" ? tuple->arguments : std::vector{body};
}

RuleOperation operation_of(const Kernel& kernel, const SubstitutionRule& rule) {
  if (is_known_operation(rule.name)) {
    throw InvalidInput("loopy.rule_operation.name_taken",
                       fmt::format("the rule '{0}' of kernel '{1}' has a neutral element, but "
                                   "reduce({0}, ...) is the operation that every kernel has: give "
                                   "the rule another name",
                                   rule.name, kernel.name));
  }
  const Expr body = expand_rules(kernel, rule.body);
  RuleOperation operation{rule.parameters, values_of(body), rule.neutral};
  const std::size_t count = rule.neutral.size();
  if (rule.parameters.size() != 2 * count || operation.values.size() != count) {
    throw InvalidInput(
        "loopy.rule_operation.parameters",
        fmt::format("the rule '{}' of kernel '{}' has {} parameters, gives {} values and has {} "
                    "neutral ones: an operation combines the values on its left and as many on "
                    "its right to as many, with a neutral one for each; several are given by "
                    "make_tuple(a, b)",
                    rule.name, kernel.name, rule.parameters.size(), operation.values.size(),
                    count));
  }
  const std::string elsewhere = read_elsewhere(kernel, rule, body);
  if (!elsewhere.empty()) {
    throw InvalidInput("loopy.rule_operation.reads",
                       fmt::format("the rule '{}' of kernel '{}' is an operation of reductions and "
                                   "uses {}: it may use only its operands and scalar arguments, "
                                   "because its values are combined in any place",
                                   rule.name, kernel.name, elsewhere));
  }
  for (const Expr& neutral : rule.neutral) {
    if (!free_names(neutral).empty() || !accessed_arrays(neutral).empty()) {
      throw InvalidInput(
          "loopy.rule_operation.neutral",
          fmt::format("the neutral element '{}' of the rule '{}' of kernel '{}' is not a constant",
                      to_string(neutral), rule.name, kernel.name));
    }
  }
  return operation;
}

[[noreturn]] void refuse_unknown(const Kernel& kernel, const std::string& name) {
  std::vector<std::string> rules;
  for (const SubstitutionRule& rule : kernel.rules) {
    if (!rule.neutral.empty()) {
      rules.push_back(rule.name);
    }
  }
  std::vector<std::string> candidates = rules;
  candidates.insert(candidates.end(), std::begin(known_operations), std::end(known_operations));
  const std::vector<std::string> close = close_names(name, candidates);
  throw InvalidInput(
      "loopy.realize_reductions.unknown_operation",
      fmt::format(
          "'{}' is not an operation of a reduction: there are {}{}, and rules of two operands "
          "such as '{}(a, b) := a + b {{neutral=0}}'{}",
          name, fmt::join(known_operations, ", "),
          rules.empty() ? "" : fmt::format(", the rules {}", fmt::join(rules, ", ")), name,
          close.empty() ? "" : fmt::format("; is '{}' meant?", fmt::join(close, "' or '"))));
}

}  // namespace

std::vector<Expr> RuleOperation::combine(const std::vector<Expr>& left,
                                         const std::vector<Expr>& right) const {
  Substitution operands;
  for (std::size_t i = 0; i < left.size(); ++i) {
    operands.emplace(parameters[i], left[i]);
    operands.emplace(parameters[left.size() + i], right[i]);
  }
  std::vector<Expr> combined;
  for (const Expr& value : values) {
    combined.push_back(substitute(value, operands));
  }
  return combined;
}

std::optional<RuleOperation> find_rule_operation(const Kernel& kernel, const Reduction& reduction) {
  if (is_known_operation(reduction.operation)) {
    return std::nullopt;
  }
  const SubstitutionRule* rule = find_rule(kernel, reduction.operation);
  if (rule == nullptr) {
    refuse_unknown(kernel, reduction.operation);
  }
  if (rule->neutral.empty()) {
    throw InvalidInput(
        "loopy.rule_operation.no_neutral",
        fmt::format("the rule '{}' of kernel '{}' is not an operation of a reduction: "
                    "it has no neutral element; write {{neutral=0}} after it, with the value that "
                    "changes no other",
                    rule->name, kernel.name));
  }
  RuleOperation operation = operation_of(kernel, *rule);
  if (reduction.operands.size() != operation.neutral.size()) {
    throw InvalidInput("loopy.rule_operation.value_count",
                       fmt::format("'{}' combines {} values at a time, but '{}' has {}", rule->name,
                                   operation.neutral.size(), to_string(Expr(reduction)),
                                   reduction.operands.size()));
  }
  return operation;
}

void check_rule_operations(const Kernel& kernel) {
  for (const SubstitutionRule& rule : kernel.rules) {
    if (!rule.neutral.empty()) {
      static_cast<void>(operation_of(kernel, rule));
    }
  }
  const auto check = [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const Reduction* reduction = get_if<Reduction>(part)) {
        static_cast<void>(find_rule_operation(kernel, *reduction));
      }
      return true;
    });
  };
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, check);
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    check(rule.body);
  }
}

}  // namespace rtcg::loopy
