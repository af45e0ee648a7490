#include "rtcg/loopy/transform/replace_uses.h"

#include <algorithm>

namespace rtcg::loopy {
namespace {

/// Whether a statement or a rule calls the rule.
bool is_rule_called(const Kernel& kernel, const std::string& rule) {
  bool is_called = false;
  static_cast<void>(map_expressions(kernel, [&](const Expr& expr) {
    is_called =
        is_called || called_functions(expr).count(rule) != 0 || free_names(expr).count(rule) != 0;
    return expr;
  }));
  return is_called;
}

}  // namespace

UseReplacer::UseReplacer(const Kernel& kernel, FindUse find_use)
    : kernel_(kernel), find_use_(std::move(find_use)), names_(make_name_generator(kernel)) {
  const auto has_use = [&](const Expr& body) {
    bool found = false;
    walk(body, [&](const Expr& part) {
      const SubstitutionRule* rule = rule_of(part);
      found = found || find_use_(part) != nullptr ||
              (rule != nullptr && reaching_.count(rule->name) != 0);
      return !found;
    });
    return found;
  };
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const SubstitutionRule& rule : kernel_.rules) {
      if (reaching_.count(rule.name) == 0 && has_use(rule.body)) {
        reaching_.insert(rule.name);
        is_changed = true;
      }
    }
  }
}

const SubstitutionRule* UseReplacer::rule_of(const Expr& expr) const {
  if (const Call* call = get_if<Call>(expr)) {
    const SubstitutionRule* rule = find_rule(kernel_, call->function);
    return rule != nullptr && rule->parameters.size() == call->arguments.size() ? rule : nullptr;
  }
  const Name* name = get_if<Name>(expr);
  const SubstitutionRule* rule = name != nullptr ? find_rule(kernel_, name->name) : nullptr;
  return rule != nullptr && rule->parameters.empty() ? rule : nullptr;
}

Expr UseReplacer::replaced(const Expr& expr, const Replace& replace) {
  return rewritten(expr, {}, replace);
}

Expr UseReplacer::rewritten(const Expr& expr, const Substitution& values, const Replace& replace) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (const Name* name = get_if<Name>(part); name != nullptr && values.count(name->name) != 0) {
      return std::nullopt;
    }
    if (const std::vector<Expr>* indices = find_use_(part)) {
      std::vector<Expr> in_statement = *indices;
      for (Expr& index : in_statement) {
        index = values.empty() ? index : simplify_index(substitute(index, values));
      }
      return replace(*indices, in_statement);
    }
    const SubstitutionRule* rule = rule_of(part);
    if (rule == nullptr || reaching_.count(rule->name) == 0) {
      return std::nullopt;
    }
    const Call* call = get_if<Call>(part);
    return rewritten_call(*rule, call != nullptr ? call->arguments : std::vector<Expr>{}, values,
                          replace);
  });
}

std::optional<Expr> UseReplacer::rewritten_call(const SubstitutionRule& rule,
                                                const std::vector<Expr>& arguments,
                                                const Substitution& values,
                                                const Replace& replace) {
  Substitution as_written;
  Substitution in_statement;
  bool is_hidden = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    is_hidden = is_hidden || hidden_.count(rule.parameters[i]) != 0;
    as_written.emplace(rule.parameters[i], arguments[i]);
    in_statement.emplace(rule.parameters[i], substitute(arguments[i], values));
  }
  if (is_hidden) {
    return rewritten(substitute(rule.body, as_written), values, replace);
  }
  SubstitutionRule version = rule;
  version.body = rewritten(rule.body, in_statement, replace);
  if (&version.body.node() == &rule.body.node()) {
    return std::nullopt;
  }
  version.neutral.clear();
  const auto known = std::find_if(versions_.begin(), versions_.end(), [&](const Version& each) {
    return each.original == rule.name && each.rule.body == version.body;
  });
  if (known != versions_.end()) {
    return Call{known->rule.name, arguments};
  }
  version.name = names_.make(rule.name);
  versions_.push_back({rule.name, version});
  return Call{version.name, arguments};
}

Kernel UseReplacer::with_new_rules(Kernel kernel) const {
  if (versions_.empty()) {
    return kernel;
  }
  for (const Version& version : versions_) {
    kernel.rules.push_back(version.rule);
  }
  std::map<std::string, std::string, std::less<>> new_names;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const Version& version : versions_) {
      const SubstitutionRule* original = find_rule(kernel, version.original);
      if (original == nullptr || new_names.count(version.rule.name) != 0 ||
          !original->neutral.empty() || is_rule_called(kernel, version.original)) {
        continue;
      }
      std::erase_if(kernel.rules,
                    [&](const SubstitutionRule& each) { return each.name == version.original; });
      new_names.emplace(version.rule.name, version.original);
      is_changed = true;
    }
  }
  kernel = map_expressions(std::move(kernel),
                           [&](const Expr& expr) { return rename_all(expr, new_names); });
  for (SubstitutionRule& rule : kernel.rules) {
    if (const auto renamed = new_names.find(rule.name); renamed != new_names.end()) {
      rule.name = renamed->second;
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
