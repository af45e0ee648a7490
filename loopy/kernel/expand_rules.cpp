#include "rtcg/loopy/kernel/expand_rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// An argument within a reduction of the rule may not mention the iname of that.
void refuse_captured(const SubstitutionRule& rule, const Expr& argument, const NameSet& bound) {
  for (const std::string& name : free_names(argument)) {
    if (bound.count(name) != 0) {
      throw InvalidInput(
          "loopy.expand_subst.captured_iname",
          fmt::format("rule '{0}' reduces over '{1}', and its argument '{2}' mentions the '{1}' "
                      "around the call: reduce over another iname in one of the two",
                      rule.name, name, to_string(argument)));
    }
  }
}

/// `sum(k, ...)` of a rule that is called twice in one expression keeps its iname: both reductions
/// then share one loop, as in Loo.py. `open` has the rules whose bodies are being expanded;
/// arguments have no calls left by then.
Expr expand(const Kernel& kernel, const Expr& expr, std::string_view only,
            const std::vector<std::string>& open) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Call* call = get_if<Call>(part);
    const Name* name = get_if<Name>(part);
    const SubstitutionRule* rule = call != nullptr   ? find_rule(kernel, call->function)
                                   : name != nullptr ? find_rule(kernel, name->name)
                                                     : nullptr;
    if (rule == nullptr || (!only.empty() && rule->name != only)) {
      return std::nullopt;
    }
    if (std::find(open.begin(), open.end(), rule->name) != open.end()) {
      throw InvalidInput("loopy.expand_subst.recursive",
                         fmt::format("the rules of kernel '{}' call each other in a circle: {}, {}",
                                     kernel.name, fmt::join(open, ", "), rule->name));
    }
    const std::size_t given = call != nullptr ? call->arguments.size() : 0;
    if (given != rule->parameters.size()) {
      throw InvalidInput("loopy.expand_subst.argument_count",
                         fmt::format("rule '{}' takes {} arguments, but is called with {}",
                                     rule->name, rule->parameters.size(), given));
    }
    Substitution values;
    const NameSet bound = reduction_inames(rule->body);
    for (std::size_t i = 0; i < given; ++i) {
      if (!bound.empty()) {
        refuse_captured(*rule, call->arguments[i], bound);
      }
      values.emplace(rule->parameters[i], call->arguments[i]);
    }
    std::vector<std::string> all_open = open;
    all_open.push_back(rule->name);
    return expand(kernel, substitute(rule->body, values), only, all_open);
  });
}

}  // namespace

Expr expand_rules(const Kernel& kernel, const Expr& expr, std::string_view rule) {
  return kernel.rules.empty() ? expr : expand(kernel, expr, rule, {});
}

}  // namespace rtcg::loopy
