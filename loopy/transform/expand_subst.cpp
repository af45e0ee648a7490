#include "rtcg/loopy/transform/expand_subst.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"

namespace rtcg::loopy {

Kernel expand_subst(Kernel kernel, std::string_view rule, std::string_view within) {
  if (!rule.empty() && find_rule(kernel, rule) == nullptr) {
    throw InvalidInput("loopy.expand_subst.unknown_rule",
                       fmt::format("kernel '{}' has no substitution rule '{}'", kernel.name, rule));
  }
  if (kernel.rules.empty()) {
    return kernel;
  }
  const Kernel before = kernel;
  bool is_changed = !rule.empty();
  const auto expand = [&](const Expr& expr) {
    Expr expanded = expand_rules(before, expr, rule);
    is_changed = is_changed || &expanded.node() != &expr.node();
    return expanded;
  };
  if (within.empty()) {
    kernel = map_expressions(std::move(kernel), expand);
    // reductions and scans still ask for their operations
    const auto erased = std::erase_if(kernel.rules, [&](const SubstitutionRule& each) {
      return each.neutral.empty() && (rule.empty() || each.name == rule);
    });
    is_changed = is_changed || erased != 0;
  } else {
    kernel = map_matching(std::move(kernel), within, [&](Instruction& instruction) {
      instruction = map_expressions(std::move(instruction), expand);
    });
  }
  if (!is_changed && within.empty()) {
    return kernel;
  }
  std::vector<std::string> arguments;
  if (!rule.empty()) {
    arguments.emplace_back(rule);
  }
  record(kernel, "expand_subst", std::move(arguments), {{"within", std::string(within)}});
  return kernel;
}

Kernel expand_tagged_uses(Kernel kernel, const std::string& array) {
  std::vector<std::string> tagged;
  for (const SubstitutionRule& rule : kernel.rules) {
    if (rule.name.starts_with(array + "$")) {
      tagged.push_back(rule.name);
    }
  }
  for (const std::string& rule : tagged) {
    kernel = expand_subst(std::move(kernel), rule);
  }
  return kernel;
}

Kernel expand_if_in_rules(Kernel kernel, const std::string& array) {
  const bool is_in_rules = std::any_of(
      kernel.rules.begin(), kernel.rules.end(),
      [&](const SubstitutionRule& rule) { return accessed_arrays(rule.body).count(array) != 0; });
  return is_in_rules ? expand_subst(std::move(kernel)) : kernel;
}

}  // namespace rtcg::loopy
