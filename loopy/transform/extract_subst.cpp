#include "rtcg/loopy/transform/extract_subst.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Bindings = Substitution;

std::vector<Expr> children_of(const Expr& expr) {
  std::vector<Expr> children;
  for_each_child(expr, [&](const Expr& child) { children.push_back(child); });
  return children;
}

/// `expr` with all children replaced by 0: equal for expressions that differ in their children
/// only.
Expr shell_of(const Expr& expr) {
  // sums and products are taken apart by the caller: their operators would fold the zeros
  return map_children(expr, [](const Expr&) { return Expr(Name{"="}); });
}

class Matcher {
 public:
  explicit Matcher(const std::vector<std::string>& parameters) : parameters_(parameters) {}

  [[nodiscard]] bool matches(const Expr& form, const Expr& expr, Bindings& bindings) const {
    if (const Name* name = get_if<Name>(form); name != nullptr && is_parameter(name->name)) {
      const auto [bound, is_new] = bindings.emplace(name->name, expr);
      return is_new || bound->second == expr;
    }
    const std::vector<Expr> form_parts = children_of(form);
    const std::vector<Expr> parts = children_of(expr);
    if (form_parts.size() != parts.size()) {
      return false;
    }
    if ((is<Sum>(form) && is<Sum>(expr)) || (is<Product>(form) && is<Product>(expr))) {
      return match_in_any_order(form_parts, parts, bindings);
    }
    if (parts.empty() || is<Sum>(form) || is<Product>(form) || is<Sum>(expr) || is<Product>(expr)) {
      return form == expr;
    }
    if (!(shell_of(form) == shell_of(expr))) {
      return false;
    }
    Bindings attempt = bindings;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!matches(form_parts[i], parts[i], attempt)) {
        return false;
      }
    }
    bindings = std::move(attempt);
    return true;
  }

  /// Each form to one of the parts, all of them used.
  [[nodiscard]] bool match_in_any_order(const std::vector<Expr>& forms, std::vector<Expr> parts,
                                        Bindings& bindings) const {
    if (forms.empty()) {
      return parts.empty();
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Bindings attempt = bindings;
      if (!matches(forms.front(), parts[i], attempt)) {
        continue;
      }
      std::vector<Expr> rest = parts;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (match_in_any_order({forms.begin() + 1, forms.end()}, std::move(rest), attempt)) {
        bindings = std::move(attempt);
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_parameter(const std::string& name) const {
    return std::find(parameters_.begin(), parameters_.end(), name) != parameters_.end();
  }
  const std::vector<std::string>& parameters_;
};

class Extraction {
 public:
  Extraction(std::string rule, Expr form, std::vector<std::string> parameters)
      : rule_(std::move(rule)), form_(std::move(form)), parameters_(std::move(parameters)) {}

  [[nodiscard]] bool has_found() const { return has_found_; }

  /// From the outside in, so that the largest matches win; then within what the parameters stand
  /// for.
  [[nodiscard]] Expr rewrite(const Expr& expr) {
    Bindings bindings;
    if (Matcher(parameters_).matches(form_, expr, bindings)) {
      return call_with(bindings);
    }
    if (const Sum* sum = get_if<Sum>(expr); sum != nullptr && is<Sum>(form_)) {
      return rewrite_terms(sum->terms, [](const Expr& l, const Expr& r) { return l + r; });
    }
    if (const Product* product = get_if<Product>(expr); product != nullptr && is<Product>(form_)) {
      return rewrite_terms(product->factors, [](const Expr& l, const Expr& r) { return l * r; });
    }
    return map_children(expr, [&](const Expr& child) { return rewrite(child); });
  }

 private:
  [[nodiscard]] Expr call_with(const Bindings& bindings) {
    has_found_ = true;
    std::vector<Expr> arguments;
    for (const std::string& parameter : parameters_) {
      arguments.push_back(rewrite(bindings.find(parameter)->second));
    }
    return Call{rule_, std::move(arguments)};
  }
  /// Neighbouring terms that match together become one.
  [[nodiscard]] Expr rewrite_terms(const std::vector<Expr>& terms,
                                   const std::function<Expr(const Expr&, const Expr&)>& combine) {
    const std::vector<Expr> forms = children_of(form_);
    const auto length = static_cast<std::ptrdiff_t>(forms.size());
    std::optional<Expr> result;
    for (auto term = terms.begin(); term != terms.end();) {
      Bindings bindings;
      std::optional<Expr> next;
      if (terms.end() - term >= length &&
          Matcher(parameters_).match_in_any_order(forms, {term, term + length}, bindings)) {
        next = call_with(bindings);
        term += length;
      } else {
        next = rewrite(*term++);
      }
      result = result ? combine(*result, *next) : *next;
    }
    return *result;
  }

  std::string rule_;
  Expr form_;
  std::vector<std::string> parameters_;
  bool has_found_ = false;
};

/// The kernel with the rule, or why not.
Kernel extracted(Kernel kernel, std::string_view rule, std::string_view form_text,
                 const std::vector<std::string>& parameters, std::string_view within,
                 std::optional<Refusal>& refusal) {
  if (const auto why_not = why_not_new_name(kernel, rule); why_not || rule.empty()) {
    refusal = Refusal{"loopy.extract_subst.name_taken", why_not.value_or("the rule needs a name")};
    return kernel;
  }
  const Expr form = parse_expr(form_text);
  for (const std::string& parameter : parameters) {
    if (free_names(form).count(parameter) == 0) {
      refusal = Refusal{"loopy.extract_subst.unused_parameter",
                        fmt::format("'{}' does not occur in the form '{}'", parameter, form_text)};
      return kernel;
    }
  }
  const Name* only = get_if<Name>(form);
  if (only != nullptr &&
      std::find(parameters.begin(), parameters.end(), only->name) != parameters.end()) {
    refusal =
        Refusal{"loopy.extract_subst.bare_parameter",
                fmt::format("everything has the form '{}': add what makes it special", form_text)};
    return kernel;
  }
  Extraction extraction{std::string(rule), form, parameters};
  const auto rewrite = [&](const Expr& expr) { return extraction.rewrite(expr); };
  kernel = map_matching(std::move(kernel), within, [&](Instruction& instruction) {
    if (const Assignment* old = get_if<Assignment>(instruction)) {
      Assignment assignment = *old;
      // a target stays an element: only its indices are rewritten
      for (Expr& target : assignment.targets) {
        target = map_children(target, rewrite);
      }
      assignment.value = rewrite(assignment.value);
      instruction.kind = std::move(assignment);
    }
  });
  if (!extraction.has_found()) {
    refusal = Refusal{"loopy.extract_subst.not_found",
                      fmt::format("nothing in the statements has the form '{}'", form_text)};
  }
  kernel.rules.push_back({std::string(rule), parameters, form});
  return kernel;
}

}  // namespace

Kernel extract_subst(Kernel kernel, std::string_view rule, std::string_view form,
                     const std::vector<std::string>& parameters, std::string_view within) {
  std::optional<Refusal> refusal;
  kernel = extracted(std::move(kernel), rule, form, parameters, within, refusal);
  throw_if_refused(refusal);
  record(kernel, "extract_subst", {std::string(rule), std::string(form), list_text(parameters)},
         {{"within", std::string(within)}});
  return kernel;
}

}  // namespace rtcg::loopy
