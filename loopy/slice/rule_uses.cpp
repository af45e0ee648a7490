#include "rtcg/loopy/slice/rule_uses.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/replace_uses.h"

namespace rtcg::loopy::detail {
bool calls(const Kernel& kernel, const std::string& rule, const std::string& other) {
  const SubstitutionRule* found = find_rule(kernel, rule);
  if (found == nullptr) {
    return false;
  }
  NameSet called = called_functions(found->body);
  called.merge(free_names(found->body));  // rules without parameters
  return called.count(other) != 0 ||
         std::any_of(called.begin(), called.end(),
                     [&](const std::string& each) { return calls(kernel, each, other); });
}

std::vector<RuleUse> uses_of(const Kernel& kernel, const std::string& rule) {
  const std::size_t parameters = find_rule(kernel, rule)->parameters.size();
  const std::vector<Expr> none;
  UseReplacer uses(kernel, [&](const Expr& expr) -> const std::vector<Expr>* {
    const Name* name = parameters == 0 ? get_if<Name>(expr) : nullptr;
    if (name != nullptr && name->name == rule) {
      return &none;
    }
    const Call* call = get_if<Call>(expr);
    return call != nullptr && call->function == rule && call->arguments.size() == parameters
               ? &call->arguments
               : nullptr;
  });
  std::vector<RuleUse> result;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    for_each_expression(kernel.instructions[i], [&](const Expr& expr) {
      static_cast<void>(
          uses.replaced(expr, [&](const std::vector<Expr>&, const std::vector<Expr>& values) {
            result.push_back({values, i});
            return std::optional<Expr>();
          }));
    });
  }
  return result;
}

std::vector<std::string> inames_of_uses(const Kernel& kernel, const std::string& rule) {
  NameSet mentioned;
  for (const RuleUse& use : uses_of(kernel, rule)) {
    for (const Expr& argument : use.arguments) {
      mentioned.merge(free_names(argument));
    }
  }
  std::vector<std::string> result;
  for (const std::string& iname : all_inames(kernel)) {
    if (mentioned.count(iname) != 0) {
      result.push_back(iname);
    }
  }
  return result;
}

std::vector<std::string> callees_first(const Kernel& kernel, std::vector<std::string> rules) {
  std::vector<std::string> result;
  while (!rules.empty()) {
    // rules do not call themselves, so that one calls none of the rest
    const auto next = std::find_if(rules.begin(), rules.end(), [&](const std::string& each) {
      return std::none_of(rules.begin(), rules.end(),
                          [&](const std::string& other) { return calls(kernel, each, other); });
    });
    result.push_back(*next);
    rules.erase(next);
  }
  return result;
}

}  // namespace rtcg::loopy::detail
