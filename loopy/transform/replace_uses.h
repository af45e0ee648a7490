#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

/// Replaces uses of a rule or an array in expressions, and in the rules that these call. Rules are
/// kept: where a use is replaced within a rule, the call is one of a rule that has the replacement.
class UseReplacer {
 public:
  /// The indices of an access or the arguments of a call, if `expr` is a use.
  using FindUse = std::function<const std::vector<Expr>*(const Expr& expr)>;
  /// The replacement of a use, or nothing to keep it. `indices` are as they stand in the statement
  /// or rule, `values` in terms of the statement.
  using Replace = std::function<std::optional<Expr>(const std::vector<Expr>& indices,
                                                    const std::vector<Expr>& values)>;

  UseReplacer(const Kernel& kernel, FindUse find_use);

  /// `expr`, which is of a statement, with its uses replaced.
  [[nodiscard]] Expr replaced(const Expr& expr, const Replace& replace);
  /// Rules with one of these names for a parameter are expanded where they are called: replacements
  /// mention the names.
  void expand_rules_that_hide(NameSet names) { hidden_ = std::move(names); }
  /// No new rule takes the name.
  void reserve(const std::string& name) { names_.reserve(name); }
  /// The rules with replacements added to `kernel`, in place of those that are no longer called.
  [[nodiscard]] Kernel with_new_rules(Kernel kernel) const;

 private:
  [[nodiscard]] const SubstitutionRule* rule_of(const Expr& expr) const;
  Expr rewritten(const Expr& expr, const Substitution& values, const Replace& replace);
  std::optional<Expr> rewritten_call(const SubstitutionRule& rule,
                                     const std::vector<Expr>& arguments, const Substitution& values,
                                     const Replace& replace);

  struct Version {
    std::string original;
    SubstitutionRule rule;
  };
  const Kernel kernel_;
  FindUse find_use_;
  NameSet hidden_;
  NameSet reaching_;  // rules with uses within
  NameGenerator names_;
  std::vector<Version> versions_;
};

}  // namespace rtcg::loopy
