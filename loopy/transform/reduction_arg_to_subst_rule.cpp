#include "rtcg/loopy/transform/reduction_arg_to_subst_rule.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;

bool is_over(const Reduction& reduction, const Names& inames) {
  return reduction.operands.size() == 1 && !inames.empty() &&
         std::is_permutation(reduction.inames.begin(), reduction.inames.end(), inames.begin(),
                             inames.end());
}

/// The operands of the reductions over the inames, each once.
std::vector<Expr> find_operands(const Kernel& kernel, const Names& inames) {
  std::vector<Expr> operands;
  for (const Instruction& instruction : kernel.instructions) {
    static_cast<void>(map_expressions(instruction, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        if (reduction != nullptr && is_over(*reduction, inames) &&
            std::find(operands.begin(), operands.end(), reduction->operands.front()) ==
                operands.end()) {
          operands.push_back(reduction->operands.front());
        }
        return true;
      });
      return expr;
    }));
  }
  return operands;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const Names& inames,
                                    std::string_view rule) {
  const std::size_t count = find_operands(kernel, inames).size();
  if (count == 0) {
    return Refusal{"loopy.reduction_arg_to_subst_rule.no_reduction",
                   fmt::format("no statement of kernel '{}' has a reduction of one value over {} "
                               "and no others",
                               kernel.name, list_text(inames))};
  }
  if (const auto why_not = why_not_new_name(kernel, rule)) {
    return Refusal{"loopy.reduction_arg_to_subst_rule.name_taken", *why_not};
  }
  if (!rule.empty() && count > 1) {
    return Refusal{"loopy.reduction_arg_to_subst_rule.name_taken",
                   fmt::format("{} reductions cannot all have the rule '{}'", count, rule)};
  }
  return std::nullopt;
}

}  // namespace

Kernel reduction_arg_to_subst_rule(Kernel kernel, const std::vector<std::string>& inames,
                                   std::string_view rule) {
  throw_if_refused(find_refusal(kernel, inames, rule));
  NameGenerator names = make_name_generator(kernel);
  const std::vector<Expr> operands = find_operands(kernel, inames);
  std::vector<SubstitutionRule> rules;
  for (const Expr& operand : operands) {
    rules.push_back({rule.empty() ? names.make(fmt::format("red_{}_arg", fmt::join(inames, "_")))
                                  : std::string(rule),
                     inames, operand});
  }
  std::vector<Expr> values;
  for (const std::string& iname : inames) {
    values.push_back(name(iname));
  }
  const auto with_calls = [&](const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Reduction* reduction = get_if<Reduction>(part);
      if (reduction == nullptr || !is_over(*reduction, inames)) {
        return std::nullopt;
      }
      const auto found = std::find(operands.begin(), operands.end(), reduction->operands.front());
      if (found == operands.end()) {  // holds another reduction, which has its rule by now
        return std::nullopt;
      }
      const auto& own = rules[static_cast<std::size_t>(found - operands.begin())];
      return Expr(Reduction{
          reduction->operation, reduction->inames, {Call{own.name, values}}, reduction->order});
    });
  };
  for (Instruction& instruction : kernel.instructions) {
    instruction = map_expressions(std::move(instruction), with_calls);
  }
  kernel.rules.insert(kernel.rules.end(), rules.begin(), rules.end());
  record(kernel, "reduction_arg_to_subst_rule", {list_text(inames)}, {{"rule", std::string(rule)}});
  return kernel;
}

}  // namespace rtcg::loopy
