#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/source_text.h"

namespace rtcg::cgen {

struct PrintOptions {
  std::size_t max_columns = 100;
  /// Writes `#line` so that compilers and debuggers speak of the C++ lines that built the tree.
  bool line_directives = false;
};

/// The text of a module in a dialect, indented by two blanks, lines wrapped at `max_columns`, with
/// the C++ origin of each line. Deterministic: equal modules give equal bytes.
///
/// What the dialect lacks is lowered first (dialect/lower.h). Nothing is checked: call check_types
/// and check_names before, or a compiler will.
/// @throws Unsupported   cgen.lower.*: the dialect has no such construct and none to replace it
/// @throws InvalidInput  cgen.print.untyped: a declaration or cast to a type that was never stated
[[nodiscard]] SourceText print_module(const Module& module, Dialect dialect,
                                      const PrintOptions& options = {});

// Parts of modules on their own, as they would print inside one that is lowered already. What only
// lowering can spell (intrinsics, thread indices, barriers) is refused.
[[nodiscard]] std::string print_statement(const Statement& statement, Dialect dialect,
                                          const PrintOptions& options = {});
[[nodiscard]] std::string print_expr(const Expr& expr, Dialect dialect);
/// `const float *x`, or just the type when `name` is empty.
[[nodiscard]] std::string print_declarator(const Type& type, std::string_view name,
                                           Dialect dialect);

}  // namespace rtcg::cgen
