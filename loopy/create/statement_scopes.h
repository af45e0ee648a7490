#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/create/parse_statements.h"

namespace rtcg::loopy {

/// Statements within `for`, `if` and `with`: gives each the options of the scopes around it. Used
/// for text and for kernels that are described in C++.
class StatementScopes {
 public:
  using Options = std::function<void(ParsedStatement&)>;
  struct Scope {
    std::string keyword{};  ///< `for`, `if` or `with`
    std::size_t line = 0;
    SourceOrigin origin{};
    NameSet inames{};
    std::vector<Expr> conditions{};  ///< hold within
    std::vector<Expr> branches{};    ///< the conditions of the branches of an `if` so far
    Options options{};
    bool has_else = false;
    std::size_t first_statement = 0;  ///< number of statements before the scope
  };

  /// @param reserve_names  reserves all names that the statements use
  explicit StatementScopes(std::function<void(NameGenerator&)> reserve_names)
      : reserve_names_(std::move(reserve_names)) {}

  void open(Scope scope);
  /// The next branch of the innermost scope, which is an `if`; without a condition its `else`.
  void next_branch(const std::optional<Expr>& condition);
  /// Closes the innermost scope.
  void close();
  /// Null outside of all scopes.
  [[nodiscard]] const Scope* innermost() const {
    return scopes_.empty() ? nullptr : &scopes_.back();
  }
  /// The statement with the options of the scopes around it.
  [[nodiscard]] ParsedStatement within_scopes(ParsedStatement statement) const;
  void add(ParsedStatement statement) { statements_.push_back(std::move(statement)); }
  /// All statements; no scope is open.
  [[nodiscard]] std::vector<ParsedStatement> take() { return std::move(statements_); }

 private:
  std::string new_name(const std::string& base);
  void enter_scopes(std::size_t count, ParsedStatement& statement) const;
  void keep_conditions(const Scope& scope);

  std::function<void(NameGenerator&)> reserve_names_;
  std::optional<NameGenerator> names_;  // made when a name is needed
  std::vector<Scope> scopes_;
  std::vector<ParsedStatement> statements_;
};

}  // namespace rtcg::loopy
