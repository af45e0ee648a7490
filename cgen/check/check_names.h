#pragma once

#include <set>
#include <string>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {

/// How the type of a use is compared with that of the declaration.
enum class UseTypes {
  exact,
  without_qualifiers,  ///< const, volatile and address spaces of pointees may differ
};

/// Checks that every name is a valid name and is declared before its use, once in a scope, with the
/// type that its uses expect.
///
/// Names with `::` are not looked up. Declarations of headers are not known here: pass them as
/// `known_names`.
///
/// @param dialect      names must differ from its reserved words
/// @param known_names  names that exist without being declared in `module`
/// @throws InvalidInput  cgen.check_names.undeclared, cgen.check_names.duplicate,
///   cgen.check_names.reserved, cgen.check_names.not_an_identifier, cgen.check_names.missing_label,
///   cgen.check_names.duplicate_label, cgen.check_names.line_break,
///   cgen.check_names.other_type; the message names the C++ line
///   that built the node
void check_names(const Module& module, Dialect dialect,
                 const std::set<std::string>& known_names = {},
                 UseTypes use_types = UseTypes::exact);

/// Checks a piece of a function body: `statement` and its declarations.
void check_names(const Statement& statement, Dialect dialect,
                 const std::set<std::string>& known_names = {});

}  // namespace rtcg::cgen
