#include "rtcg/loopy/create/statement_scopes.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// The predicate, with a name in place of a condition that was stored.
Expr with_stored(const Expr& predicate, const std::vector<std::pair<Expr, Expr>>& stored) {
  for (const auto& [condition, name] : stored) {
    if (predicate == condition) {
      return name;
    }
    if (predicate == Expr(Not{condition})) {
      return Not{name};
    }
  }
  return predicate;
}

}  // namespace

void StatementScopes::open(Scope scope) {
  scope.first_statement = statements_.size();
  scope.branches = scope.conditions;
  scopes_.push_back(std::move(scope));
}

void StatementScopes::next_branch(const std::optional<Expr>& condition) {
  Scope& scope = scopes_.back();
  scope.conditions.clear();
  for (const Expr& earlier : scope.branches) {
    // not turned into the opposite comparison: neither holds for a NaN
    scope.conditions.push_back(Not{earlier});
  }
  if (condition) {
    scope.conditions.push_back(*condition);
    scope.branches.push_back(*condition);
  } else {
    scope.has_else = true;
  }
}

void StatementScopes::close() {
  if (scopes_.back().keyword == "if") {
    keep_conditions(scopes_.back());
  }
  scopes_.pop_back();
}

ParsedStatement StatementScopes::within_scopes(ParsedStatement statement) const {
  enter_scopes(scopes_.size(), statement);
  return statement;
}

std::string StatementScopes::new_name(const std::string& base) {
  if (!names_) {
    names_.emplace();
    reserve_names_(*names_);
  }
  return names_->make(base);
}

/// Puts the statement into the outermost scopes.
void StatementScopes::enter_scopes(std::size_t count, ParsedStatement& statement) const {
  for (std::size_t i = 0; i < count; ++i) {
    const Scope& scope = scopes_[i];
    statement.for_inames.insert(scope.inames.begin(), scope.inames.end());
    statement.instruction.predicates.insert(statement.instruction.predicates.end(),
                                            scope.conditions.begin(), scope.conditions.end());
    if (scope.options) {
      scope.options(statement);
    }
  }
}

/// Every statement of an `if` asks for its conditions again. Where one of them changes what a
/// condition reads, the conditions are computed once before all of them.
void StatementScopes::keep_conditions(const Scope& scope) {
  NameSet written;
  const auto first = statements_.begin() + static_cast<std::ptrdiff_t>(scope.first_statement);
  for (auto each = first; each != statements_.end(); ++each) {
    written.merge(written_variables(each->instruction));
  }
  std::vector<std::pair<Expr, Expr>> kept;  // conditions and their replacements
  std::vector<ParsedStatement> computed;
  for (const Expr& condition : scope.branches) {
    NameSet read = free_names(condition);
    read.merge(accessed_arrays(condition));
    if (std::none_of(read.begin(), read.end(),
                     [&](const std::string& each) { return written.count(each) != 0; })) {
      continue;
    }
    const Expr stored = name(new_name("condition"));
    ParsedStatement statement;
    statement.instruction.kind = Assignment{{stored}, condition};
    statement.line = scope.line;
    statement.origin = scope.origin;
    statement.declared = {{.name = target_name(stored), .type = cgen::boolean}};
    enter_scopes(scopes_.size() - 1, statement);
    for (const Expr& earlier : scope.branches) {
      if (&earlier == &condition) {
        break;
      }
      statement.instruction.predicates.push_back(with_stored(Not{earlier}, kept));
    }
    kept.emplace_back(condition, stored);
    computed.push_back(std::move(statement));
  }
  for (auto each = first; each != statements_.end(); ++each) {
    for (Expr& predicate : each->instruction.predicates) {
      predicate = with_stored(predicate, kept);
    }
  }
  statements_.insert(first, computed.begin(), computed.end());
}

}  // namespace rtcg::loopy
