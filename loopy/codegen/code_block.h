#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/statement.h"

namespace rtcg::loopy {

struct CodeItem;

/// Statements of a kernel whose private variables are not declared yet.
struct CodeBlock {
  std::vector<CodeItem> items;  // clang 14 asks for a complete type if braces follow
};

/// `for (iname = begin; iname < end; iname += step) body`
struct CodeLoop {
  std::string name{};
  cgen::Type type{};
  cgen::Expr begin;
  cgen::Expr end;
  cgen::Expr step = 1;
  std::optional<int> unroll{};
  /// Text of a `#pragma` before the loop.
  std::optional<std::string> pragma{};
  /// Whether the iterations are threads: what only they use, each has of its own. Declared outside,
  /// it would be one variable that the lanes of an `omp simd` loop write at once.
  bool is_over_threads = false;
  CodeBlock body;
};
struct CodeIf {
  cgen::Expr condition;
  CodeBlock then_body;
  std::optional<CodeBlock> else_body;  // as above
  /// Whether the body is the rest of a statement's condition: `c && rest`, unless others share `c`.
  bool goes_on = false;
};
/// `variable = value` for a private scalar.
struct CodeScalarAssignment {
  std::string variable{};
  cgen::Expr target;
  cgen::Expr value;
};
struct CodeStatement {
  cgen::Statement statement;
};

using CodeItemKinds = cgen::KindList<CodeStatement, CodeScalarAssignment, CodeLoop, CodeIf>;
struct CodeItem {
  CodeItemKinds::Variant kind;
};
inline const CodeItemKinds::Variant& kinds(const CodeItem& item) {
  return item.kind;
}

/// A variable for the value of a private temporary in one lane: a scalar if it has no extents.
struct PrivateVariable {
  cgen::Type type{};
  std::vector<int> extents{};
  /// Whether it is declared at the very top: it lives longer than its innermost block.
  bool is_at_top = false;
  std::string temporary{};
};
/// By the names of the variables.
using PrivateVariables = std::map<std::string, PrivateVariable, std::less<>>;

/// The block; nullopt if it is empty, for a condition that needs no else.
[[nodiscard]] std::optional<CodeBlock> if_any(CodeBlock block);
void append(CodeBlock& block, CodeBlock more);

/// Those of the variables that the block reads or writes.
[[nodiscard]] PrivateVariables variables_in(const CodeBlock& block,
                                            const PrivateVariables& variables);

/// The statements with each variable declared as far in as its life allows, with its first value
/// if that is assigned at once. Conditions are joined, see join_conditions.
[[nodiscard]] std::vector<cgen::Statement> place_declarations(CodeBlock block,
                                                              const PrivateVariables& variables,
                                                              bool gathers);

}  // namespace rtcg::loopy
