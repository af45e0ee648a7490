#pragma once
// Internal header: it is not installed.

#include <functional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/statement.h"

namespace rtcg::cgen {

enum class NameKind {
  variable,
  parameter,
  function_definition,
  function_declaration,
  type_definition,
  type_declaration,
  enumerator,
  namespace_alias,
  macro,
  raw,
};

struct DeclaredName {
  const std::string& name;
  NameKind kind;
  const Statement& where;
  Type type;  ///< of a variable, parameter or function; otherwise Unknown
  /// Within a branch of a preprocessor conditional, so it may occur twice.
  bool is_conditional;
};

struct UsedName {
  const std::string& name;
  SourceOrigin where;
  Type type;  ///< the type that the use expects; Unknown in raw text
};

/// The callbacks of a walk in the order of the text, about names. None may be empty.
struct ScopeEvents {
  /// A scope begins; `name` is that of a namespace, or empty.
  std::function<void(const std::string& name)> enter;
  std::function<void()> leave;
  std::function<void(const DeclaredName&)> declare;
  std::function<void(const UsedName&)> use;
  /// A using directive for this namespace.
  std::function<void(const std::string& name)> use_namespace;
};

/// Reports declarations, uses and scopes, by C++'s rules of visibility. Names of types are declared
/// but their uses are not reported: types known by name are opaque.
void walk_scopes(const std::vector<Statement>& statements, const ScopeEvents& events);
void walk_scopes(const Expr& expr, const ScopeEvents& events);

}  // namespace rtcg::cgen
